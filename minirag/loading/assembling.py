"""The text of a converted file, put together block by block, with the places of its blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from minirag.records import Place

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_NUMBER = re.compile(r"[-+]?[\d.,]+ ?[%€$£]?")
PARAGRAPH = "\n\n"


class Converted(NamedTuple):
    """What a file came to.

    Attributes:
        text: Blank if the file has none.
        title: The one that the file gives itself; may be empty.
        metadata: JSON values; `None` and empty ones are left out later.
        places: Where parts of the text stand in the file.
    """

    text: str
    title: str
    metadata: Mapping[str, Any]
    places: tuple[Place, ...]


class Assembly:
    """Text that grows by blocks, each at its place in the source."""

    def __init__(self) -> None:
        """It is empty."""
        self._parts: list[str] = []
        self._length = 0
        self._places: list[Place] = []

    def add(
        self, text: str, *, unit: str = "", number: int = 0, headings: Sequence[str] = (), gap: str = PARAGRAPH
    ) -> None:
        """Append a block, after a gap, if it is not blank; the rest is what its `Place` says."""
        text = _UNPRINTABLE.sub("", text).translate(_LIGATURES).strip()
        if not text:
            return
        if self._parts:
            self._append(gap)
        last = self._places[-1] if self._places else Place(0)
        if (unit, number, tuple(headings)) != (last.unit, last.number, last.headings):
            self._places.append(Place(self._length, unit, number, tuple(headings)))
        self._append(text)

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def finish(self, *, title: str = "", **metadata: Any) -> Converted:  # noqa: ANN401  JSON values
        """All of it."""
        return Converted("".join(self._parts), " ".join(title.split()), metadata, tuple(self._places))


class Outline:
    """The headings that the reading has come to, the outermost first."""

    def __init__(self, *, title: str = "") -> None:
        """Keep the document's title, which is no heading of its parts."""
        self._title = " ".join(title.split())
        self._stack: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> None:
        """A heading begins; it ends those of its level and below."""
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._stack.append((level, " ".join(heading.split())))

    @property
    def path(self) -> tuple[str, ...]:
        """Those in force."""
        return tuple(heading for _, heading in self._stack if heading and heading != self._title)


def table_lines(rows: Iterable[Sequence[str]]) -> list[tuple[int, str]]:
    """A table's rows as lines that stand alone, with their numbers from 1: "Film: Aylwin; Year: 1920".

    The first row names the columns if all of its cells are different words; else cells are only put side by side.
    Blank rows and cells are left out.
    """
    filled = [
        (number, [" ".join(cell.split()) for cell in row])
        for number, row in enumerate(rows, start=1)
        if any(cell.strip() for cell in row)
    ]
    names = _column_names(filled[0][1]) if len(filled) > 1 else []
    if not names:
        return [(number, " | ".join(cell for cell in row if cell)) for number, row in filled]
    return [(number, _named_cells(names, row)) for number, row in filled[1:]]


def _column_names(row: Sequence[str]) -> list[str]:
    while row and not row[-1]:
        row = row[:-1]
    words = len(row) > 1 and len(set(row)) == len(row) and all(cell and not _NUMBER.fullmatch(cell) for cell in row)
    return [cell.rstrip(":") for cell in row] if words else []


def _named_cells(names: Sequence[str], row: Sequence[str]) -> str:
    named = [f"{name}: {cell}" for name, cell in zip(names, row, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in row[len(names) :] if cell)])
