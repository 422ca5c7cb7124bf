"""Replies that were paid for and are not committed yet: kept beside the index until a commit holds them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import xxhash

from minirag.storage.replacing import disk_errors, replace_file, sync_folder, write_all

_SYNC_EVERY = 16  # replies
_SYNC_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Kept:
    reply: Any
    documents: tuple[str, ...]
    note: Any = None


class Journal:
    """`<name>.replies` beside the index: one line a reply, each with its own checksum.

    A line is with the operating system as soon as `put` returns, so a killed process loses none, and on the disk
    after 16 replies or a second, so a lost machine loses few. A torn line is ignored. The caller holds the writer's
    lock.

    Attributes:
        path: The file.
        notes: What interrupted runs noted beside their replies.
    """

    def __init__(self, index_path: Path, *, note: Callable[[], Any] = lambda: None) -> None:
        """Read what an interrupted run left; nothing is created before the first `put`.

        Args:
            index_path: Of the index beside which it lies.
            note: Asked at each `put` for JSON values that are kept with the reply, such as what was spent so far: a
                run that is killed tells nobody.
        """
        self.path = _path(index_path)
        self._kept = _read(self.path)
        self.notes = [kept.note for kept in self._kept.values() if kept.note is not None]
        self._note = note
        self._used: set[str] = set()
        self._file: IO[bytes] | None = None
        self._unsynced = 0
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._refused: OSError | None = None

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, and keep it."""
        self.close()

    def __len__(self) -> int:
        """How many replies it keeps."""
        return len(self._kept)

    @property
    def unsynced(self) -> int:
        """How many replies the operating system has, but perhaps not the disk."""
        return self._unsynced

    def get(self, key: str) -> Any:  # noqa: ANN401  a reply is whatever JSON holds
        """The reply kept under a key, or None."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._used.add(key)
        return kept.reply

    def put(self, key: str, reply: Any, *, documents: Collection[str] = ()) -> None:  # noqa: ANN401
        """Keep a reply.

        Args:
            key: The same question gives the same key.
            reply: JSON values.
            documents: Ids of the documents that the reply tells of: it goes when they do.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        kept = _Kept(reply, tuple(documents), self._note())
        line = _line(key, kept)
        with self._lock, self._disk_errors(len(line)):
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
                sync_folder(self.path.parent)
            write_all(self._file, line)
            self._kept[key] = kept
            self._used.add(key)
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                self._sync()
            elif self._timer is None:
                self._timer = threading.Timer(_SYNC_SECONDS, self._sync_in_time)
                self._timer.daemon = True
                self._timer.start()

    def settle(self, documents: Iterable[str], *, failed: Collection[str] = ()) -> None:
        """After the commit that ends a run: forget the replies that it used, and all that tell of these documents.

        What a run that was killed left for other documents stays for the next one, as does what tells of documents that
        `failed` as a whole, so that no commit holds it.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        self.close()
        done, undone = set(documents), set(failed)
        before = len(self._kept)
        self._kept = {
            key: kept
            for key, kept in self._kept.items()
            if (key not in self._used and done.isdisjoint(kept.documents)) or not undone.isdisjoint(kept.documents)
        }
        lines = [_line(key, kept) for key, kept in self._kept.items()]
        with self._disk_errors(sum(map(len, lines))):
            if not lines:
                self.path.unlink(missing_ok=True)
            elif len(lines) < before:
                replace_file(self.path, lambda file: _write_synced(file, lines))

    def close(self) -> None:
        """Sync and close; the next run reads it again.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        with self._lock, self._disk_errors(0):
            if self._file is not None:
                try:
                    self._sync()
                finally:
                    file, self._file = self._file, None
                    file.close()

    def _sync(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._refused is not None:
            refused, self._refused = self._refused, None
            raise refused
        if self._file is not None and self._unsynced:
            os.fsync(self._file.fileno())
            self._unsynced = 0

    def _sync_in_time(self) -> None:
        """On the timer's thread, where nobody would hear of an error: the next `put` or `close` raises it."""
        with self._lock:
            self._timer = None
            try:
                self._sync()
            except OSError as error:
                self._refused = error

    def _disk_errors(self, needed: int) -> AbstractContextManager[None]:
        kept = "The replies that it holds already are kept, and so is the index's last commit"
        return disk_errors(self.path, kept=kept, needed=lambda: needed)


class KeptReplies(Journal):
    """What a journal keeps, for a rehearsal: nothing is added, and no lock needed."""

    def put(self, key: str, reply: Any, *, documents: Collection[str] = ()) -> None:  # noqa: ANN401
        """Let it go."""


def keeps_replies(index_path: Path) -> bool:
    """Whether there are any beside an index; links are not followed."""
    return bool(_read(_path(index_path)))


def _path(index_path: Path) -> Path:
    return index_path.with_name(index_path.name + ".replies")


def _line(key: str, kept: _Kept) -> bytes:
    """Begins with the line break, so that it also ends a torn line before it."""
    values = [key, kept.reply, list(kept.documents), *([] if kept.note is None else [kept.note])]
    body = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    encoded = body.encode("utf-8", "surrogatepass")
    return b"\n" + xxhash.xxh3_64_hexdigest(encoded).encode() + b" " + encoded


def _write_synced(file: IO[bytes], lines: Iterable[bytes]) -> None:
    for line in lines:
        write_all(file, line)
    os.fsync(file.fileno())


def _read(path: Path) -> dict[str, _Kept]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    found = {}
    for line in content.split(b"\n"):
        digest, _, body = line.partition(b" ")
        if body and digest == xxhash.xxh3_64_hexdigest(body).encode():
            key, reply, documents, *note = json.loads(body.decode("utf-8", "surrogatepass"))
            found[key] = _Kept(reply, tuple(documents), *note)
    return found
