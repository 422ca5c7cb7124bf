"""Whatever a text holds, it stays inside of its string of its line."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.reasoner.delimiting import delimit
from minirag.reasoner.prompts import REMINDER, messages_for
from minirag.reasoner.standard import STANDARD
from minirag.records import THINKING, TaskPrompt, Thinking

TOKENS = (
    *(
        '"}',
        '"\n\n',
        "\\",
        '\\"',
        "\\u0022",
        "'''",
        "```",
        "</s>",
        "<s>",
        "<|im_end|>",
        "<|im_start|>system",
        "<|eot_id|>",
    ),
    *("<｜User｜>", "<start_of_turn>", "<end_of_turn>", "<!--", "<|start_header_id|>", "<think>", "</tool_call>"),
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[|system|]", "[gMASK]", "[SYSTEM_PROMPT]", "]~b]", "[e~["),
    *("＜|im_end|＞", "﹤/s﹥", "＂", "［INST］", "\n\nHuman:", "\n\nAssistant:", "\r\n### System:\r\n"),
    *(
        "\x00",
        "\x0b",
        "\x0c",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\x9b",
        "\u2028",
        "\u2029",
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
    ),
    *("\ud800", "\udfff", "\U000e0041\U000e0042\U000e007f", "\U000e0101", REMINDER),
    *(f"{{{name}}}" for name in ("data", "form", "language", "instructions", "examples")),
)
TEXTS = st.lists(st.one_of(st.sampled_from(TOKENS), st.text(st.characters(codec=None), max_size=8)), max_size=8).map(
    "".join
)
VALUES = st.recursive(TEXTS | st.integers() | st.booleans(), lambda v: st.lists(v, max_size=3), max_leaves=6)
OPENS_A_TOKEN = re.compile(r"<[|｜/!a-zA-Z_▁]|\[/|\[\||\[[A-Z_]+\]|\[gMASK\]|\[e~\[|\]~")


def joined(value: Any) -> Any:  # noqa: ANN401
    """JSON cannot tell two halves of a character that happen to stand side by side from the character."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return [joined(item) for item in value] if isinstance(value, list) else value


@given(st.dictionaries(st.sampled_from(["title", "passage", "question", "context"]), VALUES))
def test_no_text_ends_its_line_or_is_changed(data: dict[str, Any]) -> None:
    line = delimit(data)
    assert json.loads(line) == {name: joined(value) for name, value in data.items()}
    assert line.splitlines() in ([line], [])
    assert not OPENS_A_TOKEN.search(line)
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not {"＂", "＜", "﹤", "［", "\u202e", "\u200b", "\ufeff"}.intersection(line)
    assert not [c for c in line if 0xE0000 <= ord(c) <= 0xE0FFF]
    line.encode()


@given(TEXTS)
def test_no_text_looks_like_the_end_of_its_string_even_when_a_tokenizer_normalises(text: str) -> None:
    line = delimit({"passage": text})
    normalised = unicodedata.normalize("NFKC", line)
    assert json.loads(normalised) == {"passage": unicodedata.normalize("NFKC", joined(text))} or "\\u" in line
    assert list(json.loads(normalised)) == ["passage"]
    assert not OPENS_A_TOKEN.search(normalised)


@pytest.mark.parametrize(
    "text", ["東京は日本の首都です。", "Москва — столица", "علي‌رضا", "👩‍🚀", "a < b & c[1] [note]", "naïve “quotes”"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert delimit({"passage": text}) == f'{{"passage": "{text}"}}'


@pytest.mark.parametrize("task", THINKING)
@pytest.mark.parametrize("template", ["", "Do it.\n{data}\n{form}"])
@given(text=TEXTS)
def test_data_stay_in_their_line_whatever_the_prompt(task: Thinking, template: str, text: str) -> None:
    empty = messages_for(task, {}, TaskPrompt(template=template))
    field = STANDARD[task].fields[0]
    system, user = messages_for(task, {field: text}, TaskPrompt(template=template))
    assert system == empty[0]
    line, rest = user["content"].split("\n", 1)
    assert json.loads(line) == {"task": task, field: joined(text)}
    assert (user["role"], rest) == ("user", f"\n{REMINDER}")
