"""One writer at a time, across threads and processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from minirag.errors import IndexLockedError, IndexWriteError


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Hold the writer's lock of an index file, `<name>.lock` beside it. A dead process holds none.

    The lock's file stays beside the index; where no index came about, it goes. It goes while the lock is held, and who
    had opened it by then finds out that it is gone (filelock looks at its count of links).

    Raises:
        IndexLockedError: At once, when somebody else holds it.
        IndexWriteError: When the folder is gone or cannot be written, or its file system has no locks.
    """
    if not path.parent.is_dir():  # the lock would make it anew
        raise IndexWriteError(path, f"its folder {path.parent} is gone")
    beside = path.with_name(path.name + ".lock")
    lock = FileLock(beside, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        _check_folder(path, beside)
        raise IndexLockedError(path, _holder(beside)) from error
    except (OSError, NotImplementedError) as error:
        _check_folder(path, beside)
        reason = getattr(error, "strerror", None) or str(error)
        raise IndexWriteError(path, f"no lock for writing can be had in {path.parent}: {reason}") from error
    try:
        with suppress(OSError):  # only tells others who holds it; Windows may refuse while it is locked
            beside.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        if not path.exists():
            with suppress(OSError):  # Windows takes it away by itself, once it is released
                beside.unlink()
        lock.release()


def _check_folder(path: Path, beside: Path) -> None:
    """Find out whether the lock is not had because no file can be: some systems tell that as if it were held.

    Raises:
        IndexWriteError: If it is so.
    """
    if beside.exists():  # opening and closing it could let go of a lock of this process
        return
    try:
        with beside.open("ab"):
            pass
    except OSError as error:
        remedy = "Give the index another place, or open it with mode='r' to read"
        message = f"its folder {path.parent} cannot be written: {error.strerror or error}. {remedy}"
        raise IndexWriteError(path, message) from error


def _holder(lock_file: Path) -> int | None:
    try:
        return int(lock_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
