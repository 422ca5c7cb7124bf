"""A whole commit, mapped: what readers hold. It never changes; a newer commit is another snapshot."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minirag.errors import IndexCorruptError, IndexFileError, IndexMissingError
from minirag.filtering import group_of
from minirag.storage.finding import Commit, find_commit
from minirag.storage.layout import Contents, Section, SegmentEntry, checksum, dimensions_in
from minirag.storage.segment import Segment
from minirag.storage.visible import see_through

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.filtering import Filter

_KEPT_FILTERS = 32  # whose masks are kept: a byte for each row


class Stamp(NamedTuple):
    """Tells one state of a file from the next: commits make it longer, compaction makes another file of it."""

    device: int
    inode: int
    size: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Of what `stat` says."""
    return Stamp(status.st_dev, status.st_ino, status.st_size)


class Snapshot:
    """The last whole commit of an index file at the time of opening.

    Attributes:
        path: The file.
        contents: The commit's table of contents.
        segments: The base first.
        size: Bytes of the file up to the commit's end.
        torn: Bytes behind it that belong to no whole commit.
        format: Of the file.
        stamp: Of the file when it was opened.
        data: The file up to the commit's end, unverified: `read` verifies.
    """

    def __init__(self, path: Path, data: memoryview, commit: Commit, stamp: Stamp) -> None:
        """Use `open_snapshot` instead."""
        self.path = path
        self.contents: Contents = commit.contents
        self.size = commit.end
        self.torn = commit.torn
        self.format = commit.format
        self.stamp = stamp
        self.data = data
        self._verified: set[Section] = set()
        dimensions = dimensions_in(self.contents.header)
        self.segments = tuple(
            Segment(entry, _Reader(self, entry), dimensions=dimensions) for entry in self.contents.segments
        )
        self._header: Mapping[str, Any] = self.contents.header
        self._digest: str | None = None
        self._through = lru_cache(maxsize=_KEPT_FILTERS)(self._see_through)

    @property
    def header(self) -> Mapping[str, Any]:
        """Encoder, aligner, settings and totals, as the commit holds them."""
        return self._header

    @property
    def digest(self) -> str:
        """Of what is in it, see `identity.digest_of`; the first time all of it is read."""
        if self._digest is None:
            from minirag.storage.identity import digest_of

            self._digest = digest_of(self)
        return self._digest

    def read(self, name: str, section: Section) -> memoryview:
        """The bytes of a section; its checksum is verified the first time.

        Raises:
            IndexCorruptError: When the bytes are not those that were written.
        """
        view = self.data[section.offset : section.offset + section.length]
        if section not in self._verified:
            if len(view) != section.length or checksum(view) != section.checksum:
                raise IndexCorruptError(
                    self.path, name, "its checksum does not hold. Save what is whole with: minirag repair OLD NEW"
                )
            self._verified.add(section)
        return view

    def adopt(self, older: Snapshot) -> None:
        """Trust the sections that an older snapshot of the same file has verified, and what was counted of them."""
        if older.stamp[:2] != self.stamp[:2] or older.contents.file_id != self.contents.file_id:
            return
        self._verified |= older._verified
        for segment in self.segments:
            for known in older.segments:
                if known.entry.sections == segment.entry.sections:
                    segment.adopt(known)

    def through(self, where: Filter | None) -> Snapshot:
        """The same commit, in which only documents that pass a filter are there, and what was derived from them alone.

        All that reads a snapshot reads such a one in the same way. The last few are kept.
        """
        return self if where is None else self._through(where)

    def _see_through(self, where: Filter) -> Snapshot:
        seen = copy(self)
        seen._digest = None
        within = self.header["settings"].get("bridge_within")
        seen.segments = see_through(
            self.segments,
            where.passes,
            by_rules=not self._was_model_used,
            group=lambda metadata: group_of(metadata, within),
        )
        told = [each for each in self.header["failed_passages"] if seen.find_document(each[0].rpartition("#")[0])]
        seen._header = {**self.header, "failed_passages": told, "failed_names": []}
        return seen

    @property
    def _was_model_used(self) -> bool:
        """Whether a model may have written bridging facts; older files do not say."""
        header = self.header
        return bool(header.get("bridged_by_model") or header["usage"]["calls"]) or header["model"] not in (
            "",
            "offline",
        )

    def count(self, name: str) -> int:
        """How many rows of a kind are alive, see `Segment.count`."""
        total = 0
        for segment in self.segments:
            alive = segment.alive(name)
            total += segment.count(name) if alive is None else int(alive.sum())
        return total

    def count_bridge_entities(self) -> int:
        """How many names have bridging facts that are alive."""
        names = set()
        for segment in self.segments:
            alive = segment.alive("bridges")
            bridged = segment.bridges_by_entity
            starts = bridged.starts.tolist()
            for place, key in enumerate(bridged.keys.tolist()):
                rows = bridged.rows[starts[place] : starts[place + 1]]
                if alive is None or alive[rows].any():
                    names.add(key)
        return len(names)

    def find_document(self, document_id: str) -> tuple[Segment, int] | None:
        """The segment and row of a document, or None."""
        for segment in reversed(self.segments):
            row = segment.find_document(document_id)
            if row is not None:
                return segment, row
        return None

    @property
    def pending(self) -> NDArray[np.uint64]:
        """Hashes of the entity names that are still to be bridged, `(n,)`: of those that are named here."""
        section = self.contents.pending
        pending = np.frombuffer(self.read("pending entities", section) if section else b"", "<u8")
        if not any(segment.is_filtered for segment in self.segments):
            return pending
        return pending[[self._is_named(key) for key in pending.tolist()]] if len(pending) else pending

    def _is_named(self, key: int) -> bool:
        for segment in self.segments:
            alive, facts = segment.alive("facts"), segment.facts_by_entity.find(key)
            if len(facts) and (alive is None or alive[facts].any()):
                return True
        return False

    def sections(self) -> Iterator[tuple[str, Section]]:
        """All sections that are live, named with their segment."""
        for number, entry in enumerate(self.contents.segments):
            for name, section in entry.sections.items():
                yield f"{name} (segment {number})", section
            for name, section in entry.dead.items():
                yield f"dead {name} (segment {number})", section
        if self.contents.pending:
            yield "pending entities", self.contents.pending


