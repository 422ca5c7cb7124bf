"""A limit on what one run may spend: each call reserves what it may cost before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
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

    @property
    def cost(self) -> float:
        """What counts as spent once the call is over."""
        return self.dollars if self.spent is None else self.spent


class Budget:
    """Dollars that a run, or several that share it, may spend. Used from one event loop.

    A call that does not fit beside those in flight waits until they have said what they took: estimates are high, so
    much comes back. Once one does not fit though nothing is in flight, the run has ended, and every further call is
    refused at once.

    Work of several calls that is worth nothing unless it comes to its end is done in a share, which `begin` gives once
    what it may need is left beside what those need that were begun before.

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
        self._shares: list[Share] = []
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
        self._require(dollars, self._shares)

    @asynccontextmanager
    async def reserve(self, estimate: Callable[[], float]) -> AsyncIterator[Reservation]:
        """Keep so much for what is done inside, which then says what it did cost; what fails costs nothing.

        Args:
            estimate: Gives the dollars; asked again after a wait, in which it may have learned.

        Raises:
            BudgetExceededError: If so much is not left.
        """
        try:
            reservation = await self._enter(estimate, self._shares)
        except BudgetExceededError:
            self._has_ended = True
            self._wake()
            raise
        async with self._holding(reservation):
            yield reservation

    @asynccontextmanager
    async def begin(self, *, alone: Callable[[], float], beside: Callable[[], float]) -> AsyncIterator[Share]:
        """Begin a piece of work that is worth nothing unless it comes to its end.

        It waits until what it may need is left beside what the pieces need that were begun before it.

        Args:
            alone: Gives the dollars that it needs where no other piece is open; 0 where that is not known.
            beside: The same, rather too many, where others are, which would lose what they paid for; `inf` has it, and
                what comes after it, wait until it is alone.

        Raises:
            BudgetExceededError: If so much is not left though no other piece is open.
        """
        while not self._has_ended and self._shares and not self._fits(beside(), self._shares):
            await self._wait()
        needed = beside() if self._shares else alone()
        if self._has_ended or not self._fits(needed, self._shares):
            raise BudgetExceededError(limit=self.limit, spent=self.spent, needed=needed, what="question")
        share = Share(self, beside())
        self._shares.append(share)
        try:
            yield share
        finally:
            self._shares.remove(share)
            self._wake()

    async def _enter(self, estimate: Callable[[], float], before: Sequence[Share]) -> Reservation:
        """Reserve what a call may cost, beside what is set aside for those shares."""
        dollars = estimate()
        while not self._has_ended and self._reserved and not self._fits(dollars, before):
            await self._wait()
            dollars = estimate()
        self._require(dollars, before)
        reservation = Reservation(dollars)
        self._reserved.append(reservation)
        return reservation

    @asynccontextmanager
    async def _holding(self, reservation: Reservation) -> AsyncIterator[None]:
        try:
            yield
            self.spent += reservation.cost
        finally:
            self._reserved.remove(reservation)
            self._wake()

    def _require(self, dollars: float, before: Sequence[Share]) -> None:
        if self._has_ended or not self._fits(dollars, before):
            raise BudgetExceededError(limit=self.limit, spent=self.spent, needed=dollars)

    def _fits(self, dollars: float, before: Sequence[Share]) -> bool:
        reserved = sum(reservation.dollars for reservation in self._reserved)
        aside = sum(share.aside for share in before)
        return self.spent + reserved + aside + dollars <= self.limit + _ROUNDING

    async def _wait(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        await place

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for place in waiting:
            if not place.done():
                place.set_result(None)


class Share(Budget):
    """What one piece of work takes of a budget that it shares with others; see `Budget.begin`.

    Attributes:
        needed: Dollars that would have done for it from its beginning, by what is known at its end.
    """

    def __init__(self, whole: Budget, expected: float) -> None:
        """Set so many dollars aside, for its calls to take from."""
        super().__init__(whole.limit)
        self.needed = 0.0
        self._whole, self._expected = whole, expected

    @property
    def aside(self) -> float:
        """Dollars that are still kept for it: those expected that it has neither spent nor reserved."""
        return max(0.0, self._expected - self._taken)

    @property
    def _taken(self) -> float:
        return self.spent + sum(reservation.dollars for reservation in self._reserved)

    @property
    def _older(self) -> Sequence[Share]:
        shares = self._whole._shares
        return shares[: shares.index(self)]

    def most_received(self, task: str) -> int:
        """As of the whole."""
        return self._whole.most_received(task)

    def learn(self, task: str, tokens: int) -> None:
        """As of the whole."""
        self._whole.learn(task, tokens)

    def require(self, dollars: float) -> None:
        """As of the whole, beside what is set aside for shares that were begun before."""
        try:
            self._whole._require(dollars, self._older)
        except BudgetExceededError:
            self._need(self._taken + dollars)
            raise

    @asynccontextmanager
    async def reserve(self, estimate: Callable[[], float]) -> AsyncIterator[Reservation]:
        """As of the whole, beside what is set aside for shares that were begun before; other shares may go on."""
        try:
            reservation = await self._whole._enter(estimate, self._older)
        except BudgetExceededError as error:
            self._need(self._taken + error.needed)
            raise
        before = self._taken
        self._reserved.append(reservation)
        async with self._holding(reservation), self._whole._holding(reservation):
            yield reservation
        self._need(before + max(estimate(), reservation.cost))

    def _need(self, dollars: float) -> None:
        self.needed = max(self.needed, dollars)
