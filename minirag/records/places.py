"""Where in its source a stretch of a document's text stands: a page, a slide, rows of a sheet, below which headings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """What holds from one character of a text to the next place, or to the end.

    Attributes:
        start: The first character.
        unit: What the source is counted in: "page", "slide", "row"; empty where it is not.
        number: Of the page, slide or row, from 1.
        headings: Those that it stands below, the outermost first; the document's title is none of them.
    """

    start: int
    unit: str = ""
    number: int = 0
    headings: tuple[str, ...] = ()


def location_of(places: Sequence[Place], start: int, end: int) -> str:
    """Where a stretch stands, for people: "page 3", "pages 3–4", "Install > Linux", "Sales, rows 2–9"; or nothing."""
    covered = _between(places, start, end)
    if not covered:
        return ""
    first, last = covered[0], covered[-1]
    if first.unit != last.unit or last.number < first.number:
        return f"{_described(first, first)} – {_described(last, last)}"
    return _described(first, last)


def headings_above(places: Sequence[Place], start: int, text: str) -> tuple[str, ...]:
    """The headings that a stretch stands below as a whole, without one that it begins with itself.

    Args:
        places: Of its document.
        start: Its first character.
        text: Itself.
    """
    covered = _between(places, start, start + len(text))
    if not covered:
        return ()
    shared = _shared(covered)
    own = covered[0].headings
    begins = bool(own) and text.lstrip("# ").startswith(own[-1])
    return shared[:-1] if begins and shared == own else shared


def titled(title: str, headings: Sequence[str]) -> str:
    """A title with the headings below it, in one line."""
    return " > ".join(part for part in (title, *headings) if part)


def heading_starts(places: Iterable[Place]) -> list[int]:
    """Where a stretch begins that stands below other headings than the one before it."""
    return [next(iter(group)).start for _, group in groupby(places, key=lambda place: place.headings)]


def places_to_json(places: Iterable[Place]) -> list[Any]:
    """As stored: [unit, headings, [[start, number], …]] for each run of places that have these in common."""
    runs = groupby(places, key=lambda place: (place.unit, place.headings))
    return [[unit, list(headings), [[p.start, p.number] for p in run]] for (unit, headings), run in runs]


def places_from_json(value: Iterable[Any]) -> tuple[Place, ...]:
    """What `places_to_json` made, as it was."""
    return tuple(Place(start, unit, number, tuple(headings)) for unit, headings, run in value for start, number in run)


def _between(places: Sequence[Place], start: int, end: int) -> Sequence[Place]:
    """Those that a stretch overlaps; before the first one there are neither pages nor headings."""
    first, after = (bisect_right(places, at, key=lambda place: place.start) for at in (start, max(start, end - 1)))
    return places[first - 1 : after] if first else (Place(0), *places[:after]) if after else ()


def _shared(places: Sequence[Place]) -> tuple[str, ...]:
    levels = zip(*(place.headings for place in places), strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _described(first: Place, last: Place) -> str:
    if not first.unit:
        return " > ".join(_shared([first, last]) or first.headings)
    numbers = f" {first.number}" if first.number == last.number else f"s {first.number}–{last.number}"
    return ", ".join(part for part in (" > ".join(_shared([first, last])), f"{first.unit}{numbers}") if part)
