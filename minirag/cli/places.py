"""Whether what is read is there, and what is to be written can be: found out before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from minirag.errors import IndexFileError, IndexMissingError, InputError, OutputError
from minirag.output import check_file, check_folder
from minirag.storage.store import is_there
from minirag.wording import reason_of


def require_index(path: Path) -> None:
    """Check that there is an index, which opening it for writing would start.

    Raises:
        IndexMissingError: If there is none.
        IndexFileError: If nobody can tell.
    """
    if not is_there(path):
        raise IndexMissingError(path, f"there is no such file. Build it: minirag index PATHS --index {path}")


def require_index_place(path: Path, option: str) -> None:
    """Check that an index can be started where there is none; what there is tells when it is opened.

    Raises:
        click.UsageError: If it cannot.
    """
    with suppress(IndexFileError):  # what keeps us from seeing keeps us from writing, and is told below
        if is_there(path):
            return
    require_file(path, option)


def require_readable(path: Path) -> None:
    """Check that a file that the user named can be read.

    Raises:
        InputError: If it cannot.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error


def require_file(output: Path | None, option: str) -> None:
    """Check that a file that the user named can be written; - is standard output.

    Raises:
        click.UsageError: If it cannot.
    """
    if output is not None and str(output) != "-":
        _told(output, option, check_file)


def require_folder(output: Path, option: str) -> None:
    """Check that files can be written into a folder, which need not be there yet.

    Raises:
        click.UsageError: If they cannot.
    """
    _told(output, option, check_folder)


def _told(output: Path, option: str, check: Callable[[Path], None]) -> None:
    try:
        check(output)
    except OutputError as error:
        raise click.UsageError(f"{option} {error}") from error
