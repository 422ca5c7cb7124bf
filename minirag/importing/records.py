"""Lines of an export as what goes to disk: checked one by one, whatever wrote them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.errors import InputError
from minirag.exporting.records import FORMAT
from minirag.importing.lines import Lines
from minirag.loading import check, content_hash
from minirag.records import Bridge, Document, ExtractedFact, Extraction, Place, Prompts, Settings, Usage
from minirag.records.places import places_from_json
from minirag.storage.accounts import usage_in, usage_to_header
from minirag.storage.layout import Dimensions
from minirag.storage.segment import StoredDocument, StoredPassage, bridge_id, passage_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

Json = dict[str, Any]
Vectors = dict[str, "NDArray[np.int8]"]


@dataclass(frozen=True, slots=True)
class Head:
    """The first line.

    Attributes:
        header: Of the index file, without failures.
        counts: How many rows of each kind are said to follow; may be empty.
        has_vectors: Whether each line holds its vectors.
    """

    header: Json
    counts: Mapping[str, int]
    has_vectors: bool


def is_export(lines: Lines) -> bool:
    """Whether the first line is that of an export."""
    try:
        value = json.loads(lines.first)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") == "index"


def read_head(record: Json) -> Head:
    """The first line.

    Raises:
        InputError: When it cannot be used.
    """
    version = record.get("format")
    if version != FORMAT:
        raise InputError(f"is an export of format {version!r}, this minirag reads {FORMAT}: pip install -U minirag")
    header = _field(record, "header", dict)
    _check_encoder(_field(header, "encoder", dict), has_vectors=record.get("vectors") is True)
    if "aligner" in header:
        _check_encoder(_field(header, "aligner", dict), has_vectors=record.get("vectors") is True)
    told = _field(record, "counts", dict) if record.get("counts") else {}
    counts = {name: count for name, count in told.items() if isinstance(count, int)}
    empty = {"model": "", "failed_names": [], **(usage_to_header(Usage()) if "usage" not in header else {})}
    encoder = {**header["encoder"], "source": header["encoder"].get("source")}
    whole = {**header, "encoder": encoder, "failed_passages": []}
    for name, value in empty.items():
        whole.setdefault(name, value)
    _field(whole, "model", str)
    for pair in _field(whole, "failed_names", list):
        if not isinstance(pair, list) or len(pair) != 2:
            raise InputError(f"'failed_names' holds {pair!r}, which is no name with a reason")
        _texts(pair, "failed_names")
    for name, read in _READ.items():
        try:
            read(whole)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"has {name} that cannot be used: {error}") from error
    return Head(whole, counts, record.get("vectors") is True)


_READ: Mapping[str, Callable[[Json], object]] = {
    "settings": lambda header: Settings(**header["settings"]),
    "prompts": lambda header: Prompts.from_dict(header.get("prompts", {})),
    "usage": lambda header: usage_in(header) + usage_in(header),  # sums what must be numbers
}


def _check_encoder(record: Json, *, has_vectors: bool) -> None:
    for name in ("fingerprint", "name"):
        _field(record, name, str)
    if record.get("source") is not None:
        _field(record, "source", str)
    if has_vectors:
        _field(record, "dimensions", int)


def read_document_line(record: Json, dimensions: Dimensions | None) -> tuple[StoredDocument, Vectors]:
    """A document with all that was extracted from it.

    Args:
        record: The line.
        dimensions: Of its vectors; None where it has none.

    Raises:
        InputError: When it cannot be used.
    """
    text, metadata = _field(record, "text", str), record.get("metadata") or {}
    of_file = _places(record), record.get("source") or ""
    document = check(Document(_field(record, "id", str), text, record.get("title") or "", metadata, *of_file))
    passages: list[StoredPassage] = []
    end = 0
    for place, each in enumerate(_field(record, "passages", list)):
        passage = _passage(document, each, place, after=end)
        end = passage.start + len(passage.text)
        passages.append(passage)
    if not passages:
        raise InputError("has no passages")
    stored = StoredDocument(
        document.id, document.title, document.metadata, content_hash(document), text[end:], passages, *of_file
    )
    return stored, _document_vectors(record, passages, dimensions) if dimensions else {}


def read_bridge_line(record: Json, dimensions: Dimensions | None) -> tuple[Bridge, Vectors]:
    """A bridging fact, likewise."""
    entity, text = _text(record, "entity"), _text(record, "text")
    passage_ids = tuple(_texts(_field(record, "passage_ids", list), "passage_ids"))
    if len({each.rpartition("#")[0] for each in passage_ids}) < 2:
        raise InputError("joins fewer than two documents")
    bridge = Bridge(bridge_id(entity, text, passage_ids), entity, text, passage_ids)
    vectors = {"bridges": _decoded(record.get("vector"), 1, dimensions.encoder)} if dimensions else {}
    return bridge, vectors


def read_pending(record: Json) -> list[int]:
    """The hashes of the last line."""
    try:
        found = [int(key, 16) for key in record.get("pending") or []]
    except (TypeError, ValueError) as error:
        raise InputError(f"has a 'pending' that is no list of hashes: {error}") from error
    if wrong := [key for key in found if not 0 <= key < 1 << 64]:
        raise InputError(f"has a 'pending' that is no list of hashes: {wrong[0]:x}")
    return found


def _places(record: Json) -> tuple[Place, ...]:
    try:
        return places_from_json(record.get("places") or ())
    except (TypeError, ValueError) as error:
        raise InputError(f"has 'places' that cannot be used: {error}") from error


def _passage(document: Document, record: Any, place: int, *, after: int) -> StoredPassage:  # noqa: ANN401
    where = f"passage {place}"
    if not isinstance(record, dict):
        raise InputError(f"{where} is no object")
    start, end = _field(record, "start", int, where), _field(record, "end", int, where)
    if not after <= start < end <= len(document.text):
        raise InputError(
            f"{where} is [{start}:{end}] of a text of {len(document.text):,} characters, behind a passage that ends at "
            f"{after:,}"
        )
    text = document.text[start:end]
    identity = passage_id(document.id, place, text)
    if record.get("id", identity) != identity:
        raise InputError(f"{where} has the id {record['id']!r}, its text makes it {identity!r}. Was the text changed?")
    before, key = document.text[after:start], _field(record, "key", str, where) if record.get("key") else ""
    if record.get("failure") is not None:
        return StoredPassage(text, start, before, key, None, _text(record, "failure"))
    return StoredPassage(text, start, before, key, _extraction(record, where))


def _extraction(record: Json, where: str) -> Extraction:
    facts = tuple(
        ExtractedFact(
            _text(fact, "text", where), tuple(_texts(_field(fact, "entities", list, where), "entities", where))
        )
        for fact in _objects(record, "facts", where)
    )
    triples = tuple(
        (_text(each, "head", where), _text(each, "relation", where), _text(each, "tail", where))
        for each in _objects(record, "triples", where)
    )
    return Extraction(facts, triples)


def _document_vectors(record: Json, passages: list[StoredPassage], dimensions: Dimensions) -> Vectors:
    found = _field(record, "vectors", dict)
    extractions = [passage.extraction for passage in passages if passage.extraction is not None]
    counts = {
        "passages": len(passages),
        "facts": sum(len(extraction.facts) for extraction in extractions),
        "triples": sum(len(extraction.triples) for extraction in extractions),
    }
    return {name: _decoded(found.get(name), count, dimensions.of(name)) for name, count in counts.items()}


def _decoded(encoded: object, rows: int, dimensions: int) -> NDArray[np.int8]:
    try:
        content = b64decode(encoded if isinstance(encoded, str) else "", validate=True)
    except ValueError as error:
        raise InputError(f"has vectors that are no base64: {error}") from error
    if len(content) != rows * dimensions:
        raise InputError(f"has vectors of {len(content):,} bytes, {rows:,} of {dimensions} bytes each were expected")
    return np.frombuffer(content, np.int8).reshape(rows, dimensions)


# --- fields --------------------------------------------------------------------------------------------------------


def _field(record: Json, name: str, kind: type, where: str = "") -> Any:  # noqa: ANN401
    value = record.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        shown = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}[kind]
        found = "is missing" if name not in record else f"is not {shown}"
        raise InputError(f"{where + ': ' if where else ''}{name!r} {found}")
    return value


def _text(record: Json, name: str, where: str = "") -> str:
    value: str = _field(record, name, str, where)
    return _texts([value], name, where)[0]


def _texts(values: list[Any], name: str, where: str = "") -> list[str]:
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where + ': ' if where else ''}{name!r} holds {value!r}, which is no text")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{where + ': ' if where else ''}{name!r} has a lone surrogate: {value!r}") from error
    return values


def _objects(record: Json, name: str, where: str) -> list[Json]:
    if name not in record:
        return []
    values: list[Json] = _field(record, name, list, where)
    for value in values:
        if not isinstance(value, dict):
            raise InputError(f"{where}: {name!r} holds {value!r}, which is no object")
    return values