class _Reader:
    """The sections of a segment."""

    def __init__(self, snapshot: Snapshot, entry: SegmentEntry) -> None:
        self._snapshot, self._entry = snapshot, entry

    def __call__(self, name: str) -> memoryview:
        """The bytes of one, verified."""
        entry = self._entry
        place = entry.dead.get(name.removeprefix("dead ")) if name.startswith("dead ") else entry.sections.get(name)
        if place is None:
            raise self.damaged(name, "the file has none. Build the index anew, or restore a copy")
        return self._snapshot.read(name, place)

    def damaged(self, name: str, reason: str) -> IndexCorruptError:
        """What to raise of one that is not as it should be."""
        return IndexCorruptError(self._snapshot.path, name, reason)


def open_snapshot(path: Path) -> Snapshot:
    """Find the last whole commit of a file, and map what belongs to it. Nothing is written, no lock is taken.

    Raises:
        IndexMissingError: When there is no such file.
        IndexCorruptError: When no whole commit is in it.
        IndexVersionError: When a newer minirag wrote it.
        IndexFileError: When it cannot be read, or is a folder.
    """
    with open_regular(path) as file:
        stamp = stamp_of(os.fstat(file.fileno()))
        commit = find_commit(path, file)
        return Snapshot(path, memoryview(_map(file, commit.end)), commit, stamp)


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        IndexMissingError: When there is no such file.
        IndexFileError: When it cannot be read, or is no regular file.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IndexFileError(path, "is a folder, not an index file")
        if not stat.S_ISREG(mode):  # to open a pipe would wait for a writer
            raise IndexFileError(path, "is a device or a pipe, not an index file")
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise IndexMissingError(path, "no such index. Index(path) with mode='a', the default, creates one") from error
    except OSError as error:
        raise IndexFileError(path, f"cannot be read: {error.strerror or error}") from error


def _map(file: IO[bytes], size: int) -> bytes | mmap.mmap:
    """Up to the commit's end only, which no later write cuts off: a mapping beyond the file's end is a crash.

    Windows lets nobody replace a mapped file, so there it is read instead.
    """
    if os.name == "nt":
        file.seek(0)
        return file.read(size)
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
