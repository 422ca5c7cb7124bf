from __future__ import annotations

import time

import pytest

from minirag.reasoner.facts import read_sentences
from minirag.reasoner.headings import find_headings
from minirag.reasoner.quoting import quote_answer
from minirag.reasoner.sentences import split_sentences
from minirag.records import ContextItem

PROSE = "Henry Edwards was born in Weston-super-Mare and moved to London when he was ten."


@pytest.mark.parametrize(
    "heading",
    [
        "# Early life\n",
        "## What did he do?\n\n",
        "# A heading that is longer than forty-five letters, it is\n",
        "Early life\n==========\n\n",
        "A heading that is longer than forty-five letters, it is\n=====\n",
        "Henry Edwards\n\n",
        "In London\n",
        "He went to London.\nHenry Edwards in London\n",
    ],
)
def test_headings_are_no_facts(heading: str) -> None:
    found = [sentence.text for sentence in read_sentences(heading + PROSE, "Henry Edwards")]
    assert [text for text in found if text != "He went to London."] == [PROSE]


@pytest.mark.parametrize(
    "line",
    [
        "Tom Lake directs the festival",  # a verb
        "The bridge was sold",
        "Early life",  # "early" and "life" stand nowhere below
        "Early life:",
        "Ada Brook in Weston-super-Mare",
        "Winner Henry Edwards",
        "Price 200 EUR",
        "The Brooks live in London",
        "Henry Edwards wohnt in London",  # a sentence in a language whose verbs are not known
        "Анри родился в Осло",
        "Born: in 1882",
        "a note in small letters",
        "- An item of a list",
        "Nine words are too many for any heading here",
    ],
)
def test_short_lines_that_say_something_stay(line: str) -> None:
    found = [sentence.text for sentence in read_sentences(f"{line}\n\n{PROSE}", "")]
    assert found == [line.removeprefix("- "), PROSE]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Only a heading", ["Only a heading"]),
        ("Early life", ["Early life"]),
        ("Shopping list\n- milk and eggs\n- bread from Ada", ["Shopping list", "milk and eggs", "bread from Ada"]),
        ("Ada Brook\nTom Lake\nJo Hill", ["Ada Brook", "Tom Lake", "Jo Hill"]),
        ("#1 in Oslo is Ada Brook.", ["#1 in Oslo is Ada Brook."]),
        ("Tom Lake lives in Oslo.\n---\nHe paints.", ["Tom Lake lives in Oslo.", "He paints."]),
        ("# He lives in Oslo.\nHe paints there.", ["He lives in Oslo.", "He paints there."]),
    ],
)
def test_what_has_no_paragraph_below_stays(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in read_sentences(text, "")] == expected


def test_what_a_sentence_of_another_section_says_is_lost_without_the_line() -> None:
    text = f"Tom Lake in Oslo\n\n{PROSE}\n\n# Works\n\nTom Lake was in Oslo when he was young."
    assert "Tom Lake in Oslo" in [sentence.text for sentence in read_sentences(text, "")]


def test_a_line_without_a_content_word_stays_unless_it_is_said_below() -> None:
    text = "The Who\n\nThey played all over the world for many years."
    assert next(sentence.text for sentence in read_sentences(text, "")) == "The Who"


def test_a_reader_sees_headings() -> None:
    text = "# Winner Ada Brook\n\nThe prize was handed over in Oslo by the king of Norway."
    assert next(sentence.text for sentence in read_sentences(text, "", headings=True)) == "Winner Ada Brook"
    reading = quote_answer("Who is the winner of the prize?", [ContextItem(text, "Harbour Prize")])
    assert reading.text == "Winner Ada Brook"


@pytest.mark.parametrize("text", ["Ada met Bo. ", "Ada Brook\n\nAda Brook lives here now.\n\n", "Ab Cd\n\n"])
def test_headings_are_found_in_linear_time(text: str) -> None:
    def measure(times: int) -> float:
        whole = text * times
        spans = split_sentences(whole)
        began = time.process_time()
        find_headings(whole, spans)
        return time.process_time() - began

    assert measure(32_000) < 10 * measure(8_000) + 0.05  # 16 times as long if it were quadratic
