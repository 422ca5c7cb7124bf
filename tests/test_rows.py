from __future__ import annotations

import pytest

from minirag.reasoner.questions import read_question
from minirag.reasoner.quoting import quote_answer
from minirag.reasoner.rows import Cell, answer_from_row, cells_of, step_from_row
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
        ("Who directed the film Aylwin?", FILM, "Henry Edwards"),
        ("In which year was Aylwin made?", FILM, "1920"),
        ("What year was Anna born?", "Name: Anna; Born: 5 May 1900", "1900"),
        ("Who won in 1998?", "Year: 1998; Winner: Ada Brell", "Ada Brell"),
        ("What is the population of Oslo in 2020?", "City: Oslo; Year: 2020; Population: 693,494", "693,494"),
    ],
)
def test_the_cell_that_answers(question: str, row: str, expected: str | None) -> None:
    found = answer_from_row(read_question(question), row)
    assert (found.text if found else None) == expected


@pytest.mark.parametrize(
    ("question", "row"),
    [
        # More is asked than the cell says.
        ("Where was the director of the film Aylwin born?", FILM),
        ("Who is the mother of the director of Aylwin?", FILM),
        ("What is the school of the director of Aylwin?", FILM),
        ("Which film did Henry Edwards direct after 1920?", FILM),
        ("Which film did Henry Edwards not direct?", FILM),
        ("Who directed the British film Aylwin?", FILM),
        # No cell is of the kind that is asked for.
        ("Where was Anna born?", "Name: Anna; Born: 5 May 1900; Place: Oslo"),
        ("When was Anna born?", "Name: Anna; Born: Oslo"),
        ("How many directors has Aylwin?", FILM),
        ("Where is the director of Aylwin?", FILM),
        ("Who is from France?", "Film: Aylwin; Country: France"),
        ("How many films did Henry Edwards make in 1920?", FILM),
        # The cell says something of another one.
        ("Which country is Henry Edwards from?", "Film: Aylwin; Director: Henry Edwards; Country: France"),
        ("Who is Henry Edwards?", "Name: Anna Lund; Boss: Henry Edwards"),
        # Another row is meant, or none.
        ("Who is the director of the film Aylwin?", "Film: Tides; Type: film; Director: Bob Hope"),
        ("Who is the director of the film of Oslo?", "Film: Tides; Type: film; Director: Bob Hope"),
        ("When was Film A released?", "Grade: A; Film: Foo; Released: 1920"),
        ("What is the film of day 1?", "Day: 1; Film: Foo"),
        ("What is the population of Oslo in 2020?", "City: Oslo; Year: 2010; Population: 586,860"),
    ],
)
def test_a_row_that_does_not_answer(question: str, row: str) -> None:
    assert answer_from_row(read_question(question), row) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was the director of the film Aylwin born?", "Henry Edwards"),
        ("Where was the director of Tides born?", None),
        ("Where was the writer of Aylwin born?", None),
        ("Where was Aylwin made?", None),
    ],
)
def test_a_row_as_the_first_step(question: str, expected: str | None) -> None:
    step = step_from_row(read_question(question), FILM)
    assert (step.name if step else None) == expected
    assert step is None or question[step.start : step.end] == "Aylwin"


@pytest.mark.parametrize("title", ["films", "", "Films of the year", "list1"])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where was the director of the film Aylwin born?", "Weston-super-Mare, Somerset"),
        ("Who is the wife of the director of Aylwin?", "Chrissie White"),
        ("Who directed Aylwin?", "Henry Edwards"),
    ],
)
def test_a_row_beside_prose_answers_or_is_a_step(title: str, question: str, answer: str) -> None:
    life = (
        "Henry Edwards was an English actor and director. He was born in Weston-super-Mare, Somerset. "
        "He was married to Chrissie White."
    )
    evidence = [ContextItem(f"{FILM}.", title), ContextItem(life, "Henry Edwards")]
    assert quote_answer(question, evidence).text == answer


def test_a_row_of_another_answers_nothing() -> None:
    row = ContextItem("Film: Tides; Type: film; Director: Bob Hope; Year: 1930.", "films")
    assert quote_answer("Who is the director of the film Aylwin?", [row]).found is False
    france = ContextItem("Film: Aylwin; Director: Henry Edwards; Country: France.", "films")
    assert quote_answer("Which country is Henry Edwards from?", [france]).found is False
    said = ContextItem("Note: the meeting was held on 5 May; Anna: We will sell the house.", "minutes")
    assert quote_answer("What did Anna say in the meeting of 5 May?", [said]).found is True


@pytest.mark.parametrize("title", ["one", "", "Films"])
def test_a_row_is_read_alone_among_others_and_as_a_fact(title: str) -> None:
    for text in (FILM, f"{title}: {FILM}" if title else FILM, f"{ADA}\n{FILM}"):
        reading = quote_answer("Who directed Aylwin?", [ContextItem(ADA, title), ContextItem(text, title)])
        assert (reading.text, reading.items) == ("Henry Edwards", (1,))
    assert quote_answer("Where was Tom Lake born?", [ContextItem(ADA, title)]).found is False
