"""Which numbers a text has that its sources have not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.reasoner.numbers import foreign_numbers

SAME = [
    ("1920", "1,920"),
    ("1,920", "1920"),
    ("1.200.000", "1 200 000"),
    ("1 200 000", "1.2 million"),
    ("1.2 million", "1,200,000 people"),
    ("$5m", "5 million dollars"),
    ("5,000", "5k"),
    ("in ١٩٢٠", "in 1920"),
    ("１９２０年", "1920年"),
    ("१९२०", "1920"),
    ("died in 1918", "1914–18"),
    ("1914–18", "from 1914 to 1918"),
    ("2019/20", "2019-20"),
    ("1920-05-03", "on 3 May 1920"),
    ("3 May 1920", "1920-05-03"),
    ("05", "5"),
    ("25 years", "twenty-five years"),
    ("12 books", "a dozen books"),
    ("the 20th century", "the twentieth century"),
    ("the 3rd", "the third"),
    ("3,5 km", "3.5 km"),
    ("the 1920s", "1920"),
    ("5:4", "5-4"),
    ("in 1921 3 books", "3 books in 1921"),
    ("no number", "1920"),
]


@pytest.mark.parametrize(("text", "source"), SAME)
def test_the_same_number_in_other_clothes(text: str, source: str) -> None:
    assert foreign_numbers(text, [source]) == ()


@pytest.mark.parametrize(
    ("text", "sources", "foreign"),
    [
        ("born in 1999", ["born in 1921"], ("1999",)),
        ("born in 1999, died in 1999", [], ("1999",)),
        ("1999 and 12", ["1921"], ("1999", "12")),
        ("born in 1921", ["born in 192", "1"], ("1921",)),
        ("1.3 million", ["1.2 million"], ("1.3",)),
        ("1914–19", ["1914–18"], ("1914-19",)),
        ("١٩٩٩", ["١٩٢١"], ("1999",)),
        ("34 years old", ["born in 1887, published in 1921"], ("34",)),
    ],
)
def test_foreign_numbers(text: str, sources: list[str], foreign: tuple[str, ...]) -> None:
    assert foreign_numbers(text, sources) == foreign


@given(st.text())
def test_a_text_has_no_number_that_itself_has_not(text: str) -> None:
    assert foreign_numbers(text, [text]) == ()


@given(st.integers(100, 10**9), st.text(st.characters(categories=["L", "Zs"])))
def test_a_number_is_foreign_to_what_has_none(number: int, source: str) -> None:
    assert foreign_numbers(f"It is {number}.", [source]) == (str(number),)
