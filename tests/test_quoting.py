from __future__ import annotations

import pytest

from minirag.reasoner.quoting import next_thought, quote_answer
from minirag.reasoner.relating import NOT_FOUND
from minirag.records import ContextItem, Reading

CONTEXT = [
    ContextItem(
        "Harbour Lights is a 1931 silent film directed by Ada Brook. It stars Tom Lake.", "Harbour Lights (film)"
    ),
    ContextItem("Winter Road is a 1948 Danish drama film directed by Nils Holm.", "Winter Road"),
    ContextItem(
        "Ada Brook (12 June 1899 – 3 May 1970) was a Norwegian director. She was born in Bergen, Norway.", "Ada Brook"
    ),
    ContextItem("Nils Holm (born 2 April 1911) was a Danish director. He died in Aarhus.", "Nils Holm"),
    ContextItem("Tom Lake was the son of Peter Lake. He owned 12 boats and died of pneumonia in 1950.", "Tom Lake"),
    ContextItem("Peter Lake was born in Vardø. He studied at Tromsø College.", "Peter Lake"),
    ContextItem("The herring is a fish that lives in large schools.", "Herring"),
]


@pytest.mark.parametrize(
    ("question", "answer", "items"),
    [
        ("Where was Ada Brook born?", "Bergen, Norway", (2,)),
        ("When was Ada Brook born?", "12 June 1899", (2,)),
        ("When did Ada Brook die?", "3 May 1970", (2,)),
        ("Who directed Winter Road?", "Nils Holm", (1,)),
        ("How many boats did Tom Lake own?", "12", (4,)),
        ("What nationality is Nils Holm?", "Danish", (3,)),
        ("Where was the director of the film Harbour Lights born?", "Bergen, Norway", (0, 2)),
        ("Where did the director of Winter Road die?", "Aarhus", (1, 3)),
        ("What was the cause of death of the star of Harbour Lights?", "pneumonia in 1950", (0, 4)),
        ("Where did Tom Lake's father study?", "Tromsø College", (4, 5)),
        ("Which film came out first, Winter Road or Harbour Lights?", "Harbour Lights", (0, 1)),
        ("Which film has the director who was born later, Winter Road or Harbour Lights?", "Winter Road", (0, 1, 2, 3)),
        ("Who was born earlier, Nils Holm or Ada Brook?", "Ada Brook", (2, 3)),
        ("Are the directors of Winter Road and Harbour Lights from the same country?", "no", (0, 1, 2, 3)),
    ],
)
def test_answers_are_quoted_from_the_items_that_hold_them(question: str, answer: str, items: tuple[int, ...]) -> None:
    reading = quote_answer(question, CONTEXT)
    assert (reading.text, tuple(sorted(reading.items))) == (answer, items)
    assert reading.found


def test_facts_instead_of_passages_are_read_as_well() -> None:
    facts = [
        ContextItem("Ada Brook was born in Bergen.", "Ada Brook", "fact"),
        ContextItem("Harbour Lights is a film directed by Ada Brook.", "Harbour Lights", "fact"),
    ]
    assert quote_answer("Where was the director of Harbour Lights born?", facts) == Reading("Bergen", True, (1, 0))


def test_one_bridging_fact_is_enough() -> None:
    text = "Harbour Lights is a film directed by Ada Brook. Ada Brook (1899 – 1970) was born in Bergen."
    context = [ContextItem(text, "Harbour Lights (film) / Ada Brook", "bridge")]
    assert quote_answer("Where was the director of Harbour Lights born?", context) == Reading("Bergen", True, (0,))


