"""Whether what is read is there, and what is to be written can be: found out before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import click

from minirag.errors import IndexFileError, IndexMissingError, InputError, OutputError
from minirag.output import check_file, check_folder, is_one_file
from minirag.storage.store import is_there
from minirag.wording import reason_of

_BESIDE = (".lock", ".replies", ".vectors", ".rewrite")  # files of an index, see `minirag.storage`


def index_files(path: Path) -> dict[Path, str]:
    """An index and what storage keeps beside it, and what each of them is, for `require_apart`."""
    return {path: "the index", **{path.with_name(path.name + ending): "a file of the index" for ending in _BESIDE}}


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
    _refuse_dash(path, option)
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


def require_file(output: Path | None, option: str, *, dash: bool = False) -> None:
    """Check that a file that the user named can be written.

    Args:
        output: The file; None for none.
        option: By which it was named.
        dash: Whether - is standard output.

    Raises:
        click.UsageError: If it cannot.
    """
    if output is None or (dash and str(output) == "-"):
        return
    _refuse_dash(output, option)
    _told(output, option, check_file)


def require_apart(written: Iterable[tuple[str, Path | None]], kept: Mapping[Path, str]) -> None:
    """Check that files which are written overwrite neither what must stay nor each other.

    Args:
        written: By option; standard output and None are passed over.
        kept: What each file that must stay is, in words.

    Raises:
        click.UsageError: If one would.
    """
    known = dict(kept)
    for option, path in written:
        if path is None or str(path) == "-":
            continue
        for other, what in known.items():
            if is_one_file(path, other):
                raise click.UsageError(f"{option} {path} is {what}, and would overwrite it; give another file")
        known[path] = f"also what {option} writes"


def require_folder(output: Path, option: str) -> None:
    """Check that files can be written into a folder, which need not be there yet.

    Raises:
        click.UsageError: If they cannot.
    """
    _told(output, option, check_folder)


def _refuse_dash(path: Path, option: str) -> None:
    if str(path) == "-":
        raise click.UsageError(f"{option} -: this is written to a file alone; name one")


def _told(output: Path, option: str, check: Callable[[Path], None]) -> None:
    try:
        check(output)
    except OutputError as error:
        raise click.UsageError(f"{option} {error}") from error
