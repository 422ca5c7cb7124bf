"""What a model costs, by the price map that LiteLLM carries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from minirag.llm.catalog import read_models
from minirag.llm.routing import Route
from minirag.records import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per token: sent, received, and sent but cached by the provider."""

    prompt: float
    completion: float
    cached: float

    def cost(self, usage: Usage) -> float:
        """Dollars for the tokens of `usage`."""
        fresh = usage.prompt_tokens - usage.cached_tokens
        return fresh * self.prompt + usage.cached_tokens * self.cached + usage.completion_tokens * self.completion


def find_price(route: Route, *, api_base: str | None = None) -> Price | None:
    """The price of a model, None where it is unknown.

    An OpenAI-compatible endpoint that is not OpenAI's own has no known price, whatever the model is called there;
    neither has a paid provider's model that is reached through an address of this machine.
    """
    base = api_base or (os.environ.get("OPENAI_BASE_URL") if route.library == "openai" else None)
    host = (urlsplit(base).hostname or "") if base else ""
    if route.library == "openai" and host and not host.endswith("openai.com"):
        return None
    price = _price_of(_entry(route))
    is_local = host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")
    return None if price and is_local and price.prompt > 0 else price


def _entry(route: Route) -> dict[str, Any]:
    models = read_models()
    if route.library == "openai":
        entry = models.get(route.model, {})
        return entry if entry.get("litellm_provider") == "openai" else {}
    if route.model in models:
        return models[route.model]
    provider, _, name = route.model.partition("/")
    entry = models.get(name, {})
    return entry if str(entry.get("litellm_provider", "")).startswith(provider) else {}


def _price_of(entry: dict[str, Any]) -> Price | None:
    sent = entry.get("input_cost_per_token")
    if sent is None:
        return None
    return Price(
        prompt=float(sent),
        completion=float(entry.get("output_cost_per_token") or 0.0),
        cached=float(entry.get("cache_read_input_token_cost") or sent),
    )
