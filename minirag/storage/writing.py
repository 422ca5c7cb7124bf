"""Commits on disk: a new file in the old one's place, or appended bytes that a trailer makes whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minirag.errors import InputError
from minirag.storage.layout import ALIGNMENT, BLOCK, Contents, Section, SegmentEntry, checksum, pack_trailer
from minirag.storage.replacing import disk_errors, replace_file, write_all
from minirag.storage.segment import DeadRows
from minirag.storage.segment_data import SegmentData
from minirag.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEPT = "The index on disk is still its last commit"


class _Writer:
    """Writes sections at aligned offsets and remembers where they lie.

    After the disk refused it only counts, so that the error can say how much was needed.
    """

    def __init__(self, offset: int) -> None:
        self.file: IO[bytes] | None = None
        self.start = self.offset = offset
        self._refused: OSError | None = None

    @property
    def length(self) -> int:
        """Bytes so far."""
        return self.offset - self.start

    def _write(self, data: bytes) -> None:
        self.offset += len(data)
        if self._refused is None and self.file is not None:
            try:
                write_all(self.file, data)
            except OSError as error:
                self._refused = error

    def section(self, data: bytes, *, in_blocks: bool = True) -> Section:
        self._write(bytes(-self.offset % ALIGNMENT))
        offset = self.offset
        self._write(data)
        blocks = 0
        if in_blocks and len(data) > BLOCK:
            self._write(bytes(-self.offset % ALIGNMENT))
            blocks = self.offset
            self._write(block_checksums(data).tobytes())
        return Section(offset, len(data), checksum(data), blocks)

    def segment(self, data: SegmentData, *, graph: bool) -> SegmentEntry:
        sections = {name: self.section(content) for name, content in data.to_sections(graph=graph)}
        return SegmentEntry(sections, data.counts())

    def bury(self, entry: SegmentEntry, dead: DeadRows) -> SegmentEntry:
        """The entry with these dead rows."""
        contents = {name: rows.astype("<u4").tobytes() for name, rows in dead.items() if len(rows)}
        copies = {f"{name} copy": content for name, content in contents.items()}
        sections = {name: self.section(content) for name, content in (contents | copies).items()}
        return replace(entry, dead={**entry.dead, **sections}) if sections else entry

    def pending(self, change: Change) -> Section | None:
        return self.section(change.pending.astype("<u8").tobytes()) if len(change.pending) else None

    def finish(self, contents: Contents) -> None:
        """Table of contents and trailer, twice. A trailer goes to the disk only after all that it vouches for."""
        table = contents.to_bytes()
        place = self.section(table, in_blocks=False)
        self._sync()
        self._write(pack_trailer(offset=self.offset, contents=place, file_id=contents.file_id))
        place = self.section(table, in_blocks=False)
        self._write(pack_trailer(offset=self.offset, contents=place, file_id=contents.file_id))
        self._sync()

    def _sync(self) -> None:
        if self._refused is None and self.file is not None:
            try:
                os.fsync(self.file.fileno())
            except OSError as error:
                self._refused = error

    def check(self) -> None:
        """Raise what the disk said."""
        if self._refused is not None:
            raise self._refused


def block_checksums(data: bytes | memoryview) -> NDArray[np.uint64]:
    """The checksum of each block of a section, `(n,)`."""
    view = memoryview(data)
    return np.array([checksum(view[start : start + BLOCK]) for start in range(0, len(view), BLOCK)], "<u8")


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit changes.

    Attributes:
        header: Replaces the one before.
        pending: Hashes of entity names that are still to be bridged.
        data: A new segment, None when there is none.
        dead: By the segment's number and "documents" or "bridges": all of its dead rows, the earlier ones included.
            Segments that are not named keep what they had.
        dropped: Numbers of segments that `data` replaces.
        account: Gives entries that the header gets once all else is written, such as how long it took.
    """

    header: Mapping[str, Any]
    pending: NDArray[np.uint64]
    data: SegmentData | None = None
    dead: Mapping[int, DeadRows] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    account: Callable[[], Mapping[str, Any]] = dict

    def last_header(self) -> dict[str, Any]:
        """The header with its account; to be asked for when all else is written."""
        return {**self.header, **self.account()}


def write_base(path: Path, data: SegmentData, change: Change, *, commit: int = 1) -> None:
    """Write a whole index as a sibling, sync it, and put it in the place of `path`.

    Args:
        path: May exist or not.
        data: All that the index holds.
        change: Gives the header and what is pending.
        commit: The commit's number.

    Raises:
        IndexWriteError: When the disk refuses; `path` is then as it was.
        InputError: When a record is too large, likewise.
    """
    writer = _Writer(0)

    def write(file: IO[bytes]) -> None:
        writer.file = file
        entry = writer.segment(data, graph=True)
        pending = writer.pending(change)
        writer.finish(Contents(os.urandom(8).hex(), commit, (entry,), change.last_header(), pending))
        writer.check()

    with disk_errors(path, kept=_KEPT, needed=lambda: writer.length):
        replace_file(path, write)


def append_commit(snapshot: Snapshot, change: Change, *, end: int | None = None) -> None:
    """Append a commit to the snapshot's file; the caller holds the writer's lock and the newest snapshot.

    Args:
        snapshot: What the commit builds on.
        change: What it changes.
        end: The file's size, where that is not what it was when the snapshot was opened. A torn tail stays as it is:
            it may be damage from which something can be saved.

    Raises:
        IndexWriteError: When the disk refuses; what was appended is cut off again.
        InputError: When a record is too large, likewise.
    """
    old = snapshot.contents
    writer = _Writer(snapshot.stamp.size if end is None else end)
    with (
        disk_errors(snapshot.path, kept=_KEPT, needed=lambda: writer.length),
        snapshot.path.open("r+b", buffering=0) as file,
    ):
        file.seek(writer.start)
        writer.file = file
        try:
            entries = [
                writer.bury(entry, change.dead.get(number, {}))
                for number, entry in enumerate(old.segments)
                if number not in change.dropped
            ]
            if change.data is not None:
                entries.append(writer.segment(change.data, graph=False))
            pending = writer.pending(change)
            writer.finish(Contents(old.file_id, old.commit + 1, tuple(entries), change.last_header(), pending))
            writer.check()
        except (OSError, InputError):
            with suppress(OSError):
                file.truncate(writer.start)
            raise
