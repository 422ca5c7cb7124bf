"""What one answer cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minirag.llm.prices import Price
from minirag.records import Usage


def read_usage(response: Any, price: Price | None, seconds: float) -> Usage:  # noqa: ANN401
    """The usage of a completion or an embedding; the cost is None without a price or without the number of tokens."""
    counted = getattr(response, "usage", None)
    sent, received = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    cached = _count(getattr(counted, "prompt_tokens_details", None), "cached_tokens")
    usage = Usage(1, sent, received, min(cached, sent), None, seconds, uncounted=int(sent == 0))
    known = price is not None and (sent > 0 or price == Price(0.0, 0.0, 0.0))
    return replace(usage, cost=price.cost(usage)) if price is not None and known else usage


def _count(counted: Any, name: str) -> int:  # noqa: ANN401
    value = counted.get(name) if isinstance(counted, dict) else getattr(counted, name, None)
    return value if isinstance(value, int) and value > 0 else 0
