from __future__ import annotations

import pytest

from minirag.reasoner.facts import read_sentences, to_fact
from minirag.records import ExtractedFact


def facts(text: str, title: str = "") -> list[str]:
    return [to_fact(sentence, title).text for sentence in read_sentences(text, title)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tides is a film.", "Tides is a film."),
        ("It was shot in Vardø.", "Tides was shot in Vardø."),
        ("Its music is by Jo Hill.", "Tides's music is by Jo Hill."),
        ("It came after Tides of War.", "Tides came after Tides of War."),
        ("The film stars Tom Lake.", "Tides: The film stars Tom Lake."),
        ("Tom Lake starred.", "Tides: Tom Lake starred."),
        ("- The <b>critics</b> liked\n  it.[3]", "Tides: The critics liked it."),
    ],
)
def test_a_fact_names_what_its_document_is_about(text: str, expected: str) -> None:
    assert facts(text, "Tides (1920 film)") == [expected]


def test_without_a_title_a_sentence_stays_as_it_is() -> None:
    assert facts("It was shot in Vardø.") == ["It was shot in Vardø."]


def test_all_words_of_a_title_name_it_wherever_they_stand() -> None:
    assert facts("Hans Barthold Andresen Lund was rich.", "Barthold A. Lund") == [
        "Hans Barthold Andresen Lund was rich."
    ]


@pytest.mark.parametrize("text", ["<br>", "42", "1. 2. 3.", "—", "Yes.", "[[ ]]", "。", "... !"])
def test_fragments_are_no_facts(text: str) -> None:
    assert facts(text, "Tides") == []


def test_the_titles_entity_comes_first_and_once() -> None:
    (sentence,) = read_sentences("Tom Lake and The Tides' Ada Brook met.", "The Tides (band)")
    assert to_fact(sentence, "The Tides (band)") == ExtractedFact(
        "Tom Lake and The Tides' Ada Brook met.", ("The Tides", "Tom Lake", "The Tides' Ada Brook", "Ada Brook")
    )
