"""Texts of providers as they may be told: in one line, of bounded length, and without anybody's key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

_LOOKS = re.compile(  # of keys of large providers, and of JSON Web Tokens
    r"(?:\bsk-|\bAIza|\bgsk_|\bhf_|\bxai-|\bnvapi-|\bpplx-|\br8_|\bgh[pousr]_|\bgithub_pat_|\bAKIA|\bASIA)[\w*.-]{6,}"
    r"|\beyJ[\w-]{8,}\.[\w.-]+|(?<=[Bb]earer )\S+|(?<=[Bb]asic )(?=\S*[\d=])[\w+/=-]{6,}"
    r"|(?<=[?&]key=)[^&\s]+|(?<=://)[^/\s@]+(?=@)"
)
_SECRET = re.compile(  # a part of a variable's name: OPENAI_API_KEY, PGPASSWORD, AWS_BEARER_TOKEN_BEDROCK
    r"\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|JWT)|KEYS|BEARER|PASS|PAT|COOKIE|LICENSE|HEADERS"
)
_WHERE = frozenset(["FILE", "PATH", "DIR", "DIRS", "SOCK", "URL", "URI", "ENDPOINT", "HOST"])  # where one is: no secret
_PLACE = re.compile(r"[/~.]|[A-Za-z]:\\")  # how a path begins, as credentials are sometimes given
_PIECE = re.compile(r"(?<![\w+/.~@:-])(?=[^\s\\]*\d)[\w+/.~-]{16,}={0,2}(?![\w@])")  # of JSON, a certificate, a list
_LONG = 8  # letters of a secret that is one wherever it stands


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text with `secrets`, the environment's keys, and whatever looks like a key replaced by "[key]"."""
    named = (form for name, value in os.environ.items() if _is_secret(name, value) for form in _forms(value.strip()))
    for value in sorted({*named, *(secret.strip() for secret in secrets)}, key=len, reverse=True):
        if len(value) >= _LONG:
            text = text.replace(value, "[key]")
        elif value:  # not as a part of a word
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "[key]", text)
    return _LOOKS.sub("[key]", text)


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable of the environment is one, by a part of its name, and not merely the place of one."""
    parts = name.upper().replace("-", "_").split("_")
    if len(value.strip()) < _LONG or parts[-1] in _WHERE:
        return False
    is_place = "CREDENTIAL" in parts[-1] and _PLACE.match(value.strip())
    return not is_place and any(map(_SECRET.fullmatch, parts))


def _forms(value: str) -> Iterator[str]:
    """A secret as it is, as JSON writes it, and the long parts of one that has several."""
    yield value
    yield json.dumps(value)[1:-1]
    yield from _PIECE.findall(value.replace("\\n", "\n"))


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
