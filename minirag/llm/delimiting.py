"""What nobody vouches for as one line of a prompt that nothing in it can end: data as JSON, and replies of models."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any
from unicodedata import combining, normalize

_TOKEN = (  # what a chat template could take for a token of its own, at its first character
    r"<(?=[|/!a-zA-Z_▁])"  # <|im_end|>, </s>, <start_of_turn>, <!-- and the like, in front of what makes it one
    r"|\[(?=[|/]|[A-Z_]+\]|gMASK\]|e~\[)"  # [INST], [/INST], [|system|], [gMASK]
    r"|\](?=~)"
)
_UNSEEN = (  # default-ignorable (Unicode), which includes what turns the direction of writing
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINER = "\u200c\u200d"  # in words of Persian and of India, and in emoji: between what is not of ASCII
_ACTIVE = re.compile(
    rf"{_TOKEN}|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_UNSEEN}]"  # with breaks, controls, halves of characters
    rf"|(?<![^\x00-\x7f{_JOINER}])[{_JOINER}]|[{_JOINER}](?![^\x00-\x7f{_JOINER}])"
)
_LOOKED_LIKE = frozenset('"\\<[]')  # what nothing may turn into
_AFTER_ESCAPE = re.compile(r"(\\(?:u[0-9a-f]{4}|[^u]))([^\x00-\x7f]*)")


def delimit(data: Mapping[str, Any]) -> str:
    """One line of JSON; reading it as JSON gives back the data, unchanged.

    Its strings end only where JSON says so. What a chat template could take for a token of its own, what breaks lines
    or turns their direction, and what nobody sees is written as an escape. All of that also holds once the line was
    normalised (NFKC), as some tokenizers do.
    """
    return _without_active(json.dumps(data, ensure_ascii=False))


def disarm(text: str) -> str:
    """A text that a model wrote, likewise one line, with the same escapes: JSON, and what is nearly JSON, stays it."""
    return _without_active(" ".join(text.split()))


def _without_active(line: str) -> str:
    places = _active_places(line)
    escaped = "".join(_escape(c) if place in places else c for place, c in enumerate(line)) if places else line
    return escaped if line.isascii() else _AFTER_ESCAPE.sub(_keep_apart, escaped)


def _active_places(line: str) -> set[int]:
    """Where characters stand that are to be escaped; tokens are found in the normal form."""
    if line.isascii():
        return {found.start() for found in _ACTIVE.finditer(line)}
    wide = {c for c in line if not c.isascii()}
    forms = {ord(c): normalize("NFKC", c) for c in wide}
    posing = {c for c in wide if not _LOOKED_LIKE.isdisjoint(normalize("NFKD", c))}
    normal = line.translate(forms)
    starts = [found.start() for found in _ACTIVE.finditer(normal)]
    if len(normal) != len(line):
        places = [place for place, c in enumerate(line) for _ in forms.get(ord(c), c)]
        starts = [places[start] for start in starts]
    return {*starts, *(place for place, c in enumerate(line) if c in posing)}


def _keep_apart(found: re.Match[str]) -> str:
    """An escape, and what follows it: accents would become one with its last letter (é is no digit)."""
    accents = "".join(takewhile(_is_accent, found[2]))
    return found[1] + "".join(map(_escape, accents)) + found[2][len(accents) :]


def _is_accent(character: str) -> bool:
    return combining(normalize("NFKD", character)[0]) > 0


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
