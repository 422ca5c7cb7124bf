"""Putting a new file in an old one's place, so that after a crash either the one or the other is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from minirag.errors import IndexWriteError


@contextmanager
def disk_errors(path: Path, *, kept: str, needed: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Turn the system's errors into minirag's.

    Args:
        path: What is written.
        kept: What is safe all the same; ends the message.
        needed: Tells how many bytes the write needs in all; 0 when that is not known.

    Raises:
        IndexWriteError: When the disk refuses.
    """
    try:
        yield
    except OSError as error:
        size = needed()
        needs = f" (needs {size:,} bytes)" if size else ""
        message = f"could not be written{needs}: {error.strerror or error}. {kept}"
        raise IndexWriteError(path, message, needed=size or None) from error


def write_all(file: IO[bytes], data: bytes | memoryview) -> None:
    """Write to an unbuffered file, which may take less at a time.

    Raises:
        OSError: When the disk refuses.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def replace_file(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Have a sibling of `path` written, and put it in its place. The caller holds the writer's lock.

    Args:
        path: May exist or not.
        write: Gets the unbuffered file, and syncs it at last.

    Raises:
        OSError: When the disk refuses; `path` is then as it was, and the sibling is gone.
    """
    sibling = sibling_of(path)
    sibling.unlink(missing_ok=True)  # of a process that was killed
    try:
        with sibling.open("xb", buffering=0) as file:
            write(file)
        _take_over(path, sibling)
        sibling.replace(path)
    except BaseException:
        with suppress(OSError):
            sibling.unlink()
        raise
    sync_folder(path.parent)


def sibling_of(path: Path) -> Path:
    """Where the new file is written."""
    return path.with_name(path.name + ".rewrite")


def _take_over(path: Path, sibling: Path) -> None:
    """The old file's permissions and, where that is allowed, its owner."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    sibling.chmod(status.st_mode & 0o777)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(sibling, status.st_uid, status.st_gid)


def sync_folder(folder: Path) -> None:
    """Make names that were created or replaced in a folder durable."""
    with suppress(OSError):  # Windows opens no folders; there the rename itself is what can be had
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
