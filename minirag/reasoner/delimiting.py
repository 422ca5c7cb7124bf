"""Data for a prompt as one line of JSON that no text in it can end, whatever it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_ACTIVE = re.compile(
    r"<(?=[|｜/!a-zA-Z_▁])"  # <|im_end|>, </s>, <start_of_turn>, <!-- and the like, in front of what makes it one
    r"|\[(?=[|/]|[A-Z_]+\]|gMASK\]|e~\[)"  # [INST], [/INST], [|system|], [gMASK]
    r"|\](?=~)"
    r"|[＜﹤＂［]"  # what a tokenizer that normalises (NFKC) turns into < " [
    r"|[\x7f-\x9f\u2028\u2029]"  # line breaks and controls that JSON leaves as they are
    r"|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"  # unseen, or turns the direction of writing
    r"|[\ud800-\udfff]"  # half a character, which cannot be sent
    r"|[\U000e0000-\U000e0fff]"  # unseen tags, which spell words that only a model reads
)


def delimit(data: Mapping[str, Any]) -> str:
    """One line of JSON; reading it as JSON gives back the data, unchanged.

    Its strings end only where JSON says so. What a chat template could take for a token of its own, what breaks lines
    or turns their direction, and what nobody sees is written as an escape.
    """
    return _ACTIVE.sub(_escape, json.dumps(data, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
