"""The bytes of an index file: sections, the table of contents and the trailer that makes a commit whole.

    0            usearch index of the base segment's facts and bridging facts (what any usearch reads)
                 further sections of the base segment
                 table of contents, trailer
    …            appended commits, each: sections, table of contents, trailer

Every commit's table of contents lists all that is live, so a reader needs the last whole one only. A trailer names its
own offset and the file's random id: bytes inside a document can therefore never pass for one.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import xxhash

from minirag.errors import IndexCorruptError, IndexVersionError

FORMAT = 1
MAGIC = b"minirag\x00"
ALIGNMENT = 64
_TRAILER = struct.Struct("<8sIIQQQ8sQ")  # magic, format, unused, offset, toc offset, toc length, file id, toc checksum
TRAILER_SIZE = _TRAILER.size + 8  # and the checksum of what stands before


def checksum(data: bytes | memoryview) -> int:
    """xxh3-64 of the bytes: finds damage, is no protection against forgery."""
    return xxhash.xxh3_64_intdigest(data)


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section lies, in bytes from the start of the file."""

    offset: int
    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """What the table of contents says of one segment.

    Attributes:
        sections: By name, see `segment.py`.
        counts: Rows by kind: documents, passages, facts, triples, bridges.
        dead: Sections that list the rows no longer valid: "documents", "bridges". Absent when there are none.
    """

    sections: Mapping[str, Section]
    counts: Mapping[str, int]
    dead: Mapping[str, Section] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contents:
    """A commit's table of contents.

    Attributes:
        file_id: 16 hex digits, random, made when the file was.
        commit: Counts up from 1.
        segments: The base first.
        header: Encoder, settings, totals: JSON values that storage only carries.
        pending: The hashes of entity names that are still to be bridged, 64-bit integers; None when there are none.
    """

    file_id: str
    commit: int
    segments: tuple[SegmentEntry, ...]
    header: Mapping[str, Any]
    pending: Section | None = None

    def to_bytes(self) -> bytes:
        """As UTF-8 JSON."""
        segments = [
            {
                "counts": dict(entry.counts),
                "sections": {name: astuple(section) for name, section in entry.sections.items()},
                "dead": {name: astuple(section) for name, section in entry.dead.items()},
            }
            for entry in self.segments
        ]
        value = {
            "file_id": self.file_id,
            "commit": self.commit,
            "segments": segments,
            "header": dict(self.header),
            "pending": astuple(self.pending) if self.pending else None,
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Contents:
        """Read what `to_bytes` wrote; its checksum held, so anything unexpected is a `ValueError` or `KeyError`."""
        value = json.loads(data)
        segments = tuple(
            SegmentEntry(
                {name: Section(*place) for name, place in entry["sections"].items()},
                entry["counts"],
                {name: Section(*place) for name, place in entry["dead"].items()},
            )
            for entry in value["segments"]
        )
        pending = Section(*value["pending"]) if value["pending"] else None
        return cls(value["file_id"], value["commit"], segments, value["header"], pending)


def pack_trailer(*, offset: int, contents: Section, file_id: str) -> bytes:
    """The last bytes of a commit."""
    body = _TRAILER.pack(
        MAGIC, FORMAT, 0, offset, contents.offset, contents.length, bytes.fromhex(file_id), contents.checksum
    )
    return body + checksum(body).to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class Commit:
    """A whole commit as found in a file.

    Attributes:
        contents: Its table of contents.
        end: The offset just behind its trailer.
        torn: How many bytes follow that belong to no whole commit.
    """

    contents: Contents
    end: int
    torn: int


def find_commit(path: Path, raw: bytes | mmap.mmap) -> Commit:
    """The last whole commit of a file.

    Raises:
        IndexCorruptError: When there is none.
        IndexVersionError: When a newer minirag wrote it.
    """
    data = memoryview(raw)
    size = len(data)
    commit = _commit_at(path, data, size - TRAILER_SIZE)
    if commit is not None:
        return commit
    # A crash while appending, or damage: look backwards for the commit before.
    end = size
    while (place := raw.rfind(MAGIC, 0, end)) >= 0:
        commit = _commit_at(path, data, place)
        if commit is not None:
            return commit
        end = place + len(MAGIC) - 1
    raise IndexCorruptError(path, "trailer", _what_is_it(data))


def _what_is_it(data: memoryview) -> str:
    if len(data) == 0:
        return "the file is empty. Delete it to start a new index"
    head = bytes(data[:256])
    if head.startswith(b"SQLite format 3"):
        return "this is an SQLite database, not a minirag index"
    if b"usearch" in head or b"usearch" in bytes(data[-256:]) or _looks_like_usearch(data):
        return "this is a plain usearch index without minirag's part. Open it with usearch.index.Index.restore(path)"
    return "no whole commit is in it: this is no minirag index, or one that lost its end. Restore a copy of it"


def _looks_like_usearch(data: memoryview) -> bool:
    if len(data) < 16:
        return False
    rows, columns = struct.unpack_from("<II", data)
    matrix_end = 8 + rows * columns
    return matrix_end + 7 <= len(data) and bytes(data[matrix_end : matrix_end + 7]) == b"usearch"


def _commit_at(path: Path, data: memoryview, place: int) -> Commit | None:
    if place < 0 or place + TRAILER_SIZE > len(data):
        return None
    body = data[place : place + _TRAILER.size]
    end = place + TRAILER_SIZE
    if int.from_bytes(data[end - 8 : end], "little") != checksum(body):
        return None
    magic, version, _, offset, toc_offset, toc_length, file_id, toc_checksum = _TRAILER.unpack(body)
    if magic != MAGIC or offset != place or toc_offset + toc_length > place:
        return None
    if version > FORMAT:
        raise IndexVersionError(path, found=version, supported=FORMAT)
    table = data[toc_offset : toc_offset + toc_length]
    if checksum(table) != toc_checksum:
        return None
    contents = Contents.from_bytes(bytes(table))
    if contents.file_id != file_id.hex():
        return None
    return Commit(contents, end, len(data) - end)
