"""Retrying in one place: exponential back-off with jitter that honours Retry-After, bounded in attempts and time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from minirag.llm.faults import FaultError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retries:
    """When to give up.

    Attributes:
        attempts: How often a call is tried, at least 1.
        seconds: The most time spent between the attempts of one call, in all. A Retry-After beyond it ends the call.
        first_wait: Seconds before the second attempt; doubled for each one after it.
        longest_wait: The most seconds between two attempts, unless the provider asks for more.
    """

    attempts: int = 6
    seconds: float = 120.0
    first_wait: float = 0.5
    longest_wait: float = 20.0


async def retry(call: Callable[[], Awaitable[T]], retries: Retries) -> T:
    """Await `call()` until it succeeds or its fault is not transient.

    Raises:
        FaultError: The last fault, with how many attempts there were and how many seconds lay between them.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    attempting = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, FaultError) and error.fault.kind == "transient"),
        wait=lambda state: _wait(state, retries),
        stop=lambda state: _is_enough(state, retries),
        before_sleep=_report,
        reraise=True,
    )
    try:
        return await attempting(call)
    except FaultError as error:
        error.attempts = int(attempting.statistics["attempt_number"])
        error.seconds = float(attempting.statistics["idle_for"])
        raise


def _is_enough(state: RetryCallState, retries: Retries) -> bool:
    """Counts waits only: tenacity's own limit would count the time in which a call queued for its first attempt."""
    waited = state.idle_for + state.upcoming_sleep
    return state.attempt_number >= retries.attempts or waited > retries.seconds


def _wait(state: RetryCallState, retries: Retries) -> float:
    from tenacity import wait_exponential, wait_random

    jitter = wait_random(0, retries.first_wait)(state)
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, FaultError) and error.fault.wait is not None:
        return error.fault.wait + jitter
    return wait_exponential(multiplier=retries.first_wait, max=retries.longest_wait)(state) + jitter


def _report(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    _log.info("attempt %d failed (%s), again in %.1f s", state.attempt_number, error, state.upcoming_sleep)
