"""What a model costs, by the price map that LiteLLM carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minirag.llm.routing import Route, find_entry, find_host
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
    price = _price_of(find_entry(route, api_base=api_base))
    host = find_host(route, api_base=api_base)
    is_local = host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")
    return None if price and is_local and price.prompt > 0 else price


def _price_of(entry: dict[str, Any]) -> Price | None:
    sent = entry.get("input_cost_per_token")
    if sent is None:
        return None
    return Price(
        prompt=float(sent),
        completion=float(entry.get("output_cost_per_token") or 0.0),
        cached=float(entry.get("cache_read_input_token_cost") or sent),
    )
