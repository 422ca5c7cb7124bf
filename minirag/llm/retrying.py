"""Retrying in one place: exponential back-off with jitter that honours Retry-After, bounded in attempts and time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from minirag.llm.faults import Fault, FaultError
from minirag.llm.silence import Silence

if TYPE_CHECKING:
    from tenacity import RetryCallState

_log = logging.getLogger(__name__)
T = TypeVar("T")
_MOST_ATTEMPTS = {
    "broken": 2,  # each may be paid for, and code rarely fails by chance
    "misshapen": 2,  # likewise: servers rarely change the form of what they say
    "page": 2,  # a wrong address; where somebody answered before it is what a proxy says, and passes
    "absent": 5,  # in two seconds: what was never there is rather misspelt or not started than away for a moment
}


@dataclass(frozen=True, slots=True)
class Retries:
    """When to give up.

    Attributes:
        attempts: How often a call is tried, at least 1. Rate limits (429) do not count: they end by `seconds` alone.
        seconds: After so long no further attempt is made: time in which requests were open or waits between them went
            by counts, time in which the call queued for its turn does not. A Retry-After beyond it ends the call.
        first_wait: Seconds before the second attempt; doubled for each one after it. Where the first met a broken
            connection or what is no reply, and so nothing says that the provider is overloaded, the second follows at
            once.
        longest_wait: The most seconds between two attempts, unless the provider asks for more.
    """

    attempts: int = 10
    seconds: float = 120.0
    first_wait: float = 0.1
    longest_wait: float = 20.0


async def retry(
    call: Callable[[], Awaitable[T]], retries: Retries, *, spent: Callable[[], float], silence: Silence
) -> T:
    """Await `call()` until it succeeds or its fault is not transient.

    Args:
        call: One attempt.
        retries: When to give up.
        spent: Seconds that the attempts so far were open.
        silence: Told what failed, and when it is tried again.

    Raises:
        FaultError: The last fault, with how many attempts there were and how many seconds they and the waits took.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    async def sleep(seconds: float) -> None:
        with silence.watch(seconds, "tried again"):
            await asyncio.sleep(seconds)

    def report(state: RetryCallState) -> None:
        fault = _fault(state)
        outline = fault.outline if fault else ""
        silence.failed(outline)
        _log.info("attempt %d failed (%s), again in %.1f s", state.attempt_number, outline, state.upcoming_sleep)

    attempting = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, FaultError) and error.fault.is_tried_again),
        wait=lambda state: _wait(state, retries),
        stop=lambda state: _is_enough(state, retries, spent()),
        sleep=sleep,
        before_sleep=report,
        reraise=True,
    )
    try:
        return await attempting(call)
    except FaultError as error:
        error.attempts = int(attempting.statistics["attempt_number"])
        error.seconds = float(attempting.statistics["idle_for"]) + spent()
        raise


def _is_enough(state: RetryCallState, retries: Retries, spent: float) -> bool:
    """Tenacity's own limit of time would count that in which a call queued for its first attempt."""
    if spent + state.idle_for + state.upcoming_sleep > retries.seconds:
        return True
    fault = _fault(state)
    if fault is not None and fault.kind in _MOST_ATTEMPTS and state.attempt_number >= _MOST_ATTEMPTS[fault.kind]:
        return True
    is_rate_limit = fault is not None and fault.status == 429 and retries.attempts > 1
    return state.attempt_number >= retries.attempts and not is_rate_limit


def _wait(state: RetryCallState, retries: Retries) -> float:
    """What the provider asks for, else twice the last wait, first perhaps none; and jitter that grows likewise."""
    from tenacity import wait_exponential, wait_random

    doubled = wait_exponential(multiplier=retries.first_wait, max=retries.longest_wait)(state)
    fault = _fault(state)
    if fault is not None and fault.wait is not None:
        return fault.wait + wait_random(0, doubled)(state)
    if state.attempt_number == 1 and fault is not None and fault.status in (None, 200):
        return 0.0
    return doubled + wait_random(0, retries.first_wait)(state)


def _fault(state: RetryCallState) -> Fault | None:
    error = state.outcome.exception() if state.outcome else None
    return error.fault if isinstance(error, FaultError) else None
