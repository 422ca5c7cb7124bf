"""Texts of providers as they may be told: in one line, of bounded length, and without anybody's key."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

_SECRETS = re.compile(
    r"(?:\bsk-|\bAIza|\bgsk_|\bhf_|\bxai-)[\w*.-]{6,}|(?<=[Bb]earer )\S+|(?<=[Bb]asic )(?=\S*[\d=])[\w+/=-]{6,}"
    r"|(?<=[?&]key=)[^&\s]+|(?<=://)[^/\s@]+(?=@)"
)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_LONG = 8  # letters of a secret that is one wherever it stands


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text with `secrets`, the environment's keys, and whatever looks like a key replaced by "[key]"."""
    named = [value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value.strip()) >= _LONG]
    for value in sorted({secret.strip() for secret in (*named, *secrets)}, key=len, reverse=True):
        if len(value) >= _LONG:
            text = text.replace(value, "[key]")
        elif value:  # not as a part of a word
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "[key]", text)
    return _SECRETS.sub("[key]", text)


def one_line(text: str, limit: int = 300) -> str:
    """The text on one line, cut after `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shown(value: Any) -> str:  # noqa: ANN401
    """A value of JSON as text; nothing bounds how deep a server nests it."""
    try:
        return str(value)
    except RecursionError:
        return "too deeply nested to be shown"
