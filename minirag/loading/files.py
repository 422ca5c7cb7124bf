"""Reading documents from files and folders, one file at a time; what cannot be read is named, and the rest goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple, TypeAlias

from minirag.errors import InputError
from minirag.loading.assembling import Converted
from minirag.loading.checking import check, document_from, storable
from minirag.loading.converting import CONVERTED_SUFFIXES, check_size, convert
from minirag.loading.decoding import decoded, encoding_of, not_unicode
from minirag.records import Document, Failure
from minirag.wording import IS_ADDRESS, address_in

OnPath: TypeAlias = Callable[[Path], None]
Items: TypeAlias = Iterator[Document | Failure]

LINE_SUFFIXES = (".jsonl", ".ndjson")
SUFFIXES = (".txt", ".json", *LINE_SUFFIXES, *CONVERTED_SUFFIXES)
"""The files that are read in a folder; in any case of letters."""


class Told(NamedTuple):
    """Who is told what becomes of files.

    Attributes:
        skipped: Each file or folder of a walk that is passed over.
        converted: Each file that was converted, or could not be.
    """

    skipped: OnPath
    converted: OnPath


HEAD_LENGTH = 8192  # how much of a file of lines is looked at for zero bytes


def read_path(path: Path, told: Told) -> Items:
    """The documents of a file, whatever its suffix, or of a folder (see `load`)."""
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            yield from _walk(path, told)
        elif S_ISREG(mode):
            name = _name(path)
            yield from (
                replace(item, source=name) if isinstance(item, Document) else item for item in _read_file(path, told)
            )
        else:
            yield Failure(_name(path), "is neither a file nor a folder")
    except (OSError, ValueError) as error:  # ValueError: a name or bytes that no coding has
        yield _unreadable(path, error)
    except InputError as error:
        yield Failure(_name(path), str(error))


def count_converted(path: Path, root: Path | None = None) -> int:
    """How many files `read_path` would convert; none of them is opened.

    Args:
        path: A file or a folder.
        root: The folder that was given, links followed; None for that one itself.
    """
    try:
        if not path.is_dir():
            return int(path.suffix.lower() in CONVERTED_SUFFIXES)
        root = root or path.resolve()
        return sum(count_converted(entry, root) for entry in path.iterdir() if _belongs(entry, root))
    except (OSError, ValueError):  # reading it names it
        return 0


def _walk(folder: Path, told: Told) -> Items:
    root = folder.resolve()
    pending = _entries(folder)
    while pending:
        path = pending.pop()
        try:
            if not _belongs(path, root):
                told.skipped(path)
            elif path.is_dir():
                pending.extend(_entries(path))
            else:
                yield from read_path(path, told)
        except OSError as error:
            yield _unreadable(path, error)


def _entries(folder: Path) -> list[Path]:
    """Last name first, as a stack wants them."""
    return sorted(folder.iterdir(), key=lambda path: path.name, reverse=True)


def _belongs(path: Path, root: Path) -> bool:
    if path.name.startswith("."):
        return False
    linked = path.is_symlink()
    if path.is_dir():
        return not linked
    if path.suffix.lower() not in SUFFIXES:
        return False
    # A link that leads nowhere is not skipped: reading it names it.
    return not linked or not path.exists() or path.resolve().is_relative_to(root)


def _read_file(path: Path, told: Told) -> Items:
    suffix = path.suffix.lower()
    if suffix in LINE_SUFFIXES:
        yield from _read_lines(path)
    elif suffix in CONVERTED_SUFFIXES:
        try:
            check_size(path)
            converted = convert(path)
        finally:
            told.converted(path)
        yield _document(path, converted)
    elif suffix == ".json":
        check_size(path)
        yield from _read_json(path)
    else:
        check_size(path)
        yield _document(path, Converted(decoded(path.read_bytes()), "", {}, ()))


def _document(path: Path, converted: Converted) -> Document:
    name = _name(path)
    known = {key: value for key, value in converted.metadata.items() if value not in (None, "", [])}
    title = converted.title or storable(path.stem)
    return check(Document(name, converted.text, title, {**known, "path": name}, converted.places))


def _read_json(path: Path) -> Items:
    content = _parsed(decoded(path.read_bytes()))
    if isinstance(content, dict) and "text" not in content and isinstance(content.get("documents"), list):
        content = content["documents"]
    if not isinstance(content, list):
        yield document_from(content, place=_name(path))
        return
    if not any(isinstance(record, dict) and "text" in record for record in content):
        raise InputError(
            f"none of its {len(content)} items is an object with 'text'" if content else "is an empty list"
        )
    for position, record in enumerate(content):
        yield document_from(record, place=f"{_name(path)}[{position}]")


def _read_lines(path: Path) -> Items:
    with path.open("rb") as file:
        encoding = encoding_of(file.read(HEAD_LENGTH))
    empty = True
    # Bytes that are no UTF-8 come as lone surrogates, so that they spoil their own line only.
    with path.open(encoding=encoding, errors="surrogateescape") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                empty = False
                yield _read_line(line, place=f"{_name(path)}:{number}")
    if empty:
        raise InputError("is empty")


def _read_line(line: str, *, place: str) -> Document | Failure:
    try:
        return document_from(_parsed(line.rstrip("\n")), place=place)
    except InputError as error:
        return Failure(place, str(error))


def _parsed(text: str) -> object:
    try:
        text.encode()
        content: object = json.loads(text)
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
        raise not_unicode("utf-8", ord(text[error.start]) & 0xFF, offset) from error
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        raise InputError(f"is not JSON: {error.msg} ({line}column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise InputError(f"is JSON that cannot be read: {error}") from error
    return content


def _name(path: Path) -> str:
    return storable(path.as_posix())


def _unreadable(path: Path, error: Exception) -> Failure:
    if isinstance(error, FileNotFoundError) and (address := address_in(path.as_posix())):
        return Failure(address, IS_ADDRESS)
    if isinstance(error, FileNotFoundError):
        return Failure(_name(path), "is a link that leads nowhere" if path.is_symlink() else "no such file or folder")
    reason = error.strerror if isinstance(error, OSError) else None
    return Failure(_name(path), f"cannot be read: {reason or error}")
