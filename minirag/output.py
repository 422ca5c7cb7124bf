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
        raise OutputError(path, f"could not be written: {getattr(error, 'strerror', None) or error}") from error


def check_not_over(target: Target, path: Path) -> None:
    """Make sure that writing to a target would not overwrite the file that is read.

    Raises:
        ValueError: When both are one file.
    """
    if isinstance(target, str | os.PathLike) and Path(target).exists() and path.exists() and path.samefile(target):
        raise ValueError(f"{target} is the index itself; write to another file")


def _replace(path: Path, write: Write) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
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
