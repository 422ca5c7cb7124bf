from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from minirag.records import Place
from tests.converted import only, reason
from tests.extras import need

pytestmark = pytest.mark.extra
openpyxl = need("openpyxl")


def test_rows_of_sheets_stand_alone(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    films, people, hidden = book.active, book.create_sheet("People"), book.create_sheet("Hidden")
    films.title = "Films"
    for row in (["Film", "Year", "Shown"], ["Aylwin", 1920.0, datetime.date(1920, 8, 1)], [None], ["Nero", 1.5, None]):
        films.append(row)
    people.append(["Name", "Born"])
    people.append(["Henry Edwards", datetime.datetime(1882, 9, 18, 7, 30)])
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")

    found = only(tmp_path / "a.xlsx")
    assert found.text == (
        "Films\nFilm: Aylwin; Year: 1920; Shown: 1920-08-01\nFilm: Nero; Year: 1.5\n\n"
        "People\nName: Henry Edwards; Born: 1882-09-18 07:30:00"
    )
    films_at, people_at = ("Films",), ("People",)
    assert [(place.unit, place.number, place.headings) for place in found.places] == [
        ("row", 2, films_at),
        ("row", 4, films_at),
        ("row", 2, people_at),
    ]
    assert (found.metadata["sheets"], "author" in found.metadata) == (2, False)


def test_one_sheet_needs_no_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["just", 1])
    book.save(tmp_path / "a.xlsx")
    found = only(tmp_path / "a.xlsx")
    assert (found.text, found.places) == ("just | 1", (Place(0, "row", 1),))
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    assert reason(tmp_path / "a.xlsx") == "has no text"
