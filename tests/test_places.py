from __future__ import annotations

import json

import pytest

from minirag.records import Place
from minirag.records.places import (
    heading_starts,
    headings_above,
    location_of,
    places_from_json,
    places_to_json,
    titled,
)

PAGES = (Place(0, "page", 1), Place(100, "page", 2), Place(200, "page", 4))
GUIDE = (
    Place(10, headings=("Install",)),
    Place(50, headings=("Install", "Linux")),
    Place(90, headings=("Install", "Windows")),
    Place(150, headings=("Use",)),
)
SHEETS = (Place(0, "row", 2, ("Films",)), Place(40, "row", 5, ("Films",)), Place(80, "row", 1, ("People",)))


@pytest.mark.parametrize(
    ("places", "start", "end", "location"),
    [
        ((), 0, 10, ""),
        (PAGES, 0, 100, "page 1"),
        (PAGES, 0, 101, "pages 1–2"),
        (PAGES, 99, 100, "page 1"),
        (PAGES, 150, 400, "pages 2–4"),
        (PAGES, 250, 250, "page 4"),
        (GUIDE, 10, 40, "Install"),
        (GUIDE, 60, 80, "Install > Linux"),
        (GUIDE, 60, 140, "Install"),
        (GUIDE, 120, 200, "Install > Windows"),
        (GUIDE, 0, 20, ""),
        (GUIDE, 0, 5, ""),
        (SHEETS, 0, 30, "Films, row 2"),
        (SHEETS, 0, 60, "Films, rows 2–5"),
        (SHEETS, 50, 99, "Films, row 5 – People, row 1"),
    ],
)
def test_location_for_people(places: tuple[Place, ...], start: int, end: int, location: str) -> None:
    assert location_of(places, start, end) == location


@pytest.mark.parametrize(
    ("start", "text", "headings"),
    [
        (0, "Before all.", ()),
        (10, "## Install\n\nTake it.", ()),
        (60, "continued", ("Install", "Linux")),
        (50, "### Linux\n\nRun.", ("Install",)),
        (50, "Linux is" + " long" * 10, ("Install",)),
        (60, "continued" + " on" * 20, ("Install",)),
        (120, "continued" + " on" * 20, ()),
    ],
)
def test_headings_are_context_where_the_text_does_not_have_them(
    start: int, text: str, headings: tuple[str, ...]
) -> None:
    assert headings_above(GUIDE, start, text) == headings


def test_sections_begin_where_headings_change() -> None:
    assert heading_starts(GUIDE) == [10, 50, 90, 150]
    assert heading_starts(PAGES) == [0]


def test_titles_and_headings_in_one_line() -> None:
    assert titled("Guide", ("Install", "Linux")) == "Guide > Install > Linux"
    assert titled("", ("Install",)) == "Install"
    assert titled("", ()) == ""


@pytest.mark.parametrize("places", [(), PAGES, GUIDE, SHEETS, (*PAGES, *GUIDE)])
def test_stored_and_read(places: tuple[Place, ...]) -> None:
    assert places_from_json(json.loads(json.dumps(places_to_json(places)))) == places


def test_many_pages_are_stored_shortly() -> None:
    places = [Place(number * 2000, "page", number + 1) for number in range(1000)]
    assert len(json.dumps(places_to_json(places), separators=(",", ":"))) < 14_000
