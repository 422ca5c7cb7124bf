"""Files as entries: each with its place, so that a complaint can name it."""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.wording import reason_of

_COLUMNS = ("question", "answers")
_MOST_IN_A_FIELD = 2**24  # characters; the module's own limit of 128 Ki is too low for long lists of aliases


def read_entries(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each object of a JSON list, of JSON lines (.jsonl), or each row of a question and its answers (.tsv, .csv).

    A .csv is also taken as DPR's, which has tabs in it: two columns without a head, the answers a list in Python's or
    JSON's spelling. With a head, columns are named by it.

    Yields:
        The entry's place, to complain about it, and the entry.

    Raises:
        InputError: If the file cannot be read, is not of that form, or is empty.
    """
    found = False
    for where, entry in _parse(path):
        if not isinstance(entry, dict):
            raise InputError(f"{where} is {shorten(entry)}, not an object")
        found = True
        yield where, entry
    if not found:
        raise InputError(f"{path}: is empty")


def shorten(value: object) -> str:
    """A value for a message."""
    if value is None:
        return "missing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def _parse(path: Path) -> Iterator[tuple[str, object]]:
    if path.suffix == ".jsonl":
        for where, line in _lines(path):
            yield where, _decode(line.rstrip("\r\n"), where, is_line=True)
    elif path.suffix in (".csv", ".tsv"):
        yield from _rows(path)
    else:
        entries = _decode(_text(path), str(path))
        if not isinstance(entries, list):
            raise InputError(f"{path}: is {shorten(entries)}, not a list of objects")
        yield from ((f"{path}, entry {number}", entry) for number, entry in enumerate(entries, start=1))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Lines that are not blank, read one by one: such files can be larger than memory."""
    try:
        # Not as text: JSON may hold U+2028 and its like unescaped, which end no line.
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}, line {number}", line.decode("utf-8-sig" if number == 1 else "utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error


def _decode(text: str, where: str, *, is_line: bool = False) -> object:
    """Of a line of its own, `where` names the line, and a complaint only adds the column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if is_line else f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where}: is not JSON: {error.msg} ({place})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON: {error}") from error


def _rows(path: Path) -> Iterator[tuple[str, object]]:
    text = _text(path)
    delimiter = "\t" if path.suffix == ".tsv" or "\t" in text.partition("\n")[0] else ","
    csv.field_size_limit(_MOST_IN_A_FIELD)
    # Not by splitlines: U+2028 and its like end no row.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    columns: tuple[str, ...] = ()
    for row in _unbroken(filter(None, reader), path):
        where = f"{path}, line {reader.line_num}"
        if not columns:
            head = tuple(name.strip().lower() for name in row)
            columns = head if "question" in head else _COLUMNS
            if columns is head:
                continue
        if len(row) != len(columns):
            raise InputError(f"{where}: has {len(row)} columns, not {len(columns)} ({', '.join(columns)})")
        entry: dict[str, object] = dict(zip(columns, row, strict=True))
        yield where, {name: _unpacked(value) if name.startswith("answer") else value for name, value in entry.items()}


def _unbroken(rows: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{path}: is no table: {error}") from error


def _unpacked(cell: object) -> object:
    """A list that was written into a cell; any other cell as it is."""
    text = str(cell).strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
