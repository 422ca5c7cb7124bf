"""How a run ends before its time: calls in flight have a moment left to be answered and kept, and none begins."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
GRACE = 0.7  # seconds that calls in flight have left; a run stops within one


@contextmanager
def noting(how: str, call: str, log: logging.Logger) -> Iterator[None]:
    """Around a call that is interrupted or cancelled: how to go on, in the log, and as a note on what is raised."""
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError) as stopped:
        stopped.add_note(how)
        log.info("%s was stopped. %s", call, how)
        raise


class Ending:
    """The end of one run, once it begins; used on the loop that the run is on, but for what belongs to its threads.

    A thread that a run has begun cannot be stopped: it looks itself, between two pieces of its work, whether somebody
    still waits for it (`check_wanted`). The runs that it begins in turn and waits for, such as the calls of a hosted
    encoder, end with this one.

    Attributes:
        fault: For which it ends; None where it was cancelled.
    """

    def __init__(self) -> None:
        """It has not begun."""
        self.fault: Exception | None = None
        self._until: float | None = None
        self._lingering: set[asyncio.Task[Any]] = set()
        self._lock = threading.Lock()
        self._is_over = False
        self._within: set[Callable[[], None]] = set()  # how to end the runs of its threads

    @property
    def has_begun(self) -> bool:
        """Whether no call may begin any more."""
        return self._until is not None

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for its threads any more."""
        return self._is_over

    def begin(self, fault: Exception | None = None) -> None:
        """Let no call begin any more; what is cancelled from now on may linger for what is left of `GRACE`."""
        if self._until is None:
            self._until, self.fault = monotonic() + GRACE, fault
        elif fault is None:
            self.fault = None
        if fault is None:
            self.end_within()

    def end_within(self) -> None:
        """End the runs of its threads: it is cancelled, or over, and nobody waits for them."""
        with self._lock:
            self._is_over = True
            within = list(self._within)
        for end in within:
            end()

    def bind(self, end: Callable[[], None]) -> bool:
        """Have `end` called, once, if this is cancelled or over before `release`; whether it is not so already."""
        with self._lock:
            if not self._is_over:
                self._within.add(end)
            return not self._is_over

    def release(self, end: Callable[[], None]) -> None:
        """What was bound is done."""
        with self._lock:
            self._within.discard(end)

    def withdraw(self) -> None:
        """What ends for a fault ends no more: the run goes on without."""
        if self.fault is not None:
            self._until = self.fault = None

    def hurry(self) -> None:
        """End at once."""
        self._until = monotonic()
        for task in self._lingering:
            task.cancel()

    async def wait_for(self, task: asyncio.Task[Any]) -> None:
        """Wait until the task is done, or its time is over."""
        self._lingering.add(task)
        try:
            await asyncio.wait([task], timeout=max(0.0, (self._until or 0.0) - monotonic()))
        finally:
            self._lingering.discard(task)


_CURRENT: ContextVar[Ending | None] = ContextVar("ending", default=None)  # tasks have that of their run


def enter_run(ending: Ending) -> None:
    """What is begun from here on belongs to a run that ends so."""
    _CURRENT.set(ending)


def current_ending() -> Ending:
    """That of the run which this is a part of; outside of any, one that never begins."""
    return _CURRENT.get() or Ending()


def check_wanted() -> None:
    """See that somebody still waits for what a thread of a run does; outside of any run somebody does.

    Raises:
        CancelledError: If the run was cancelled or is over: the process could not end before the thread.
    """
    if current_ending().is_over:
        raise asyncio.CancelledError


def while_wanted(items: Iterable[Item]) -> Iterator[Item]:
    """Each of them, as long as somebody waits for it.

    Raises:
        CancelledError: As `check_wanted`.
    """
    for item in items:
        check_wanted()
        yield item


async def in_thread(function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:  # noqa: ANN401
    """`asyncio.to_thread`, but as its run is cancelled the thread has a moment left to keep what it paid for.

    Raises:
        CancelledError: If it was cancelled, whatever came of it.
    """
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await current_ending().wait_for(task)
        task.cancel()
        raise


async def linger(work: Coroutine[Any, Any, Result]) -> Result:
    """Await a call that is to be kept: cancelled as its run ends, it may still come to its end meanwhile.

    Raises:
        CancelledError: If it was cancelled and did not succeed in time.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ending, this = current_ending(), asyncio.current_task()
        if ending.has_begun:
            await ending.wait_for(task)
        if ending.has_begun and this and task.done() and not task.cancelled() and task.exception() is None:
            this.uncancel()
            return task.result()
        task.cancel()
        await asyncio.wait([task])
        raise
