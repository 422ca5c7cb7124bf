"""What a model costs, by the price map that LiteLLM carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from minirag.llm.routing import Route, find_entry, find_host, is_of_the_user
from minirag.records import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per token: sent, received, sent but cached by the provider, and sent to be cached (None as any sent)."""

    prompt: float
    completion: float
    cached: float
    written: float | None = None

    def cost(self, usage: Usage, *, written: int = 0) -> float:
        """Dollars for the tokens of `usage`, of which so many were written to the provider's cache."""
        fresh = usage.prompt_tokens - usage.cached_tokens - written
        sent = fresh * self.prompt + usage.cached_tokens * self.cached + written * self._written
        return sent + usage.completion_tokens * self.completion

    def most(self, usage: Usage) -> float:
        """Dollars for those tokens at most: nobody knows before what will be written to the cache."""
        return self.cost(usage, written=usage.prompt_tokens if self._written > self.prompt else 0)

    @property
    def is_free(self) -> bool:
        """Whether no token costs anything."""
        return not any(self.numbers)

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """All four."""
        return self.prompt, self.completion, self.cached, self._written

    @property
    def _written(self) -> float:
        return self.prompt if self.written is None else self.written


def price_given(model: str, prices: Mapping[str, Sequence[float]]) -> Price | None:
    """What the user says that a model costs; None where nothing is said.

    Args:
        model: As it was given.
        prices: Dollars per million tokens, sent, received, sent but cached, and sent to be cached, by model; the last
            two may be left out, and are then those of what is sent.

    Raises:
        ValueError: If one is not two to four numbers, 0 or more.
    """
    for name, price in prices.items():
        numbers = [*price] if isinstance(price, Sequence) and not isinstance(price, str) else []
        if not 2 <= len(numbers) <= 4 or not all(isinstance(n, int | float) and 0 <= n < inf for n in numbers):
            raise ValueError(f"the price of {name!r} is dollars per million tokens, (sent, received), not {price!r}")
    if model not in prices:
        return None
    sent, received, *others = prices[model]
    cached, written = (*others, sent, sent)[:2]
    return Price(sent / 1e6, received / 1e6, cached / 1e6, written / 1e6)


def find_price(route: Route, *, api_base: str | None = None) -> Price | None:
    """The price of a model, None where it is unknown.

    An OpenAI-compatible endpoint that is not OpenAI's own has no known price, whatever the model is called there;
    neither has a paid provider's model that is reached through an address of this machine. What the user has registered
    with LiteLLM is known everywhere.
    """
    price = price_in(find_entry(route, api_base=api_base))
    host = find_host(route, api_base=api_base)
    is_local = host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")
    return None if price and is_local and price.prompt > 0 and not is_of_the_user(route) else price


def highest(prices: Iterable[Price | None]) -> Price | None:
    """What tokens cost at most where nobody knows who is paid; None where one price is unknown, or there is none."""
    found = list(prices)
    numbers = [price.numbers for price in found if price is not None]
    if not numbers or len(numbers) < len(found):
        return None
    return Price(*(max(column) for column in zip(*numbers, strict=True)))


def price_in(entry: Mapping[str, Any]) -> Price | None:
    """The price that an entry in the form of LiteLLM's map has, None where it tells none."""
    sent = entry.get("input_cost_per_token")
    if sent is None:
        return None
    return Price(
        prompt=float(sent),
        completion=float(entry.get("output_cost_per_token") or 0.0),
        cached=float(entry.get("cache_read_input_token_cost") or sent),
        written=float(entry.get("cache_creation_input_token_cost") or sent),
    )
