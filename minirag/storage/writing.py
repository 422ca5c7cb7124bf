"""Commits on disk: a new file beside the old one and in its place, or appended bytes that a trailer makes whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from minirag.errors import IndexWriteError
from minirag.storage.layout import ALIGNMENT, TRAILER_SIZE, Contents, Section, SegmentEntry, checksum, pack_trailer
from minirag.storage.segment import DeadRows, SegmentData
from minirag.storage.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Writer:
    """Writes sections at aligned offsets and remembers where they lie."""

    def __init__(self, file: IO[bytes], offset: int) -> None:
        self._file = file
        self.offset = offset

    def section(self, data: bytes) -> Section:
        padding = -self.offset % ALIGNMENT
        self._file.write(bytes(padding))
        self.offset += padding
        self._file.write(data)
        section = Section(self.offset, len(data), checksum(data))
        self.offset += len(data)
        return section

    def segment(self, data: SegmentData, *, graph: bool) -> SegmentEntry:
        sections = {name: self.section(content) for name, content in data.to_sections(graph=graph)}
        return SegmentEntry(sections, data.counts())

    def pending(self, change: Change) -> Section | None:
        return self.section(change.pending.astype("<u8").tobytes()) if len(change.pending) else None

    def finish(self, contents: Contents) -> None:
        """Table of contents and trailer. The trailer goes to the disk only after all that it vouches for."""
        table = self.section(contents.to_bytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.write(pack_trailer(offset=self.offset, contents=table, file_id=contents.file_id))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.offset += TRAILER_SIZE


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
    """

    header: Mapping[str, Any]
    pending: NDArray[np.uint64]
    data: SegmentData | None = None
    dead: Mapping[int, DeadRows] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()


def write_base(path: Path, data: SegmentData, change: Change, *, commit: int = 1) -> None:
    """Write a whole index as a sibling, sync it, and put it in the place of `path`.

    Args:
        path: May exist or not.
        data: All that the index holds.
        change: Gives the header and what is pending.
        commit: The commit's number.

    Raises:
        IndexWriteError: When the disk refuses; `path` is then as it was.
    """

    def write(file: IO[bytes]) -> None:
        writer = _Writer(file, 0)
        entry = writer.segment(data, graph=True)
        writer.finish(Contents(os.urandom(8).hex(), commit, (entry,), change.header, writer.pending(change)))

    replace_file(path, write)


def append_commit(snapshot: Snapshot, change: Change) -> None:
    """Append a commit to the snapshot's file; the caller holds the writer's lock and the newest snapshot.

    Raises:
        IndexWriteError: When the disk refuses; what was appended is cut off again.
    """
    path, old = snapshot.path, snapshot.contents
    with _disk_errors(path), path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        writer = _Writer(file, end)
        try:
            entries = [
                _bury(entry, writer, change.dead.get(number, {}))
                for number, entry in enumerate(old.segments)
                if number not in change.dropped
            ]
            if change.data is not None:
                entries.append(writer.segment(change.data, graph=False))
            writer.finish(Contents(old.file_id, old.commit + 1, tuple(entries), change.header, writer.pending(change)))
        except OSError:
            with suppress(OSError):
                file.truncate(end)
            raise


def _bury(entry: SegmentEntry, writer: _Writer, dead: DeadRows) -> SegmentEntry:
    sections = {name: writer.section(rows.astype("<u4").tobytes()) for name, rows in dead.items() if len(rows)}
    return replace(entry, dead={**entry.dead, **sections}) if sections else entry


def replace_file(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Have a sibling of `path` written, sync it and the folder, and put it in its place.

    Raises:
        IndexWriteError: When the disk refuses; `path` is then as it was, and the sibling is gone.
    """
    with _disk_errors(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
        sibling = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            _copy_mode(path, sibling)
            sibling.replace(path)
        except BaseException:
            with suppress(OSError):
                sibling.unlink()
            raise
        _sync_folder(path.parent)


def _copy_mode(path: Path, sibling: Path) -> None:
    """A temporary file is private; the index gets the mode it had, or the one that the user's umask gives."""
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    sibling.chmod(mode)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # Windows opens no folders; there the rename itself is what can be had
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise IndexWriteError(
            path, f"could not be written: {reason}. The index on disk is still its last commit"
        ) from error
