"""How many requests are open at once: at most so many, fewer while the provider limits the rate, the oldest first."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count
from time import monotonic

_MEMORY = 1 / 16  # how much one answer moves the running share of rate limits
_CROWDED = 0.5  # lower the limit above this share: a few refusals among many answers are no reason to slow down
_LOWER = 0.7
_LONGEST_HOLD = 20.0  # seconds; a provider may ask for an hour, which ends calls instead


class Gate:
    """Lets calls through, in the order of their numbers.

    A call that failed and comes back goes before all that began after it. Otherwise its waits would only begin when
    everything else is done, and a run would end with a long tail of retries.

    Attributes:
        most: The most calls that are ever let through at once.
        limit: How many are let through now, 1 to `most`.
    """

    def __init__(self, most: int) -> None:
        """Begin with `most`."""
        self.most = most
        self.limit = float(most)
        self._inside = 0
        self._limited_share = 0.0
        self._held_until = 0.0
        self._tickets = count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []

    async def enter(self, number: float) -> None:
        """Wait for a place; whoever has the smallest number is next. `leave` gives it back."""
        if self._inside < int(self.limit) and not self._waiting and monotonic() >= self._held_until:
            self._inside += 1
            return
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (number, next(self._tickets), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # given in the same moment
                self.leave()
            raise

    def leave(self) -> None:
        """Give a place back."""
        self._inside -= 1
        self._admit()

    def note(self, *, rate_limited: bool, wait: float | None = None) -> None:
        """Learn from an answer: quickly down when most are rate limits, slowly up again with each that is not.

        Args:
            rate_limited: Whether it was one.
            wait: Seconds that the provider asked to wait. While most answers are rate limits nobody enters for so long:
                all that queue would only be refused in turn, and use up their patience.
        """
        self._limited_share += ((1.0 if rate_limited else 0.0) - self._limited_share) * _MEMORY
        if rate_limited and self._limited_share > _CROWDED:
            self.limit = max(1.0, self.limit * _LOWER)
            self._limited_share /= 2  # see what that did before the next step
            self._hold(min(wait or 0.0, _LONGEST_HOLD))
        elif not rate_limited and self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._admit()

    def _hold(self, seconds: float) -> None:
        if seconds > 0 and monotonic() + seconds > self._held_until:
            self._held_until = monotonic() + seconds
            asyncio.get_running_loop().call_later(seconds, self._admit)

    def _admit(self) -> None:
        if monotonic() < self._held_until:
            return
        while self._waiting and self._inside < int(self.limit):
            place = heapq.heappop(self._waiting)[2]
            if not place.done():
                self._inside += 1
                place.set_result(None)
