from __future__ import annotations

import pytest

from minirag.reasoner.facts import read_sentences

PROSE = "Henry Edwards was born in Weston-super-Mare and moved to London when he was ten."


@pytest.mark.parametrize(
    "heading",
    [
        "# Early life\n",
        "## What did he do?\n\n",
        "# A heading that is longer than forty-five letters, it is\n",
        "Early life\n==========\n\n",
        "A heading that is longer than forty-five letters, it is\n=====\n",
        "Early life and education\n\n",
        "Early life\n",
        "He went to London.\nCareer in London\n",
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
        "Early life:",
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
    ],
)
def test_what_has_no_paragraph_below_stays(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in read_sentences(text, "")] == expected
