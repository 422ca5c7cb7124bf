"""The tolerant reading of a model's JSON: what it accepts, and above all what it does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from minirag.llm.structured import UnreadableReplyError, read_reply, strict_schema


class Item(BaseModel):
    text: str
    numbers: list[int] = []


class Items(BaseModel):
    items: list[Item]


@given(st.lists(st.builds(Item, text=st.text(), numbers=st.lists(st.integers(-5, 5)))), st.booleans())
def test_valid_json_is_read_as_it_is(items: list[Item], ascii_only: bool) -> None:
    whole = Items(items=items)
    text = json.dumps(whole.model_dump(), ensure_ascii=ascii_only)
    assert read_reply(text, Items) == whole
    assert read_reply(f"\n```json\n{text}\n```\n", Items) == whole


@given(st.text())
def test_no_text_is_ever_more_than_an_unreadable_reply(text: str) -> None:
    try:
        read_reply(text, Items)
    except UnreadableReplyError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"items": [{"text": "a",},]}', ["a"]),
        ("{'items': [{'text': 'a'}]}", ["a"]),
        ('{"items": [{"text": "a"}]', ["a"]),
        ('{"items": [{"text": "a"}', ["a"]),
        (json.dumps(json.dumps({"items": [{"text": "a"}]})), ["a"]),
        ('{"items": [{"text": "say "hi" now"}]}', ['say "hi" now']),
        ('{"items": [{"text": "a"}]}\n{"items": [{"text": "b"}]}', ["b"]),
        ('Here: {"items": []}. Is that all?', []),
        ('{"items": [{"text": "{not JSON"}]} and {so on', ["{not JSON"]),
        ('Here is {the answer}: {"items": [{"text": "a"}]}', ["a"]),
        ('int main() { return {0}; } gives\n{"items": [{"text": "a",}]} (of {it})', ["a"]),
        ("With {} and {'x'}: {'items': [{'text': 'a'}]}", ["a"]),
        ('{items: [{"text": "a"}]}', ["a"]),
    ],
)
def test_tolerates(text: str, items: list[str]) -> None:
    assert [item.text for item in read_reply(text, Items).items] == items


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "There is no JSON object in it."),
        ("I found nothing.", "There is no JSON object in it."),
        ('"items"', "There is no JSON object in it."),
        ('{"items": [{"text": "a"}, {"text": "b', "The JSON ends in the middle of a value."),
        ('{"items": [{"text": "a"}, ', "The JSON ends in the middle of a value."),
        ('```json\n{"items": [{"text": "a"}, {"te\n```', "The JSON ends in the middle of a value."),
        ('{Of this}: {"items": [{"text": "a"}, {"text": "b', "The JSON ends in the middle of a value."),
        ('{Of this}: {"items": [{"text": "a", "numbers": [19', "The JSON ends in the middle of a value."),
        ('{"items": [{"text": NaN}]}', "items.0.text: Input should be a valid string"),
        ('{"items": "none"}', "items: Input should be a valid list"),
        ('{"facts": []}', "items: Field required"),
        ("{" + "[" * 5000 + "]" * 5000 + "}", "It cannot be read as JSON."),
    ],
)
def test_does_not_make_up(text: str, problem: str) -> None:
    with pytest.raises(UnreadableReplyError) as caught:
        read_reply(text, Items)
    assert str(caught.value) == problem


def test_names_at_most_five_problems() -> None:
    with pytest.raises(UnreadableReplyError, match=r"items\.4: .+; and 3 more$"):
        read_reply('{"items": [1, 2, 3, 4, 5, 6, 7, 8]}', Items)


def test_schema_is_strict_at_every_level() -> None:
    schema = strict_schema(Items)
    assert schema["required"] == ["items"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Item"]["required"] == ["text", "numbers"]
    assert schema["$defs"]["Item"]["additionalProperties"] is False
    assert "default" not in schema["$defs"]["Item"]["properties"]["numbers"]


@pytest.mark.parametrize("end", ["", ",}"], ids=["JSON", "nearly JSON"])
def test_lone_surrogates_become_replacement_characters_and_pairs_one_character(end: str) -> None:
    text = r'{"items": [{"text": "a \ud800 b \ud83c\udf89 c \udc00"' + (end or "}") + "]}"
    assert read_reply(text, Items).items[0].text == "a \ufffd b \U0001f389 c \ufffd"


BROKEN = {
    "apostrophes": "{'items': ['" + "it's " * 12_000 + "']}",
    "quotes": '{"items": ["' + 'say "x" and ' * 5_000 + '"]}',
    "brackets": "{" * 60_000 + "}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_would_take_minutes_to_mend_is_not(text: str) -> None:
    with pytest.raises(UnreadableReplyError, match=r"^It is no JSON, and mending it takes too long\.$"):
        read_reply(text, Items)


@pytest.mark.parametrize("end", ["]}", ",]}", ""])
def test_white_space_without_end_is_passed_over(end: str) -> None:
    assert [item.text for item in read_reply('{"items": [{"text": "a"}' + "\n " * 30_000 + end, Items).items] == ["a"]


def test_what_was_mended_is_plain_text() -> None:
    reply = read_reply("""{'items': [{'text': 'a "b" c', }, {'text': 'd',, 'numbers': [1 2]}, {text: e f}]""", Items)
    assert [(type(item.text), item.text) for item in reply.items] == [(str, 'a "b" c'), (str, "d"), (str, "e f")]
