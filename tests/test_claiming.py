from __future__ import annotations

import pytest

from minirag.reasoner.quoting import quote_answer
from minirag.records import ContextItem, Reading

FILM = ContextItem("Harbour Lights is a 1931 silent film directed by Ada Brook. It stars Tom Lake.", "Harbour Lights")
ADA = ContextItem(
    "Ada Brook was a Norwegian director. She was born in Bergen and studied at the Vardø School of Art. "
    "She never married. She won the Silver Herring for Winter Road.",
    "Ada Brook",
)
NILS = ContextItem("Nils Holm was a Danish director. He was born in Aarhus.", "Nils Holm")
BERGEN = ContextItem("Bergen is a city in Norway.", "Bergen")
CONTEXT = [FILM, ADA, NILS, BERGEN]


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("Was Harbour Lights directed by Ada Brook?", 0),
        ("Did Ada Brook direct Harbour Lights?", 0),
        ("Is Harbour Lights a silent film?", 0),
        ("Was Ada Brook born in Bergen?", 1),
        ("Did Ada Brook win the Silver Herring?", 1),
        ("Is Bergen in Norway?", 3),
    ],
)
def test_what_one_clause_says_is_so(question: str, item: int) -> None:
    assert quote_answer(question, CONTEXT) == Reading("yes", found=True, items=(item,))


@pytest.mark.parametrize(
    ("question", "told", "items"),
    [
        (
            "Was Harbour Lights directed by Nils Holm?",
            "Harbour Lights is a 1931 silent film directed by Ada Brook. Nils Holm was a Danish director.",
            (0, 2),
        ),
        (
            "Was Ada Brook born in Vardø?",
            "Ada Brook was born in Bergen and studied at the Vardø School of Art.",
            (1,),
        ),
        ("Is Bergen in Denmark?", "Bergen is a city in Norway.", (3,)),
        ("Did Ada Brook marry?", "Ada Brook never married.", (1,)),
    ],
)
def test_what_is_said_instead_is_quoted(question: str, told: str, items: tuple[int, ...]) -> None:
    assert quote_answer(question, CONTEXT) == Reading(told, found=True, items=items)


def test_of_what_nothing_is_said_no_claim_is_answered() -> None:
    assert not quote_answer("Is tungsten heavier than lead?", CONTEXT).found


def test_two_subjects_are_still_compared() -> None:
    assert quote_answer("Are Ada Brook and Nils Holm of the same nationality?", CONTEXT).text == "no"
    assert quote_answer("Were both Ada Brook and Nils Holm directors?", CONTEXT).text == "yes"
    after = "Which film was released first after the war, Harbour Lights or Winter Road?"
    films = [FILM, ContextItem("Winter Road is a 1948 film.", "Winter Road")]
    assert quote_answer(after, films).text == "Harbour Lights"
    for order, answers in (("before", ("yes", "no")), ("after", ("no", "yes"))):
        asked = [f"Was Harbour Lights made {order} Winter Road?", f"Was Winter Road made {order} Harbour Lights?"]
        assert tuple(quote_answer(question, films).text for question in asked) == answers
