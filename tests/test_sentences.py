from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirag.reasoner.sentences import split_sentences


def sentences(text: str, *, max_length: int = 500) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, max_length=max_length)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        (
            "Mr. Smith met J. R. R. Tolkien in the U.S. in 1990. He left.",
            ["Mr. Smith met J. R. R. Tolkien in the U.S. in 1990.", "He left."],
        ),
        (
            "It is No. 5 at St. Mary's (c. 1900). It cost 3.14 dollars.",
            ["It is No. 5 at St. Mary's (c. 1900).", "It cost 3.14 dollars."],
        ),
        ("Acme Inc. He left it. Acme Inc. grew.", ["Acme Inc.", "He left it.", "Acme Inc. grew."]),
        (
            "Born on Jan. 5 in Rome. She sang...  Then she went.",
            ["Born on Jan. 5 in Rome.", "She sang...", "Then she went."],
        ),
        ('"Who is it?" she asked. "Me."', ['"Who is it?" she asked.', '"Me."']),
        ("(It ended.) So did he.[12] Yahoo! is a firm.", ["(It ended.)", "So did he.[12]", "Yahoo! is a firm."]),
        ("no capitals here. none at all.", ["no capitals here.", "none at all."]),
        (
            "name: Anna Bey; role: teacher; city: Orneby\nname: Per Lund; role: mayor; city: Torvik",
            ["name: Anna Bey; role: teacher; city: Orneby", "name: Per Lund; role: mayor; city: Torvik"],
        ),
        ("name: Anna Bey\nname: Per Lund", ["name: Anna Bey", "name: Per Lund"]),
        (
            "a long enough row | of one table | 1920\nanother one | of it | 1921",
            ["a long enough row | of one table | 1920", "another one | of it | 1921"],
        ),
        (
            "The committee said after its meeting in the spring: no more\nthan two of them: the rest stayed at home.",
            ["The committee said after its meeting in the spring: no more\nthan two of them: the rest stayed at home."],
        ),
        ("鲁迅是作家。他生于绍兴！真的吗？", ["鲁迅是作家。", "他生于绍兴！", "真的吗？"]),
        ("ولد في القاهرة. هل تعرف؟ نعم۔", ["ولد في القاهرة.", "هل تعرف؟", "نعم۔"]),
        ("यह एक वाक्य है। यह दूसरा है।", ["यह एक वाक्य है।", "यह दूसरा है।"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_full_stops_of_any_script_end_sentences_and_abbreviations_do_not(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_lines_end_sentences_unless_they_are_wrapped_prose() -> None:
    text = (
        "A Heading\n\nThis line is long enough to have been wrapped by an editor at Henry\nEdwards in 1920.\n"
        "- first item\n- second item\n1. First\n2. Second\nof two."
    )
    assert sentences(text) == [
        "A Heading",
        "This line is long enough to have been wrapped by an editor at Henry\nEdwards in 1920.",
        "- first item",
        "- second item",
        "1. First",
        "2. Second\nof two.",
    ]


def test_a_sentence_that_is_too_long_is_cut_where_it_hurts_least() -> None:
    assert sentences("one two, three four; five six seven", max_length=24) == ["one two, three four;", "five six seven"]
    assert sentences("one two, three four five", max_length=14) == ["one two,", "three four", "five"]
    assert sentences("abcdefghij", max_length=4) == ["abcd", "efgh", "ij"]
    with pytest.raises(ValueError, match="max_length is 1"):
        split_sentences("a", max_length=1)


@pytest.mark.parametrize("piece", ["a", ".", "a b ", "\n", "\r \n", "!)", "...)", '"', "A. ", "1. ", "(", "[1]"])
def test_time_is_linear_in_the_length(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    started = time.perf_counter()
    split_sentences(text)
    assert time.perf_counter() - started < 5


@settings(max_examples=300)
@given(st.text(), st.integers(2, 50))
def test_spans_lie_in_order_within_the_text_and_lose_nothing(text: str, max_length: int) -> None:
    spans = split_sentences(text, max_length=max_length)
    assert all(0 <= start < end <= len(text) and end - start <= max_length for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
