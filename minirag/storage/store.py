"""An index file over time: the snapshot that readers hold, the writer's lock, and when to append or to rewrite."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minirag.errors import (
    EncoderMismatchError,
    IndexClosedError,
    IndexFileError,
    IndexMissingError,
    IndexReadOnlyError,
    IndexWriteError,
)
from minirag.storage.compacting import COMPACT_AT, count_to_merge, outgrown, rows_of
from minirag.storage.layout import aligner_in, dimensions_in
from minirag.storage.lock import writer_lock
from minirag.storage.merging import empty_data, merge, read_alive
from minirag.storage.replacing import disk_errors, sibling_of
from minirag.storage.segment_data import SegmentData
from minirag.storage.snapshot import Snapshot, Stamp, open_snapshot, stamp_of
from minirag.storage.writing import Change, append_commit, write_base

Mode = Literal["a", "r"]


class Store:
    """An open index file.

    Any number of threads may read `snapshot`; writes happen inside `writing()`. A forked child opens the file anew.

    Attributes:
        path: Absolute, and the file itself where a link was given: a link is one more name, not one more file.
        mode: "a", or "r", which never writes.
    """

    def __init__(self, path: Path, *, mode: Mode, normalise: Callable[[str], str]) -> None:
        """Open the file.

        Raises:
            IndexMissingError: When there is none.
            IndexFileError: When it cannot be read as an index.
        """
        self.path = find_file(path)
        self.mode = mode
        self._normalise = normalise
        self._process = os.getpid()
        self._moving = threading.Lock()
        snapshot = open_snapshot(self.path)
        self._snapshot: Snapshot | None = snapshot
        self._stamp = snapshot.stamp
        self._warn_of_torn_tail(snapshot)

    @classmethod
    def create(cls, path: Path, *, header: Mapping[str, Any], normalise: Callable[[str], str]) -> Store:
        """Open the file for writing, and start one with this header where there is none.

        Raises:
            IndexFileError: When it cannot be read as an index, or not be written.
            IndexMissingError: When its folder does not exist.
        """
        path = find_file(path)
        if not is_there(path):
            if not path.parent.is_dir():
                raise IndexMissingError(path, f"the folder {path.parent} does not exist. Create it first")
            with writer_lock(path):
                if not path.exists():
                    write_base(path, empty_data(dimensions_in(header), normalise), Change(header, np.empty(0, "<u8")))
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
        return snapshot if self._process == os.getpid() else self._reopen(snapshot)

    def _reopen(self, inherited: Snapshot) -> Snapshot:
        """In a forked child: a thread of the parent may have been in the midst of using what the child inherits."""
        self._moving = threading.Lock()
        snapshot = open_snapshot(self.path)
        self._move(inherited, snapshot)
        self._process = os.getpid()
        return snapshot

    def refresh(self) -> bool:
        """Move to the newest commit; costs one look at the file's size when there is none.

        Returns:
            Whether there was a newer one.

        Raises:
            IndexMissingError: When the file is gone.
            IndexFileError: When it cannot be read as an index any more.
            EncoderMismatchError: When it was embedded anew with another encoder: open it again.
        """
        held = self.snapshot
        if self._look() == self._stamp:
            return False
        with self._moving:
            newest = open_snapshot(self.path)
            if newest.contents == held.contents:  # a write is under way, or was cut short
                self._stamp = newest.stamp
                return False
            newest.adopt(held)
            self._move(held, newest)
        if newest.contents.file_id == held.contents.file_id and newest.contents.commit < held.contents.commit:
            self._warn_of_torn_tail(newest)
        return True

    def _move(self, held: Snapshot, newest: Snapshot) -> None:
        for of in (lambda header: header["encoder"], aligner_in):
            before, now = of(held.header), of(newest.header)
            if before["fingerprint"] != now["fingerprint"]:
                raise EncoderMismatchError(self.path, built_with=now["name"], given=before["name"])
        if self._snapshot is not None:  # closed meanwhile by another thread
            self._snapshot, self._stamp = newest, newest.stamp

    def _look(self) -> Stamp:
        try:
            return stamp_of(self.path.stat())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise IndexMissingError(self.path, "the file is gone. Restore it, or start a new index") from error

    def _warn_of_torn_tail(self, snapshot: Snapshot) -> None:
        if snapshot.torn:
            warnings.warn(
                f"{self.path}: the last {snapshot.torn:,} bytes are no whole commit (a write is under way or was "
                "cut short, or they are damaged). Opened the commit before them",
                stacklevel=4,
            )

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
            IndexMissingError: When the file is gone.
            IndexWriteError: When the file or its folder cannot be written.
            EncoderMismatchError: When it was embedded anew with another encoder: open it again.
        """
        if self.mode == "r":
            raise IndexReadOnlyError(self.path, "was opened with mode='r'. Open it with mode='a' to write")
        with writer_lock(self.path):
            sibling_of(self.path).unlink(missing_ok=True)  # of a process that was killed while it wrote one
            self.refresh()
            with disk_errors(self.path, kept="Nothing was written"):
                self.path.open("r+b").close()  # found out now, and not when all is done that is to be written
            yield

    def commit(self, change: Change) -> None:
        """Make a change durable and move to it; call it inside `writing()`.

        Appends, unless what was appended or died outgrew the base: then the file is written afresh.

        Raises:
            IndexWriteError: When the disk refuses; file and snapshot are as they were.
        """
        snapshot = self._checked_snapshot()
        compact_at = float(snapshot.header["settings"].get("compact_at", COMPACT_AT))
        if outgrown(snapshot, change, compact_at=compact_at):
            self._rewrite(change)
        else:
            append_commit(snapshot, self._with_merged(change), end=self._stamp.size)
        self._after_commit()

    def compact(self) -> None:
        """Write the file afresh without what is dead; call it inside `writing()`.

        Raises:
            IndexWriteError: When the disk refuses; the file is as it was.
        """
        snapshot = self._checked_snapshot()
        self._rewrite(Change(snapshot.header, snapshot.pending))
        self._after_commit()

    def read_all(self, change: Change | None = None) -> SegmentData:
        """All that is alive, once a change is made."""
        change = change or Change(self.snapshot.header, self.snapshot.pending)
        parts = [self._alive(number, change) for number in range(len(self.snapshot.segments))]
        return merge([*parts, *([change.data] if change.data else [])])

    def replace_all(
        self, data: SegmentData, header: Mapping[str, Any], *, account: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Write the file afresh with other data and another header; call it inside `writing()`.

        The store then stands on the old commit; open the file again. `account` is as for `Change`.

        Raises:
            IndexWriteError: When the disk refuses; the file is as it was.
        """
        snapshot = self._checked_snapshot()
        change = Change(header, snapshot.pending, account=account)
        write_base(self.path, data, change, commit=snapshot.contents.commit + 1)

    def _checked_snapshot(self) -> Snapshot:
        """The lock protects among minirags on one machine; this finds out whoever wrote in spite of it."""
        snapshot = self.snapshot
        if self._look() != self._stamp:
            raise IndexWriteError(
                self.path,
                "was changed by another process although this one holds its lock (was the .lock file deleted, or is "
                "this a network file system without locks?). Nothing was written; run it again",
            )
        return snapshot

    def _after_commit(self) -> None:
        held = self.snapshot
        with self._moving:
            newest = open_snapshot(self.path)
            newest.adopt(held)
            self._move(held, newest)

    def _rewrite(self, change: Change) -> None:
        write_base(self.path, self.read_all(change), change, commit=self.snapshot.contents.commit + 1)

    def _with_merged(self, change: Change) -> Change:
        """The change with as many appended segments merged into its data as belong together."""
        if change.data is None:
            return change
        count = len(self.snapshot.segments)
        sizes = [rows_of(segment.entry.counts) for segment in self.snapshot.segments[1:]]
        merged = range(count - count_to_merge(sizes, rows_of(change.data.counts())), count)
        parts = [self._alive(number, change) for number in merged]
        dead = {number: rows for number, rows in change.dead.items() if number not in merged}
        return replace(change, data=merge([*parts, change.data]), dead=dead, dropped=frozenset(merged))

    def _alive(self, number: int, change: Change) -> SegmentData:
        segment = self.snapshot.segments[number]
        dead = change.dead.get(number)
        if dead:
            segment = segment.with_dead(dead)
        return read_alive(segment, self._normalise)


def find_file(path: Path) -> Path:
    """Where the file lies, links followed, so that a commit replaces it and not the link.

    Raises:
        IndexFileError: When nobody can tell: no permission for its folder, too long a name, links in a circle.
    """
    try:
        return path.resolve() if path.is_symlink() else path.absolute()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or str(error)
        raise IndexFileError(path, f"cannot be reached: {reason}") from error


def is_there(path: Path) -> bool:
    """Whether there is anything where an index file would lie, links followed.

    Raises:
        IndexFileError: When nobody can tell, as for `find_file`.
    """
    found = find_file(path)
    try:
        return found.exists()
    except OSError as error:
        raise IndexFileError(path, f"cannot be reached: {error.strerror or error}") from error
