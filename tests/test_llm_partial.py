"""A field of a reply that is still arriving."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.llm.partial import PartialField


def read(*pieces: str) -> list[str]:
    field = PartialField("answer")
    return [field.feed(piece) for piece in pieces]


def test_text_comes_as_soon_as_it_is_there() -> None:
    assert read('{"found": true, "ans', 'wer": "Be', "rg", 'en", "items": [1]}') == ["", "Be", "rg", "en"]


@pytest.mark.parametrize(
    "before",
    [
        *("Sure:\n```json\n", '<think>{"answer": "no"} or so</think>\n', "", '<think>a { b "c</think>'),
        *("Here is {the answer}: ", "f() { return {x}; } gives\n", "{} or {\n{a, b}} or\n"),
    ],
)
def test_what_stands_before_the_object_is_passed_over(before: str) -> None:
    assert "".join(read(before + '{"answer": "Oslo", "items": []} and more {"answer": "no"}')) == "Oslo"


@pytest.mark.parametrize(
    "reply",
    [
        '{"x": {"answer": "no"}, "y": ["answer", "no"], "z": "answer", "answer": "Oslo"}',
        '{"ans\\u0077er": "Oslo"}',
        '{"x": "a \\" {", "answer" : "Oslo"',
    ],
)
def test_only_the_field_of_the_object_itself_counts(reply: str) -> None:
    assert "".join(read(reply)) == "Oslo"


@pytest.mark.parametrize("reply", ["Oslo", '["answer", "Oslo"]', '{"answer": 7}', '{"other": "Oslo"}', ""])
def test_what_has_no_such_text_gives_none(reply: str) -> None:
    assert "".join(read(reply)) == ""


def test_blanks_at_the_ends_are_left_out_and_those_within_wait() -> None:
    assert read('{"answer": "  New', " \\n", ' York ", "x": 1}') == ["New", "", " \n York"]


def test_halves_of_characters() -> None:
    assert read('{"answer": "\\ud83d', "\\ude00", ' \\ud83d, \\udc00"}') == ["", "😀", " \ufffd, \ufffd"]


@given(st.text(), st.text(), st.lists(st.integers(1, 7), min_size=1), st.booleans())
def test_the_pieces_make_the_whole_however_it_is_cut(
    answer: str, other: str, sizes: list[int], ascii_only: bool
) -> None:
    reply = json.dumps({"x": other, "answer": answer, "items": [1, 2]}, ensure_ascii=ascii_only)
    pieces: list[str] = []
    start = 0
    while start < len(reply):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(reply[start : start + size])
        start += size
    assert "".join(read(*pieces)) == answer.strip()
