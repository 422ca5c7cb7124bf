"""How many requests are open at once: at most so many, fewer while the provider limits the rate, the oldest first."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count
from time import monotonic
from typing import Literal

Outcome = Literal["answered", "rate_limited", "failed"]

_FORGIVEN = 0.2  # the share of rate limits that is no reason to slow down: some providers scatter half as many
_PROOF = 3.0  # rate limits beyond that share which show that the limit is too high
_LOWER = 0.7
_KNOWN = 0.85  # up to this part of where it was too high the limit rises quickly again
_OTHER = 2  # rate limits below that, which show that they have another cause
_CALM = 32  # times as many answers as the limit, without a rate limit among them, make it rise quickly beyond
_MEMORY = 1 / 8  # how much one answer moves the running mean of seconds
_SPACING = 0.9  # of the seconds in which a place comes free on the average
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
        """Begin with `most`.

        Raises:
            ValueError: If nobody would ever be let through.
        """
        if most < 1:
            raise ValueError(f"max_parallel must be at least 1, not {most}")
        self.most = most
        self.limit = float(most)
        self._inside = 0
        self._excess = 0.0  # rate limits beyond what is forgiven, of requests sent since the limit was last lowered
        self._lowered_at = 0.0
        self._too_high = float("inf")  # where the limit was when it was last lowered, if that is why
        self._below = 0  # rate limits well below that
        self._calm = 0  # answers since the last rate limit
        self._seconds = 0.0  # that a request is open, a running mean
        self._held_until = 0.0
        self._shut_until = 0.0  # for so long the provider asked to wait; one call at a time tries meanwhile
        self._pause = 0.0  # seconds until the next one tries
        self._opening: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # that of the one before
        self._tickets = count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []

    async def enter(self, number: float) -> None:
        """Wait for a place; whoever has the smallest number is next. `leave` gives it back."""
        if self._inside < int(self.limit) and not self._waiting and monotonic() >= self._held_until:
            self._let_in()
            return
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        heapq.heappush(self._waiting, (number, next(self._tickets), place))
        if self._opening is None or self._loop is not loop:  # what was to end a hold ended with its loop
            self._open_after(max(0.0, self._held_until - monotonic()))
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

    def note(self, outcome: Outcome, *, seconds: float = 0.0, wait: float | None = None) -> None:
        """Learn from a request: down by steps while too many meet rate limits, slowly up with each that is answered.

        What is refused of requests that were sent before the last step says nothing of it.

        Args:
            outcome: What became of it. One that failed in another way, such as by a server that is overloaded or not
                there, tells nothing of the rate that the provider allows.
            seconds: How long the request was open.
            wait: Seconds that the provider asked to wait. When too many answers are rate limits the gate shuts for so
                long: all that queue would only be refused in turn, and use up their patience. But many providers ask
                for the same second of everybody, whatever is free before, and a shut gate wastes that. So one call
                tries after as long as a request takes, the next after twice as long, and an answer opens the gate.
        """
        if outcome == "failed":
            return
        is_sent_since = monotonic() - seconds >= self._lowered_at
        if outcome == "answered":
            if is_sent_since:
                self._reopen()
            self._seconds += (seconds - self._seconds) * _MEMORY
            self._excess = max(0.0, self._excess - _FORGIVEN)
            self._calm += 1
            self._raise()
            return
        self._calm = 0
        if monotonic() < self._shut_until:
            self._shut_until = max(self._shut_until, monotonic() + min(wait or 0.0, _LONGEST_HOLD))
        elif is_sent_since:
            self._suspect(wait)

    def _suspect(self, wait: float | None) -> None:
        """Lower the limit if that was one rate limit too many."""
        if self.limit < self._too_high * _KNOWN:
            self._below += 1
            if self._below >= _OTHER:
                self._too_high = float("inf")
        self._excess += 1 - _FORGIVEN
        if self._excess > _PROOF:
            self._excess, self._lowered_at, self._too_high, self._below = 0.0, monotonic(), self.limit, 0
            self.limit = max(1.0, self.limit * _LOWER)
            self._shut(min(wait or 0.0, _LONGEST_HOLD))

    def _raise(self) -> None:
        """By one for as many answers as the limit; near where it was too high, at first by a small part of that."""
        if self.limit < self.most:
            is_known = self.limit < self._too_high * _KNOWN
            pace = 1.0 if is_known else min(1.0, max(1.0, self._calm / self.limit) / _CALM)
            self.limit = min(float(self.most), self.limit + pace / self.limit)
            self._admit()

    def _shut(self, seconds: float) -> None:
        if seconds > 0:
            self._shut_until = monotonic() + seconds
            self._pause = self._seconds or seconds
            self._hold(min(self._pause, seconds))

    def _reopen(self) -> None:
        """One that tried was answered: the others need not wait for so long as the provider asked for."""
        if monotonic() < self._shut_until:
            self._shut_until = 0.0
            self._hold(0.0)

    def _hold(self, seconds: float) -> None:
        """Let nobody in for so long."""
        self._held_until = monotonic() + seconds
        self._open_after(seconds)

    def _open_after(self, seconds: float) -> None:
        if self._opening is not None:
            self._opening.cancel()
        self._loop = asyncio.get_running_loop()
        self._opening = self._loop.call_later(seconds, self._open)

    def _open(self) -> None:
        """After a hold, unless the clock is a little behind."""
        self._opening = None
        left = self._held_until - monotonic()
        if left > 0:
            self._hold(left)
        self._admit()

    def _let_in(self) -> None:
        """One more is inside; while the limit is lowered those behind it come one by one, not all at once."""
        self._inside += 1
        left = self._shut_until - monotonic()
        if left > 0:
            self._pause *= 2
            self._hold(min(self._pause, left))
        elif self.limit < self.most:
            self._hold(self._seconds / self.limit * _SPACING)

    def _admit(self) -> None:
        while self._waiting and self._inside < int(self.limit) and monotonic() >= self._held_until:
            place = heapq.heappop(self._waiting)[2]
            if not place.done():
                self._let_in()
                place.set_result(None)
