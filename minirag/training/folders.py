"""Folders of files that belong together, and are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minirag.errors import OutputError
from minirag.storage.replacing import sync_folder

_FRESH = ".new"


@contextmanager
def written_whole(folder: Path, *, last: str) -> Iterator[Path]:
    """A folder to write files into, which take their places in `folder` once all of them are written.

    Args:
        folder: Made if it is not there; what else lies in it stays.
        last: The file that is there only while all others of the same making are: it goes first, and comes last.

    Raises:
        OutputError: When the disk refuses.
    """
    fresh = folder / _FRESH
    try:
        if fresh.exists():  # of a process that was killed
            shutil.rmtree(fresh)
        fresh.mkdir(parents=True)
        yield fresh
        paths = sorted(fresh.iterdir(), key=lambda path: path.name == last)
        for path in paths:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        (folder / last).unlink(missing_ok=True)
        for path in paths:
            path.replace(folder / path.name)
        sync_folder(folder)
    except OSError as error:
        raise OutputError(folder, f"could not be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
