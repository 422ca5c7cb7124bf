"""Triples made elsewhere into an index: documents from them, or for them; facts by rules, or the triples themselves."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirag import loop
from minirag.building import Builder
from minirag.encoder import aligner_of, close_encoder, open_encoder
from minirag.errors import InputError
from minirag.importing.lines import Lines, parsed
from minirag.loading import check
from minirag.opening import new_header, normalise_name
from minirag.progress import Listener, Progress
from minirag.reasoner.given import GivenTriple, GivenTriples, statement
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Document, Ledger, Settings
from minirag.storage.store import Store

if TYPE_CHECKING:
    from minirag.encoder import Encoder

NAMES = {"head": ("head", "subject"), "relation": ("relation", "predicate"), "tail": ("tail", "object")}
DOCUMENT = ("document", "document_id")
_DELIMITERS = ",\t;"
_READ = "What can be is JSON Lines that `minirag export` wrote, and triples as CSV or JSON Lines"


@dataclass(slots=True)
class _Gathered:
    """What the rows say of one document; `lines` is where it stands first."""

    line: int
    text: str = ""
    title: str = ""
    triples: list[GivenTriple] = field(default_factory=list)


def build_from_triples(
    lines: Lines,
    path: Path,
    *,
    encoder: str | Path | Encoder | None,
    settings: Settings | None,
    progress: bool | Listener,
) -> None:
    """Write a new index file from triples; see `minirag.importing` for what lines hold.

    Raises:
        InputError: When a line cannot be used.
        EncoderError: When the encoder cannot be loaded or run.
    """
    gathered = gather(lines)
    stated = {identity for identity, each in gathered.items() if not each.text}
    documents = [_document(lines, identity, each) for identity, each in gathered.items()]
    triples = {identity: each.triples for identity, each in gathered.items()}
    opened = open_encoder(encoder)
    try:
        chosen = settings or Settings()
        header = new_header(opened, encoder, chosen)
        ledger, encoders = Ledger(), (opened, aligner_of(opened))
        builder = Builder(
            Store.create(path, header=header, normalise=normalise_name),
            encoders=lambda: encoders,
            reasoner=GivenTriples(OfflineReasoner(ledger), triples, stated=stated),
            ledger=ledger,
            settings=chosen,
            progress=Progress(progress),
        )
        report = loop.run(builder.add(documents))
        for failure in report.failed:
            raise InputError(f"{failure.id}: {failure.reason}")
    finally:
        if opened is not encoder:
            close_encoder(opened)


def gather(lines: Lines) -> dict[str, _Gathered]:
    """The rows by document, in the order in which they first name it.

    Raises:
        InputError: When a line cannot be used.
    """
    gathered: dict[str, _Gathered] = {}
    _refuse_others(lines)
    for row in _json_rows(lines) if lines.first.lstrip().startswith("{") else _csv_rows(lines):
        with lines.naming_errors():
            _add(gathered, row, lines.number)
    return gathered


def _refuse_others(lines: Lines) -> None:
    """Say of what is often tried that it cannot be read, before its first line is taken for a header."""
    begins = lines.first.lstrip()[:1]
    if begins == "<":
        lines.fail(f"is XML, and GraphML, which lacks what an index needs, cannot be imported. {_READ}")
    if begins == "[":
        lines.fail(f"is a JSON list, not an object a line. {_READ}")


def _add(gathered: dict[str, _Gathered], row: Mapping[str, Any], number: int) -> None:
    triples = _triples_of(row)
    identity = _first(row, DOCUMENT) or triples[0][0]
    entry = gathered.setdefault(identity, _Gathered(number))
    entry.triples += [triple for triple in triples if triple not in entry.triples]
    text, title = _first(row, ("text",)), _first(row, ("title",))
    for name, value, before in (("text", text, entry.text), ("title", title, entry.title)):
        if value and before and value != before:
            raise InputError(f"gives {identity!r} another {name} than line {entry.line} does")
    entry.text = entry.text or text
    entry.title = entry.title or title or ("" if _first(row, DOCUMENT) else identity)


def _triples_of(row: Mapping[str, Any]) -> list[GivenTriple]:
    given = row.get("triples")
    if given is None:
        head, relation, tail = (_part(name, _first(row, names)) for name, names in NAMES.items())
        return [(head, relation, tail)]
    if not isinstance(given, list) or not given:
        raise InputError("has 'triples' that are no list of [head, relation, tail]")
    found: list[GivenTriple] = []
    for each in given:
        if not isinstance(each, list) or len(each) != 3:
            raise InputError(f"has a triple that is not [head, relation, tail]: {each!r}")
        head, relation, tail = (_part(name, _word(name, part)) for name, part in zip(NAMES, each, strict=True))
        found.append((head, relation, tail))
    return found


def _part(name: str, text: str) -> str:
    if not text.strip():
        raise InputError(f"{name} is missing or blank")
    return " ".join(text.split())


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """What stands under the first of these names that the row has; "" where there is none."""
    return next((_word(name, row[name]) for name in names if row.get(name) is not None), "")


def _word(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{name} must be a text, not {value!r}")


def _json_rows(lines: Lines) -> Iterator[Mapping[str, Any]]:
    return (parsed(lines, line) for line in lines)


def _csv_rows(lines: Lines) -> Iterator[Mapping[str, Any]]:
    delimiter = max(_DELIMITERS, key=lines.first.count)
    lines.keeps_blank = True  # a quoted text may have them
    rows = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(rows)]
        if missing := [" or ".join(known) for known in NAMES.values() if not set(known) & set(names)]:
            lines.fail(f"names no column {missing[0]}, only {', '.join(names)}")
        for row in rows:
            if len(row) > len(names):
                lines.fail(f"has {len(row)} fields, but there are {len(names)} columns")
            if row:
                yield dict(zip(names, row, strict=False))
    except csv.Error as error:
        lines.fail(f"is no CSV: {error}. JSON Lines have no limits")


def _document(lines: Lines, identity: str, each: _Gathered) -> Document:
    text = each.text or "\n".join(map(statement, each.triples))
    lines.number = each.line
    with lines.naming_errors():
        return check(Document(identity, text, each.title))
