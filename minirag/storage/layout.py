"""The bytes of an index file: sections, the table of contents and the trailer that makes a commit whole.

    0            usearch index of the base segment's facts and bridging facts (what any usearch reads)
                 further sections of the base segment
                 table of contents, trailer
    …            appended commits, each: sections, table of contents, trailer

Every commit's table of contents lists all that is live, so a reader needs the last whole one only. A trailer names its
own offset and the file's random id: bytes inside a document can therefore never pass for one. Table and trailer are
written twice, one copy behind the other, so that no single damage costs a commit. A longer section has, beside its
own checksum, one for each of its blocks: from a damaged section, `salvaging` reads what lies in whole blocks.

A trailer's layout never changes, so that any minirag can tell a file of a newer format from a damaged one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import xxhash

FORMAT = 2
OLDEST_FORMAT = 1
BLOCK = 1_024  # bytes that one block checksum covers
MAGIC = b"minirag\x00"
ALIGNMENT = 64
_TRAILER = struct.Struct("<8sIIQQQ8sQ")  # magic, format, unused, offset, toc offset, toc length, file id, toc checksum
TRAILER_SIZE = _TRAILER.size + 8  # and the checksum of what stands before


def checksum(data: bytes | memoryview) -> int:
    """xxh3-64 of the bytes: finds damage, is no protection against forgery."""
    return xxhash.xxh3_64_intdigest(data)


class Dimensions(NamedTuple):
    """Lengths of the vectors in a file.

    Attributes:
        encoder: Of passages, facts and bridging facts.
        aligner: Of triples.
    """

    encoder: int
    aligner: int

    def of(self, kind: str) -> int:
        """Of "passages", "facts", "bridges" or "triples"."""
        return self.aligner if kind == "triples" else self.encoder


def aligner_in(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a header says of the model that encoded the triples; files without word of it have the encoder's alone."""
    found: Mapping[str, Any] = header.get("aligner", header["encoder"])
    return found


def dimensions_in(header: Mapping[str, Any]) -> Dimensions:
    """What a header says of the vectors."""
    return Dimensions(int(header["encoder"]["dimensions"]), int(aligner_in(header)["dimensions"]))


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section lies, in bytes from the start of the file.

    Attributes:
        blocks: Where the checksums of its blocks lie, 64 bits each; 0 when it has none, as it fits in one.
    """

    offset: int
    length: int
    checksum: int
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """What the table of contents says of one segment.

    Attributes:
        sections: By name, see `segment.py`.
        counts: Rows by kind: documents, passages, facts, triples, bridges.
        dead: Sections that list the rows no longer valid: "documents", "bridges", and "documents copy", "bridges
            copy", since a deleted text must not come back by damage. Absent when there are none.
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
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

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


class Trailer(NamedTuple):
    """The fields of a trailer, as they lie there."""

    magic: bytes
    format: int
    unused: int
    offset: int
    contents_offset: int
    contents_length: int
    file_id: bytes
    contents_checksum: int


def unpack_trailer(data: bytes) -> Trailer | None:
    """Read what `pack_trailer` wrote, or None when the bytes are no trailer."""
    if len(data) != TRAILER_SIZE or int.from_bytes(data[-8:], "little") != checksum(data[:-8]):
        return None
    trailer = Trailer._make(_TRAILER.unpack(data[:-8]))
    return trailer if trailer.magic == MAGIC else None


def pack_trailer(*, offset: int, contents: Section, file_id: str) -> bytes:
    """The last bytes of a commit."""
    body = _TRAILER.pack(
        MAGIC, FORMAT, 0, offset, contents.offset, contents.length, bytes.fromhex(file_id), contents.checksum
    )
    return body + checksum(body).to_bytes(8, "little")
