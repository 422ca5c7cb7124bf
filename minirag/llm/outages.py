"""A provider that is gone: once some calls of a run have given up in a row, the others do not wait for it as well."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import monotonic
from typing import TypeVar

from minirag.llm.faults import Fault, FaultError

T = TypeVar("T")

_ENOUGH = 4  # calls that gave up after all of their attempts, while no call of the run was answered


class Outage:
    """What one run knows of its provider.

    While it is down, one call at a time sees whether it is back, at most one every `pause` seconds; all others fail at
    once. The first answer ends it.
    """

    def __init__(self, *, pause: float) -> None:
        """The provider is there until shown otherwise; `pause`: seconds."""
        self._pause = pause
        self._given_up = 0
        self._last: Fault | None = None
        self._tried_at = 0.0
        self._trying = Lock()

    async def attempt(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await `call()`, unless the provider is down.

        Raises:
            FaultError: The call's, or one of the kind "outage", which is not to be tried again, without the provider's
                words: they were about another call, and may quote what that one sent.
        """
        if self._down() is None:
            return await self._watched(call)
        async with self._trying:
            fault = self._down()
            if fault is None or monotonic() - self._tried_at >= self._pause:
                return await self._watched(call)
        raise FaultError(replace(fault, kind="outage", reason=fault.outline))

    def give_up(self, fault: Fault) -> None:
        """A call has had all of its attempts."""
        self._given_up += 1
        self._last, self._tried_at = fault, monotonic()

    async def _watched(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await call()
        except FaultError as error:
            if not error.fault.is_tried_again:
                self._given_up = 0  # it answered
            self._tried_at = monotonic()
            raise
        self._given_up = 0
        return result

    def _down(self) -> Fault | None:
        return self._last if self._given_up >= _ENOUGH else None
