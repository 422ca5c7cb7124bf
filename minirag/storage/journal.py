"""Replies that were paid for and are not committed yet: kept beside the index until a commit holds them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import xxhash

from minirag.errors import IndexWriteError

_SYNC_EVERY = 16  # replies
_SYNC_SECONDS = 1.0


class Journal:
    """`<name>.replies` beside the index: one line a reply, each with its own checksum.

    A line is with the operating system as soon as `put` returns, so a killed process loses none, and on the disk
    after 16 replies or a second of them, so a lost machine loses few. A torn last line is ignored.
    """

    def __init__(self, index_path: Path) -> None:
        """Read what an interrupted run left; nothing is created before the first `put`."""
        self.path = index_path.with_name(index_path.name + ".replies")
        self._replies = _read(self.path)
        self._file: IO[bytes] | None = None
        self._unsynced = 0
        self._synced_at = time.monotonic()

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, and keep it."""
        self.close()

    def get(self, key: str) -> Any:  # noqa: ANN401  a reply is whatever JSON holds
        """The reply kept under a key, or None."""
        return self._replies.get(key)

    def put(self, key: str, reply: Any) -> None:  # noqa: ANN401
        """Keep a reply.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        self._replies[key] = reply
        body = json.dumps([key, reply], ensure_ascii=False, separators=(",", ":")).encode()
        line = xxhash.xxh3_64_hexdigest(body).encode() + b" " + body + b"\n"
        try:
            if self._file is None:
                self._file = self.path.open("ab")
                if self._file.tell():
                    self._file.write(b"\n")  # ends a torn line
            self._file.write(line)
            self._file.flush()
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY or time.monotonic() - self._synced_at > _SYNC_SECONDS:
                self._sync(self._file)
        except OSError as error:
            raise IndexWriteError(
                self.path,
                f"could not be written: {error.strerror or error}. What it holds already is kept",
                needed=len(line),
            ) from error

    def _sync(self, file: IO[bytes]) -> None:
        os.fsync(file.fileno())
        self._unsynced, self._synced_at = 0, time.monotonic()

    def close(self) -> None:
        """Sync and close; the next run reads it again."""
        if self._file is not None:
            file, self._file = self._file, None
            with file:
                self._sync(file)

    def clear(self) -> None:
        """Delete it: a commit holds everything."""
        self.close()
        self._replies = {}
        self.path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    replies = {}
    for line in content.split(b"\n"):
        digest, _, body = line.partition(b" ")
        if body and digest == xxhash.xxh3_64_hexdigest(body).encode():
            key, reply = json.loads(body)
            replies[key] = reply
    return replies