VILLAGE = [
    ContextItem("Bob Long is a miller. He lives in Osk. He was born in 1950.", "Bob Long"),
    ContextItem("Ann Roe is a baker. She lives in Kelso.", "Ann Roe"),
    ContextItem("Quark is a dog. Quark lives in Osk.", "Quark"),
    ContextItem("Acme was founded in Kelso by Ann Roe.", "Acme"),
    ContextItem("Tides, written by Tom Lake, was filmed in Vardø by Jo Hill. Its editor was a teacher.", "Tides"),
]
ANSWERS = [
    ("Where does Bob Long live?", "Osk", 0),
    ("Where is Bob Long living?", "Osk", 0),
    ("Who lives in Kelso?", "Ann Roe", 1),
    ("Where does Quark live?", "Osk", 2),
    ("Who founded Acme?", "Ann Roe", 3),
    ("Where was Acme founded?", "Kelso", 3),
    ("Who filmed Tides?", "Jo Hill", 4),
    ("Who wrote Tides?", "Tom Lake", 4),
    ("Who is Bob Long?", "a miller", 0),
    ("What does Bob Long do?", "a miller", 0),
    ("What is Quark?", "a dog", 2),
    ("What is Acme?", "Acme was founded in Kelso by Ann Roe.", 3),
    ("What is Tides?", "Tides, written by Tom Lake, was filmed in Vardø by Jo Hill.", 4),
]


@pytest.mark.parametrize(("question", "answer", "item"), ANSWERS)
def test_short_texts_answer_alone_and_among_others(question: str, answer: str, item: int) -> None:
    assert quote_answer(question, VILLAGE) == Reading(answer, True, (item,))
    assert quote_answer(question, VILLAGE[item : item + 1]) == Reading(answer, True, (0,))


def test_what_the_chain_says_better_is_cited_from_the_item_that_holds_it() -> None:
    context = [ContextItem("Long ago he went to Osk, as his father had.", "Bob Long")]
    chain = ["Bob Long lives in Osk."]
    assert quote_answer("Where does Bob Long live?", context, chain=chain) == Reading("Osk", True, (0,))
    for other in ("Bob Long lives in Dole.", "Bob Long lives in Os."):
        assert not quote_answer("Where does Bob Long live?", context, chain=[other]).found
    of_another = [ContextItem("Osk has a mill.", "Mills")]
    assert not quote_answer("Where does Bob Long live?", of_another, chain=chain).found


@pytest.mark.parametrize("question", ["What is the boiling point of tungsten?", "Wo wohnt Karl Meier?", "?", ""])
def test_what_the_context_does_not_hold_is_not_found(question: str) -> None:
    assert quote_answer(question, CONTEXT) == Reading(NOT_FOUND, found=False, items=())


@pytest.mark.parametrize(
    "question",
    ["When did Pat Rowan sell nets in Quay Street?", "How many nets did Pat Rowan sell in Quay Street?"],
)
def test_what_says_no_date_or_number_answers_no_question_for_one(question: str) -> None:
    context = [ContextItem("Pat Rowan sold nets in Quay Street.", "Pat Rowan")]
    assert not quote_answer(question, context).found
    dated = [*context, ContextItem("In 1931 Pat Rowan sold 40 nets in Quay Street.", "Quay Street")]
    assert quote_answer(question, dated) == Reading("1931" if "When" in question else "40", True, (1,))


def test_an_empty_context_holds_nothing() -> None:
    assert quote_answer("Who?", []) == Reading(NOT_FOUND, found=False, items=())
    assert quote_answer("Who?", [ContextItem("")]) == Reading(NOT_FOUND, found=False, items=())


def test_other_scripts_get_the_sentence_that_fits() -> None:
    context = [ContextItem("鲁迅出生于浙江绍兴。他是作家。", "鲁迅"), ContextItem("北京是中国的首都。", "北京")]
    assert quote_answer("鲁迅出生在哪里？", context) == Reading("鲁迅出生于浙江绍兴。", True, (0,))


def test_thoughts_go_on_to_the_next_sentence_and_end_with_the_answer() -> None:
    question = "Who directed Winter Road?"
    first = next_thought(question, CONTEXT[:2], [])
    assert first == "Winter Road is a 1948 Danish drama film directed by Nils Holm."
    second = next_thought(question, CONTEXT[:2], [first])
    assert second == "Harbour Lights is a 1931 silent film directed by Ada Brook."
    assert next_thought(question, CONTEXT[:2], [first, second]) == "So the answer is: Nils Holm"
