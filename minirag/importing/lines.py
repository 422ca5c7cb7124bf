"""Lines of a file with their numbers, one at a time, and errors that name them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from minirag.errors import InputError

_MARK = b"\xef\xbb\xbf"


class Lines:
    """The lines of a file.

    Attributes:
        number: Of the line that was read last, from 1.
        keeps_blank: Whether blank lines are given too.
    """

    def __init__(self, name: str, file: IO[bytes]) -> None:
        """Read the first line, so that it can be looked at."""
        self._name = name
        self._file = iter(file)
        self._ahead: tuple[int, str] | None = None
        self.number = 0
        self.keeps_blank = False
        self._ahead = self._next()
        if self._ahead is None:
            raise InputError(f"{name}: is empty")

    def __iter__(self) -> Iterator[str]:
        """Each line without its line break; `number` is then its own."""
        while self._ahead is not None:
            number, line = self._ahead
            self._ahead = None
            self.number = number
            yield line
            self._ahead = self._next()

    @property
    def first(self) -> str:
        """The line that comes next, unread."""
        return self._ahead[1] if self._ahead is not None else ""

    def _next(self) -> tuple[int, str] | None:
        for raw in self._file:
            self.number += 1
            content = raw.removeprefix(_MARK) if self.number == 1 else raw
            try:
                line = content.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                self.fail(f"is not UTF-8: byte 0x{content[error.start]:02X}. Convert it to UTF-8")
            if self.keeps_blank or line.strip():
                return self.number, line
        return None

    def fail(self, message: str) -> NoReturn:
        """End the import.

        Raises:
            InputError: Always; it names the line that was read last.
        """
        raise InputError(f"{self._name}:{self.number}: {message}. Nothing was imported")

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Put the line that was read last in front of what is wrong with it."""
        try:
            yield
        except InputError as error:
            raise InputError(f"{self._name}:{self.number}: {error}. Nothing was imported") from error


def parsed(lines: Lines, line: str) -> dict[str, Any]:
    """A line that must hold a JSON object.

    Raises:
        InputError: When it does not.
    """
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        lines.fail(f"is not JSON: {error.msg} (column {error.colno})")
    except (ValueError, RecursionError) as error:
        lines.fail(f"is JSON that cannot be read: {error}")
    if not isinstance(value, dict):
        lines.fail("is no JSON object")
    return value


@contextmanager
def opened(source: str | os.PathLike[str] | IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """The file to read, with its name.

    Raises:
        InputError: When it cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        yield str(getattr(source, "name", "source")), source
        return
    path = Path(source)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    with file:
        yield str(path), file
