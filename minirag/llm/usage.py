"""What one answer cost, as its provider tells it, and by an estimate where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minirag.llm.accounting import Shape
from minirag.llm.completions import first_of, thoughts_of
from minirag.llm.tokens import estimate_tokens
from minirag.records import Usage
from minirag.redacting import shown

# What was written to the cache, as OpenAI, LiteLLM and Anthropic call it; LiteLLM counts it among the tokens sent.
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")


def read_usage(response: Any, shape: Shape, seconds: float) -> Usage:  # noqa: ANN401
    """The usage of a completion or an embedding, as it is told.

    Where it is told in part alone, it is uncounted: it has no tokens, and no cost but that of a model which is free.
    """
    counted, price = getattr(response, "usage", None), shape.price_of(response)
    sent, received = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if not sent or not (received or shape.mode == "vectors" or (received == 0 and not _written(response))):
        return Usage(1, cost=0.0 if price is not None and price.is_free else None, seconds=seconds, uncounted=1)
    details = _part(counted, "prompt_tokens_details")
    cached = min(_count(details, "cached_tokens") or 0, sent)
    usage = Usage(1, sent, received or 0, cached, None, seconds)
    if price is None:
        return usage
    written = max(_count(part, name) or 0 for part in (counted, details) for name in _WRITTEN)
    return replace(usage, cost=price.cost(usage, written=min(written, sent - cached)))


def estimate_usage(response: Any, shape: Shape) -> Usage:  # noqa: ANN401
    """The usage of an answer that is told in part or not at all: the rest by an estimate, rather too many."""
    counted = getattr(response, "usage", None)
    sent = _count(counted, "prompt_tokens") or shape.sent
    received = _count(counted, "completion_tokens") or estimate_tokens(_written(response))
    usage = Usage(1, sent, received, cost=None, uncounted=1)
    price = shape.price_of(response)
    return usage if price is None else replace(usage, cost=price.most(usage))


def _count(counted: Any, name: str) -> int | None:  # noqa: ANN401
    value = _part(counted, name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and value >= 0 else None


def _part(of: Any, name: str) -> Any:  # noqa: ANN401
    return of.get(name) if isinstance(of, dict) else getattr(of, name, None)


def _written(response: Any) -> str:  # noqa: ANN401
    """All that a model wrote: thoughts, calls and refusals, too."""
    message = getattr(first_of(getattr(response, "choices", None)), "message", None)
    calls = getattr(message, "tool_calls", None)
    parts = [getattr(message, "content", None), thoughts_of(message), getattr(message, "refusal", None)]
    for call in calls if isinstance(calls, list) else ():
        parts.append(getattr(getattr(call, "function", None), "arguments", None))
    return "".join(part if isinstance(part, str) else shown(part) for part in parts if part)
