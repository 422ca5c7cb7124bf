"""One writer at a time, across threads and processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from minirag.errors import IndexLockedError, IndexWriteError, InputError, OutputError


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


@contextmanager
def only_writer(path: Path, *, otherwise: str) -> Iterator[None]:
    """Keep other processes, and other runs of this one, from writing results that are no index; no lock file stays.

    Args:
        path: Of the results, a file or a folder.
        otherwise: What one may do in the place of waiting, for the error: "…, or give them another place".

    Raises:
        InputError: If somebody else writes it.
        OutputError: If nobody can.
    """
    with ExitStack() as locked:
        try:
            locked.enter_context(writer_lock(path))
        except IndexLockedError as error:
            who = "another run" if error.holder in (None, os.getpid()) else f"process {error.holder}"
            raise InputError(
                f"{path}: {who} is writing its results there. Wait until it is done, {otherwise}"
            ) from error
        except IndexWriteError as error:
            raise OutputError(path, f"cannot be written: {str(error).removeprefix(f'{path}: ')}") from error
        try:
            yield
        finally:  # while it is locked: who has opened the lock by now finds out that it is gone
            with suppress(OSError):
                path.with_name(f"{path.name}.lock").unlink()


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
