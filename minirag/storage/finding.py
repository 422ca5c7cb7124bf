"""Finding commits in a file, from its end backwards.

The file is read here, not mapped: one that shrinks meanwhile is then nothing worse than a short read.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from minirag.errors import IndexCorruptError, IndexVersionError, NotAnIndexError
from minirag.storage.layout import FORMAT, MAGIC, OLDEST_FORMAT, TRAILER_SIZE, Contents, checksum, unpack_trailer

_WINDOW = 1 << 20
_COPY_AGAIN = "Copy it again, or restore a backup"
_KNOWN = (
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive: unpack it first"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a numpy array"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A whole commit as found in a file.

    Attributes:
        contents: Its table of contents.
        end: The offset just behind its trailer.
        torn: How many bytes follow that belong to no whole commit.
        format: Of the file, as its trailer says.
    """

    contents: Contents
    end: int
    torn: int
    format: int


def find_commit(path: Path, file: IO[bytes]) -> Commit:
    """The last whole commit of a file.

    Raises:
        NotAnIndexError: When it was never one, or lost all that would show it.
        IndexCorruptError: When there is none, but what minirag writes at the end of one.
        IndexVersionError: When a newer minirag wrote it.
    """
    for commit in find_commits(path, file):
        return commit
    if any(True for _ in _places(file, os.fstat(file.fileno()).st_size)):
        raise IndexCorruptError(path, "trailer", f"no whole commit is in it. {_COPY_AGAIN}")
    raise NotAnIndexError(path, _what_is_it(file))


def find_commits(path: Path, file: IO[bytes]) -> Iterator[Commit]:
    """All whole commits of a file, the last one first; both copies of each, where both are whole.

    Raises:
        IndexVersionError: When a newer minirag wrote one.
    """
    size = os.fstat(file.fileno()).st_size
    last = _commit_at(path, file, size - TRAILER_SIZE, size)
    if last is not None:
        yield last
    for place in _places(file, size - TRAILER_SIZE if last else size):
        commit = _commit_at(path, file, place, size)
        if commit is not None:
            yield commit


def _places(file: IO[bytes], end: int) -> Iterator[int]:
    """Where the magic bytes lie before `end`, from the last to the first."""
    while end > 0:
        start = max(0, end - _WINDOW)
        window = read_at(file, start, end - start + len(MAGIC) - 1)
        place = window.rfind(MAGIC)
        while place >= 0:
            if start + place < end:
                yield start + place
            place = window.rfind(MAGIC, 0, place + len(MAGIC) - 1)
        end = start


def read_at(file: IO[bytes], offset: int, length: int) -> bytes:
    """Bytes at an offset; fewer where the file ends."""
    file.seek(offset)
    return file.read(length)


def _commit_at(path: Path, file: IO[bytes], place: int, size: int) -> Commit | None:
    if place < 0:
        return None
    trailer = unpack_trailer(read_at(file, place, TRAILER_SIZE))
    if trailer is None or trailer.offset != place:
        return None
    if not OLDEST_FORMAT <= trailer.format <= FORMAT:
        raise IndexVersionError(path, found=trailer.format, supported=FORMAT)
    if trailer.contents_offset + trailer.contents_length > place:
        return None
    table = read_at(file, trailer.contents_offset, trailer.contents_length)
    if checksum(table) != trailer.contents_checksum:
        return None
    try:
        contents = Contents.from_bytes(table)
    except (ValueError, KeyError, TypeError):  # a checksum finds damage, not bytes that somebody made up
        return None
    if contents.file_id != trailer.file_id.hex():
        return None
    end = place + TRAILER_SIZE
    return Commit(contents, end, size - end, trailer.format)


def _what_is_it(file: IO[bytes]) -> str:
    """What follows "is no minirag index"."""
    if os.fstat(file.fileno()).st_size == 0:
        return ": the file is empty. Delete it to start a new index"
    head = read_at(file, 0, 256)
    for start, name in _KNOWN:
        if head.startswith(start):
            return f", but {name}"
    if _looks_like_usearch(file, head):
        return (
            ", or one that lost its end: a usearch index is in it. If usearch wrote it, open it with "
            f"usearch.index.Index.restore(path). If minirag did: {_COPY_AGAIN}"
        )
    if _looks_like_text(head):
        return ", but a text. To have it in one: minirag index FILE --index INDEX"
    return f", or one that lost its end (an interrupted copy or download?). {_COPY_AGAIN}"


def _looks_like_text(head: bytes) -> bool:
    """Whether it is UTF-8 without control characters; a last character may be cut off."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.end < len(head) or not error.start:
            return False
        text = head[: error.start].decode()
    return all(character.isprintable() or character in "\t\n\r\f\ufeff" for character in text)


def _looks_like_usearch(file: IO[bytes], head: bytes) -> bool:
    if head.startswith(b"usearch"):
        return True
    if len(head) < 8:
        return False
    rows, row_bytes = struct.unpack_from("<II", head)  # usearch writes its matrix first, then its own header
    place = 8 + rows * row_bytes
    return place < os.fstat(file.fileno()).st_size and read_at(file, place, 7) == b"usearch"
