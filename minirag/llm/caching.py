"""Telling providers that want to be told which part of a prompt stays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def wants_marks(model: str) -> bool:
    """Whether a model is Anthropic's, whoever serves it.

    OpenAI, DeepSeek, Gemini and most others cache a common beginning by themselves, from about 1,000 tokens on.
    """
    return "claude" in model.lower()


def mark_constant(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages, with the system message marked to be cached."""
    return [dict(message) if message["role"] != "system" else _marked(message) for message in messages]


def _marked(message: Mapping[str, Any]) -> dict[str, Any]:
    part = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
    return {**message, "content": [part]}
