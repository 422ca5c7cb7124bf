"""An index file over time: the snapshot that readers hold, the writer's lock, and when to append or to rewrite."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minirag.errors import IndexClosedError, IndexMissingError, IndexReadOnlyError
from minirag.storage.lock import writer_lock
from minirag.storage.merging import empty_data, merge, read_alive
from minirag.storage.segment import SegmentData
from minirag.storage.snapshot import Snapshot, open_snapshot
from minirag.storage.writing import Change, append_commit, write_base

_MOST_SEGMENTS = 32
Mode = Literal["a", "r"]


class Store:
    """An open index file.

    Any number of threads may read `snapshot`; writes happen inside `writing()`.
    """

    def __init__(self, path: Path, *, mode: Mode, normalise: Callable[[str], str]) -> None:
        """Open the file.

        Raises:
            IndexMissingError: When there is none.
            IndexFileError: When it cannot be read as an index.
        """
        self.path = path
        self.mode = mode
        self._normalise = normalise
        self._process = os.getpid()
        self._snapshot: Snapshot | None = self._open()

    @classmethod
    def create(cls, path: Path, *, header: Mapping[str, Any], normalise: Callable[[str], str]) -> Store:
        """Open the file for writing, and start one with this header where there is none.

        Raises:
            IndexFileError: When it cannot be read as an index, or not be written.
            IndexMissingError: When its folder does not exist.
        """
        if not path.exists():
            if not path.parent.is_dir():
                raise IndexMissingError(path, f"the folder {path.parent} does not exist. Create it first")
            with writer_lock(path):
                if not path.exists():
                    dimensions = int(header["encoder"]["dimensions"])
                    write_base(path, empty_data(dimensions, normalise), Change(header, np.empty(0, "<u8")))
        return cls(path, mode="a", normalise=normalise)

    # --- reading ---------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The commit that this store stands on.

        Raises:
            IndexClosedError: After `close()`.
        """
        snapshot = self._snapshot
        if snapshot is None:
            raise IndexClosedError(self.path, "the index is closed. Open it again")
        return snapshot

    def refresh(self) -> bool:
        """Move to the newest commit; costs one look at the file's size when there is none.

        Returns:
            Whether there was a newer one.
        """
        held = self.snapshot
        try:
            status = self.path.stat()
        except FileNotFoundError as error:
            raise IndexMissingError(self.path, "the file is gone. Restore it, or start a new index") from error
        if (status.st_dev, status.st_ino) == held.identity and status.st_size == held.size + held.torn:
            return False
        self._snapshot = self._open()
        return True

    def _open(self) -> Snapshot:
        snapshot = open_snapshot(self.path)
        older = getattr(self, "_snapshot", None)
        if older is not None:
            snapshot.adopt(older)
        elif snapshot.torn:
            warnings.warn(
                f"{self.path}: the last {snapshot.torn:,} bytes are no whole commit (a write was cut short, or they "
                f"are damaged). Opened the commit before them",
                stacklevel=4,
            )
        return snapshot

    def close(self) -> None:
        """Let go of the file. The mapping ends when the last result that looks into it is gone."""
        self._snapshot = None

    # --- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock and stand on the newest commit.

        Raises:
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
        """
        if self.mode == "r":
            raise IndexReadOnlyError(self.path, "was opened with mode='r'. Open it with mode='a' to write")
        with writer_lock(self.path):
            self.refresh()
            yield

    def commit(self, change: Change) -> None:
        """Make a change durable and move to it; call it inside `writing()`.

        Appends, unless what was appended or died outgrew the base: then the file is written afresh.

        Raises:
            IndexWriteError: When the disk refuses; file and snapshot are as they were.
        """
        snapshot = self.snapshot
        if self._base_is_outgrown(change):
            self._rewrite(change)
        else:
            if len(snapshot.segments) > _MOST_SEGMENTS and change.data is not None:
                change = self._with_appended_merged(change)
            append_commit(snapshot, change)
        self._snapshot = self._open()

    def compact(self) -> None:
        """Write the file afresh without what is dead; call it inside `writing()`."""
        snapshot = self.snapshot
        self._rewrite(Change(snapshot.header, snapshot.pending))
        self._snapshot = self._open()

    def _base_is_outgrown(self, change: Change) -> bool:
        """When less than half of what the file will hold is alive in its base."""
        base, *appended = self.snapshot.segments
        dead = len(change.dead.get(0, {}).get("documents", ()))
        alive = base.count("documents") - dead
        grown = sum(segment.count("documents") for segment in appended)
        grown += change.data.counts()["documents"] if change.data else 0
        return alive < grown + dead

    def _rewrite(self, change: Change) -> None:
        snapshot = self.snapshot
        parts = [self._alive(number, change) for number in range(len(snapshot.segments))]
        data = merge([*parts, *([change.data] if change.data else [])])
        write_base(self.path, data, change, commit=snapshot.contents.commit + 1)

    def _with_appended_merged(self, change: Change) -> Change:
        numbers = range(1, len(self.snapshot.segments))
        parts = [self._alive(number, change) for number in numbers]
        data = merge([*parts, *([change.data] if change.data else [])])
        base_dead = {number: rows for number, rows in change.dead.items() if number == 0}
        return replace(change, data=data, dead=base_dead, dropped=frozenset(numbers))

    def _alive(self, number: int, change: Change) -> SegmentData:
        segment = self.snapshot.segments[number]
        dead = change.dead.get(number)
        if dead:
            segment = segment.with_dead(dead)
        return read_alive(segment, self._normalise)
