"""Taking away an index file that was started and that nothing came into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minirag.errors import MiniragError
from minirag.storage.accounts import usage_in
from minirag.storage.lock import writer_lock
from minirag.storage.snapshot import open_snapshot


@contextmanager
def leaving_nothing_empty(path: Path) -> Iterator[None]:
    """When what is done inside fails, take away the file if it was started inside and holds nothing.

    A file with a document, or with an account of calls that were paid for, stays; so does one that somebody else is
    writing, and one that was there before.
    """
    was_there = path.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            with suppress(MiniragError, OSError):  # the user must hear of what failed, not of what that left
                _discard(path)
        raise


def _discard(path: Path) -> None:
    with writer_lock(path):
        snapshot = open_snapshot(path)
        is_empty = not (snapshot.count("documents") or usage_in(snapshot.header).calls)
        del snapshot  # Windows keeps a mapped file
        if is_empty:
            path.unlink()
