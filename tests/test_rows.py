from __future__ import annotations

import pytest

from minirag.reasoner.questions import read_question
from minirag.reasoner.quoting import quote_answer
from minirag.reasoner.rows import Cell, answer_from_row, cells_of
from minirag.records import ContextItem

ADA = "name: Ada Brell; born in: Oslo, Norway; job: painter; year: 1882"
FILM = "Film: Aylwin; Year: 1920; Director: Henry Edwards; Note: silent; four reels"


def test_cells_of_a_row() -> None:
    assert cells_of(FILM) == (
        Cell("Film", "Aylwin"),
        Cell("Year", "1920"),
        Cell("Director", "Henry Edwards"),
        Cell("Note", "silent; four reels"),
    )


@pytest.mark.parametrize(
    "text", ["", "Ada Brell was born in Oslo; she painted.", "Born: Oslo", "He said: no. So: yes; no"]
)
def test_what_is_no_row(text: str) -> None:
    assert cells_of(text) == ()


@pytest.mark.parametrize(
    ("question", "row", "expected"),
    [
        ("Where was Ada Brell born?", ADA, "Oslo, Norway"),
        ("What is Ada Brell's job?", ADA, "painter"),
        ("Who was born in Oslo, Norway?", ADA, "Ada Brell"),
        ("Who is the painter?", ADA, "Ada Brell"),
        ("Who directed Aylwin?", FILM, "Henry Edwards"),
        ("When was Aylwin made?", FILM, "1920"),
        ("Which film did Henry Edwards direct?", FILM, "Aylwin"),
        ("Who painted Aylwin?", FILM, None),
        ("Who directed Tides?", FILM, None),
        ("How many reels has Aylwin?", FILM, None),
    ],
)
def test_the_cell_that_answers(question: str, row: str, expected: str | None) -> None:
    found = answer_from_row(read_question(question), row)
    assert (found.text if found else None) == expected


@pytest.mark.parametrize("title", ["one", "", "Films"])
def test_a_row_is_read_alone_among_others_and_as_a_fact(title: str) -> None:
    for text in (FILM, f"{title}: {FILM}" if title else FILM, f"{ADA}\n{FILM}"):
        reading = quote_answer("Who directed Aylwin?", [ContextItem(ADA, title), ContextItem(text, title)])
        assert (reading.text, reading.items) == ("Henry Edwards", (1,))
    assert quote_answer("Where was Tom Lake born?", [ContextItem(ADA, title)]).found is False
