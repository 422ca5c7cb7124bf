"""The one event loop on which everything asynchronous of minirag runs, on a thread of its own.

Synchronous calls wait for it, asynchronous ones await it from whichever loop they are on. So both work in scripts, in
notebooks and in servers, from many threads at once, and network clients never move between loops.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future, wait
from functools import cache
from typing import Any, Generic, TypeVar

from minirag.ending import Ending, enter_run

Result = TypeVar("Result")
POLL = 0.5  # seconds that a wait lasts before it looks whether it was interrupted
_LET_GO = 5.0  # seconds that cancelled work gets to release locks and close files


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end and give the result; an interrupt (Ctrl-C) cancels the work and waits until it has let go.

    The work lets go within a second, in which it keeps what is on its way; a second interrupt has it let go at once.

    Raises:
        RuntimeError: When called on the loop itself, where waiting would never end.
    """
    check_thread(work)
    started = Started(work)
    try:
        while not wait([started.future], timeout=POLL).done:
            pass  # Windows lets Ctrl-C through only between two waits
        return started.future.result()
    except BaseException:
        started.cancel()
        raise


def check_thread(work: Coroutine[Any, Any, Any]) -> None:
    """See that waiting for the work here would not wait for ever.

    Raises:
        RuntimeError: On the loop itself.
    """
    if threading.current_thread() is _loop(os.getpid()).thread:
        work.close()
        raise RuntimeError("a synchronous minirag call inside minirag's own loop: await the asynchronous one instead")


class Started(Generic[Result]):
    """Work that runs on the loop.

    Attributes:
        future: Its result.
    """

    def __init__(self, work: Coroutine[Any, Any, Result]) -> None:
        """Start it."""
        self._begun, self._finished, self._ending = threading.Event(), threading.Event(), Ending()
        self.future = _submit(self._mark(work))

    def abandon(self) -> None:
        """Cancel it, if it still runs, without waiting."""
        if not self._finished.is_set():
            self.future.cancel()

    def cancel(self) -> None:
        """Cancel it, if it still runs, and wait until it has let go of locks and files."""
        if not self._finished.is_set():
            self._ending.begin()
            self.future.cancel()
            background = _loop(os.getpid()).loop
            background.call_soon_threadsafe(self._forget)
            try:
                self._finished.wait(_LET_GO)
            except BaseException:
                self.hurry()
                raise

    def hurry(self) -> None:
        """Let what was cancelled let go at once, and wait until it has."""
        _loop(os.getpid()).loop.call_soon_threadsafe(self._ending.hurry)
        self._finished.wait(_LET_GO)

    async def _mark(self, work: Coroutine[Any, Any, Result]) -> Result:
        self._begun.set()
        enter_run(self._ending)
        try:
            return await work
        finally:
            self._finished.set()

    def _forget(self) -> None:
        """What was cancelled before its first step never takes it."""
        if not self._begun.is_set():
            self._finished.set()


def run_or_start(work: Coroutine[Any, Any, None]) -> None:
    """`run`, but on the loop itself, which cannot wait for its own work: there it is done once the loop is free."""
    background = _loop(os.getpid())
    if threading.current_thread() is background.thread:
        background.start(work)
    else:
        run(work)


async def await_(work: Coroutine[Any, Any, Result]) -> Result:
    """Await the work from any asyncio loop; cancelling the caller cancels it and waits until it has let go.

    As of `run`: cancelled again, it lets go at once.
    """
    started = Started(work)
    try:
        return await asyncio.shield(asyncio.wrap_future(started.future))
    except asyncio.CancelledError:
        try:
            await asyncio.to_thread(started.cancel)
        except asyncio.CancelledError:
            await asyncio.to_thread(started.hurry)
        raise


async def finish(work: Awaitable[Result]) -> Result:
    """Await the work to its end, even when cancelled meanwhile: a thread that writes cannot be stopped."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _submit(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    return asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()).loop)


class _BackgroundLoop:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="minirag", daemon=True)
        self.thread.start()
        self._started: set[asyncio.Task[None]] = set()  # the loop itself would let them be collected

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let it run; called on the loop."""
        task = self.loop.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)


@cache
def _loop(process: int) -> _BackgroundLoop:  # noqa: ARG001  a forked child has the memory of a loop but not its thread
    return _BackgroundLoop()
