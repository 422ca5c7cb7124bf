from __future__ import annotations

import pytest

from minirag.reasoner.facts import read_sentences, to_fact
from minirag.reasoner.quoting import quote_answer
from minirag.reasoner.relations import find_triples
from minirag.reasoner.subjects import opening_subject, passage_topic
from minirag.records import ContextItem

SHELLEY = ["Mary Shelley was an English novelist.", "She was born in London."]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Mary Shelley", "Mary Shelley"),
        ("Percy Shelley (poet)", "Percy Shelley"),  # a later passage need not repeat its document's name
        ("She (album)", "She"),
        ("mary_shelley", "Mary Shelley"),
        ("mary-shelley", "Mary Shelley"),
        ("shelley", "Mary Shelley"),
        ("london", "London"),
        ("ch1", ""),
        ("Chapter 1", ""),
        ("Chapter12", ""),
        ("README", ""),
        ("Meeting notes", ""),
        ("meeting_notes_2019", ""),
        ("final_report", ""),
        ("ch_1", ""),
        ("img_0012", ""),
        ("", ""),
        ("henry_edwards", "henry edwards"),  # a name, though of nobody here
        ("NASA_report", "NASA report"),
        ("1979", "1979"),
        ("300", "300"),
        ("bell hooks", "bell hooks"),
        ("Terminator2", "Terminator2"),
        ("area 51", "area 51"),
        ("catch-22", "catch-22"),
        ("鲁迅", "鲁迅"),
    ],
)
def test_a_title_that_cannot_be_a_name_has_to_stand_in_the_passage(title: str, expected: str) -> None:
    assert passage_topic(title, SHELLEY) == expected


@pytest.mark.parametrize(
    ("title", "sentence", "expected"),
    [
        ("tides", "tides is a film, all of it in small letters.", "tides"),
        ("ch1", "nothing here has a capital.", ""),
        ("1979", '"1979" is a song.', "1979"),
        ("Notes", "The Notes were printed in Oslo.", "Notes"),
        ("silver-carp", "Silver carp are large.", "Silver carp"),
        ("oil crisis", "Since the oil crisis Honda has grown.", "oil crisis"),
        ("crisis", "Since the crisis Honda has grown.", "crisis"),
        ("minirag", "Set MINIRAG_MODEL first.", "minirag"),
        ("oslo", "He left Oslo Airport for Oslo.", "Oslo"),
        ("mary-shelley", "Ada Brook was a painter who knew Mary Shelley.", "Mary Shelley"),
        ("henry_edwards", "in 1920 henry edwards made it.", "henry edwards"),
    ],
)
def test_it_is_spelt_as_it_stands_there(title: str, sentence: str, expected: str) -> None:
    assert passage_topic(title, [sentence]) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Mary Shelley (1797–1851) was an English novelist who wrote Frankenstein.", ("Mary Shelley", True)),
        ("Percy Shelley was a poet.", ("Percy Shelley", True)),
        ("Tides is a 1920 silent film directed by Tom Lake.", ("Tides", False)),
        ("Tides is an odd thing.", None),
        ("Tides came in.", None),
        ("It is a film.", None),
        ("", None),
    ],
)
def test_a_definition_says_what_a_passage_opens_with(sentence: str, expected: tuple[str, bool] | None) -> None:
    assert opening_subject([sentence]) == expected


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("She was born in Rome.", "ch1", ["ch1: She was born in Rome."]),
        ("She was born in Rome.", "", ["She was born in Rome."]),
        (
            "Mary Shelley was a novelist. She was born in London. Her husband was Percy. It rained.",
            "ch1",
            [
                "ch1: Mary Shelley was a novelist.",
                "ch1: Mary Shelley was born in London.",
                "ch1: Mary Shelley's husband was Percy.",
                "ch1: It rained.",
            ],
        ),
        (
            "Tides is a film by Mary Shore. She was born in Oslo. It was shot in Vardø.",
            "",
            ["Tides is a film by Mary Shore.", "She was born in Oslo.", "Tides was shot in Vardø."],
        ),
        (
            "Ada Brook was a painter. Tom Lake met her. She left. Brook was old. She died.",
            "",
            ["Ada Brook was a painter.", "Tom Lake met her.", "She left.", "Brook was old.", "She died."],
        ),
    ],
)
def test_pronouns_stand_for_what_the_passage_opens_with_or_stay(text: str, title: str, expected: list[str]) -> None:
    assert [to_fact(sentence, title).text for sentence in read_sentences(text, title)] == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Notes", [("Ada Brook",), ("Ada Brook", "Oslo")]),
        ("ada-brook", [("Ada Brook",), ("Ada Brook", "Oslo")]),
        ("Oslo Diaries", [("Oslo Diaries", "Ada Brook"), ("Oslo Diaries",)]),
    ],
)
def test_a_title_that_is_no_name_is_no_entity(title: str, expected: list[tuple[str, ...]]) -> None:
    sentences = read_sentences("Ada Brook was a painter. She lived in Oslo.", title)
    assert [to_fact(sentence, title).entities for sentence in sentences] == expected


def test_no_triple_has_a_files_name_for_its_head() -> None:
    sentences = read_sentences("She was born in Rome. In 1820 the film was sold to Northrail.", "ch1")
    assert [find_triples(sentence) for sentence in sentences] == [[], []]


def test_a_question_about_whom_a_file_tells_of_is_answered() -> None:
    text = " ".join(SHELLEY)
    passage = quote_answer("Where was Mary Shelley born?", [ContextItem(text, "ch1")])
    assert passage.text == "London"
    facts = [ContextItem(to_fact(sentence, "ch1").text, "ch1") for sentence in read_sentences(text, "ch1")]
    assert quote_answer("Where was Mary Shelley born?", facts).text == "London"


def test_a_files_name_is_the_subject_of_passages_that_do_not_name_it() -> None:
    (sentence,) = read_sentences("He directed Aylwin in 1920.", "henry_edwards")
    fact = to_fact(sentence, "henry_edwards")
    assert (fact.text, fact.entities) == ("henry edwards directed Aylwin in 1920.", ("henry edwards", "Aylwin"))
    assert ("henry edwards", "directed", "Aylwin") in find_triples(sentence)


@pytest.mark.parametrize("title", ["1984", "300", "Terminator2", "bell hooks"])
def test_a_title_without_a_capital_keeps_its_entity_and_triples(title: str) -> None:
    (sentence,) = read_sentences("It was made by George Orwell.", title)
    assert to_fact(sentence, title).entities == (title, "George Orwell")
    assert (title, "was made by", "George Orwell") in find_triples(sentence)
