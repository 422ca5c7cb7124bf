"""Taking away an index file that was started and that nothing came into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minirag.errors import MiniragError
from minirag.storage.accounts import usage_in
from minirag.storage.lock import writer_lock
from minirag.storage.snapshot import open_snapshot
from minirag.storage.store import find_file, is_there


@contextmanager
def leaving_nothing_empty(path: Path) -> Iterator[Callable[[], bool]]:
    """When what is done inside fails, take away the file if it was started inside and holds nothing.

    A file with a document, or with an account of calls that were paid for, stays; so does one that somebody else is
    writing, and one that was there before.

    Yields:
        Whether the file would be taken away if it failed now.

    Raises:
        IndexFileError: When nobody can tell whether the file is there.
    """
    was_there = is_there(path)
    path = find_file(path)  # a link that leads to no file yet stays

    def would_go() -> bool:
        return not was_there and _holds_nothing(path)

    try:
        yield would_go
    except BaseException:
        with suppress(MiniragError, OSError):  # the user must hear of what failed, not of what that left
            if would_go():
                _discard(path)
        raise


def _holds_nothing(path: Path) -> bool:
    snapshot = open_snapshot(path)
    return not (snapshot.count("documents") or usage_in(snapshot.header).calls)


def _discard(path: Path) -> None:
    with writer_lock(path):
        if _holds_nothing(path):
            path.unlink()
