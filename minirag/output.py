"""Files that are written for people: there whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

from minirag.errors import OutputError

Target: TypeAlias = str | os.PathLike[str] | IO[bytes]
Write = Callable[[IO[bytes]], None]


def write_whole(target: Target, write: Write) -> None:
    """Have something written.

    Args:
        target: A path, whose file is replaced once the new one is whole and on the disk; or an open binary file, a pipe
            or a device, which gets the bytes as they come.
        write: Gets the file.

    Raises:
        OutputError: When the disk refuses; the file is then as it was.
    """
    if not isinstance(target, str | os.PathLike):
        write(target)
        return
    path = Path(target)
    try:
        place = path.resolve()
        if place.exists() and not place.is_file():
            with place.open("wb") as file:
                write(file)
        else:
            _replace(place, write)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise _refused(path, error) from error


def write_text(target: Target, text: str) -> None:
    r"""Write a text as UTF-8; what that cannot hold is written out, as `\udce9`.

    Raises:
        OutputError: As `write_whole` raises it.
    """

    def write(file: IO[bytes]) -> None:
        file.write(text.encode("utf-8", "backslashreplace"))

    write_whole(target, write)


def check_file(path: Path) -> None:
    """Find out, before the work whose result it is to hold, whether `write_whole` can write a file.

    Raises:
        OutputError: When it cannot; nothing is left there in any case.
    """
    try:
        place = path.resolve()
        if place.is_dir():
            raise OutputError(path, "is a folder, not a file")
        if not place.parent.is_dir():
            raise OutputError(path, f"there is no folder {path.parent}")
        if not place.exists():
            place.open("xb").close()
            place.unlink()
        elif place.is_file():
            _try_beside(place)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise _refused(path, error) from error


def check_folder(path: Path) -> None:
    """Find out, before the work whose results it is to hold, whether files can be written into a folder.

    Args:
        path: The folder; it and those above it need not be there, and are then not there afterwards either.

    Raises:
        OutputError: When they cannot.
    """
    made: list[Path] = []
    try:
        if path.exists() and not path.is_dir():
            raise OutputError(path, "is a file, not a folder")
        for folder in reversed([path, *path.parents]):
            if not folder.is_dir():
                folder.mkdir()
                made.append(folder)
        _try_beside(path / "file")
    except (OSError, RuntimeError) as error:
        raise _refused(path, error) from error
    finally:
        with suppress(OSError):
            for folder in reversed(made):
                folder.rmdir()


def check_not_over(target: Target, path: Path) -> None:
    """Make sure that writing to a target would not overwrite the file that is read.

    Raises:
        ValueError: When both are one file.
        OutputError: When nobody can tell.
    """
    if isinstance(target, str | os.PathLike) and is_one_file(Path(target), path):
        raise ValueError(f"{target} is the index itself; write to another file")


def is_one_file(target: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there yet.

    Raises:
        OutputError: When nobody can tell; it names the first.
    """
    try:
        if target.exists() and other.exists():
            return target.samefile(other)
        return target.resolve() == other.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise _refused(target, error) from error


def _replace(path: Path, write: Write) -> None:
    beside = _beside(path)
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _try_beside(path: Path) -> None:
    beside = _beside(path)
    beside.open("xb").close()
    beside.unlink()


def _beside(path: Path) -> Path:
    """A new file in the same folder. Names have at most 255 bytes, so of a long one only the beginning is taken."""
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}")


def _refused(path: Path, error: Exception) -> OutputError:
    return OutputError(path, f"could not be written: {getattr(error, 'strerror', None) or error}")
