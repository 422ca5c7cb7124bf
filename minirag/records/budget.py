"""A limit on what one run may spend: each call reserves what it may cost before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from minirag.errors import BudgetExceededError

_UNSEEN = 1024  # tokens that the first answer of a task may have
_MARGIN = 1.5  # later ones may be so many times as long as the longest so far
_ROUNDING = 1e-12  # dollars


@dataclass(slots=True, eq=False)
class Reservation:
    """What one call may cost.

    Attributes:
        dollars: At most, by estimate.
        spent: What it did cost; None while, or where, that is unknown, and all of `dollars` counts then.
    """

    dollars: float
    spent: float | None = None


class Budget:
    """Dollars that a run, or several that share it, may spend. Used from one event loop.

    A call that does not fit beside those in flight waits until they have said what they took: estimates are high, so
    much comes back. Once one does not fit though nothing is in flight, the run has ended, and every further call is
    refused at once.

    Attributes:
        limit: Dollars.
        spent: Dollars so far.
    """

    def __init__(self, limit: float) -> None:
        """Begin with nothing spent.

        Raises:
            ValueError: If the limit is no number of dollars, 0 or more.
        """
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < float("inf"):
            raise ValueError(f"max_cost must be a number of dollars, 0 or more, not {limit!r}")
        self.limit = float(limit)
        self.spent = 0.0
        self._reserved: list[Reservation] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._longest: dict[str, int] = {}
        self._has_ended = False

    @classmethod
    def of(cls, max_cost: float | Budget | None) -> Budget | None:
        """A new one of so many dollars; one that is given stays, None is no limit.

        Raises:
            ValueError: If `max_cost` is no number of dollars.
        """
        return max_cost if max_cost is None or isinstance(max_cost, Budget) else cls(max_cost)

    def most_received(self, task: str) -> int:
        """How many tokens the next answer of a task may have, where nothing limits it."""
        longest = self._longest.get(task)
        return _UNSEEN if longest is None else round(longest * _MARGIN)

    def learn(self, task: str, tokens: int) -> None:
        """An answer of a task had so many tokens."""
        self._longest[task] = max(tokens, self._longest.get(task, 0))

    def require(self, dollars: float) -> None:
        """Check that so much is left, for work that is worth nothing when it stops in the middle.

        Raises:
            BudgetExceededError: If it is not.
        """
        if self._has_ended or not self._fits(dollars):
            raise BudgetExceededError(limit=self.limit, spent=self.spent, needed=dollars)

    @asynccontextmanager
    async def reserve(self, estimate: Callable[[], float]) -> AsyncIterator[Reservation]:
        """Keep so much for what is done inside, which then says what it did cost; what fails costs nothing.

        Args:
            estimate: Gives the dollars; asked again after a wait, in which it may have learned.

        Raises:
            BudgetExceededError: If so much is not left.
        """
        dollars = estimate()
        while not self._has_ended and self._reserved and not self._fits(dollars):
            await self._wait()
            dollars = estimate()
        try:
            self.require(dollars)
        except BudgetExceededError:
            self._has_ended = True
            self._wake()
            raise
        reservation = Reservation(dollars)
        self._reserved.append(reservation)
        try:
            yield reservation
            self.spent += dollars if reservation.spent is None else reservation.spent
        finally:
            self._reserved.remove(reservation)
            self._wake()

    def _fits(self, dollars: float) -> bool:
        reserved = sum(reservation.dollars for reservation in self._reserved)
        return self.spent + reserved + dollars <= self.limit + _ROUNDING

    async def _wait(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        await place

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for place in waiting:
            if not place.done():
                place.set_result(None)
