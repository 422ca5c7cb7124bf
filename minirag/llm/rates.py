"""At most so many requests and tokens per minute, spread evenly: providers count over windows of their own."""

from __future__ import annotations

import asyncio
from time import monotonic


class Rate:
    """Lets through so much per minute, one after the other, without bursts."""

    def __init__(self, per_minute: float) -> None:
        """The first one goes at once.

        Raises:
            ValueError: If it is not above 0.
        """
        if per_minute <= 0:
            raise ValueError(f"a rate per minute must be above 0, not {per_minute}")
        self._seconds_each = 60.0 / per_minute
        self._free_at = 0.0

    async def take(self, amount: float) -> None:
        """Wait for one's turn; who comes first is served first. A cancelled wait gives its part back."""
        now = monotonic()
        start = max(self._free_at, now)
        self._free_at = start + amount * self._seconds_each
        try:
            await asyncio.sleep(start - now)
        except asyncio.CancelledError:
            self.give_back(amount)
            raise

    def give_back(self, amount: float) -> None:
        """Correct what was taken: less was used, or, below 0, more."""
        self._free_at -= amount * self._seconds_each


class Rates:
    """The limits of one model, both of them or neither."""

    def __init__(self, *, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """None for no limit.

        Raises:
            ValueError: If one is not above 0.
        """
        self._requests = None if requests_per_minute is None else Rate(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else Rate(tokens_per_minute)
        self._received = 500.0  # tokens of a reply: a running mean, from a first guess

    @property
    def counts_tokens(self) -> bool:
        """Whether it needs to know how long requests are."""
        return self._tokens is not None

    async def wait(self, sent: int) -> None:
        """Wait until a request with so many tokens may go."""
        if self._tokens is not None:
            await self._tokens.take(sent + self._received)
        if self._requests is not None:
            await self._requests.take(1)

    def settle(self, sent: int, used: int, received: int) -> None:
        """Correct the estimate of a request by what it used."""
        if self._tokens is not None:
            self._tokens.give_back(sent + self._received - used)
            self._received += (received - self._received) / 8
