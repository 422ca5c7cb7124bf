from __future__ import annotations

import pytest

from minirag.loading.assembling import Assembly, Outline, table_lines
from minirag.records import Place


def test_blocks_with_their_places() -> None:
    assembly = Assembly()
    assembly.add("  First. ", unit="page", number=1)
    assembly.add(" \n")
    assembly.add("Second.", unit="page", number=1, gap="\n")
    assembly.add("The \ufb01lm\x00\ufffe.", unit="page", number=3)
    found = assembly.finish(title=" A\n title ", author="Ann")
    assert found.text == "First.\nSecond.\n\nThe film."
    assert found.places == (Place(0, "page", 1), Place(16, "page", 3))
    assert (found.title, found.metadata) == ("A title", {"author": "Ann"})


def test_text_without_places_has_none() -> None:
    assembly = Assembly()
    assembly.add("One.")
    assembly.add("Two.", headings=("H",))
    assembly.add("Three.")
    assert assembly.finish().places == (Place(6, headings=("H",)), Place(12))


def test_an_outline_leaves_what_a_heading_ends() -> None:
    outline = Outline(title="Guide")
    paths = []
    for level, heading in ((1, "Guide"), (2, "Install"), (4, "Linux"), (3, "Mac"), (2, "Use"), (1, "Other")):
        outline.enter(level, heading)
        paths.append(outline.path)
    assert paths == [(), ("Install",), ("Install", "Linux"), ("Install", "Mac"), ("Use",), ("Other",)]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([], []),
        ([["Film", "Year"]], [(1, "Film | Year")]),
        ([["Film:", "Year"], ["Aylwin", "1920"]], [(2, "Film: Aylwin; Year: 1920")]),
        ([["", ""], ["Film", "Year"], ["", " "], ["A\nB", ""]], [(4, "Film: A B")]),
        ([["Film", "Year", ""], ["Aylwin", "1920", "lost"]], [(2, "Film: Aylwin; Year: 1920; lost")]),
        ([["Aylwin", "1920"], ["Nero", "1922"]], [(1, "Aylwin | 1920"), (2, "Nero | 1922")]),
        ([["a", "a"], ["b", "c"]], [(1, "a | a"), (2, "b | c")]),
        ([["Only"], ["one"]], [(1, "Only"), (2, "one")]),
    ],
)
def test_rows_of_tables_stand_alone(rows: list[list[str]], lines: list[tuple[int, str]]) -> None:
    assert table_lines(rows) == lines
