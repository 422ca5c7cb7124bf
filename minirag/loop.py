"""The one event loop on which everything asynchronous of minirag runs, on a thread of its own.

Synchronous calls wait for it, asynchronous ones await it from whichever loop they are on. So both work in scripts, in
notebooks and in servers, from many threads at once, and network clients never move between loops.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from contextvars import Context
from functools import cache
from typing import Any, Generic, TypeVar

from minirag.ending import Ending, current_ending, enter_run

Result = TypeVar("Result")
POLL = 0.5  # seconds that a wait lasts before it looks whether it was interrupted
_LET_GO = 5.0  # seconds that cancelled work gets to release locks and close files
_REST = 1.0  # seconds at most that a fork waits for the loop, and the loop for a fork


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end and give the result; an interrupt (Ctrl-C) cancels the work and waits until it has let go.

    The work lets go within a second, in which it keeps what is on its way; a second interrupt has it let go at once.
    What the work raises comes out here, `SystemExit` and `KeyboardInterrupt` of a user's code too.

    Raises:
        RuntimeError: When called on the loop itself, where waiting would never end, or when the loop has ended.
        CancelledError: On a thread of a run that was cancelled or is over, which nobody waits for.
    """
    check_thread(work)
    started = Started(work)
    try:
        while not wait([started.future], timeout=POLL).done:
            started.check_alive()  # Windows lets Ctrl-C through only between two waits
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
        """Start it.

        Raises:
            CancelledError: On a thread of a run that was cancelled or is over.
        """
        self._begun, self._finished, self._ending = threading.Event(), threading.Event(), Ending()
        self._background = _loop(os.getpid())
        outer, end = current_ending(), self._end
        if not outer.bind(end):
            work.close()
            raise CancelledError
        self.future = asyncio.run_coroutine_threadsafe(self._mark(work), self._background.loop)
        self.future.add_done_callback(lambda _: outer.release(end))
        if self._ending.has_begun:  # meanwhile
            self.future.cancel()

    def check_alive(self) -> None:
        """See that it is not waited for in vain.

        Raises:
            RuntimeError: If the loop has ended, as in a forked child that of its parent.
        """
        if not self._background.thread.is_alive() and not self.future.done():
            raise RuntimeError("minirag's loop has ended, and with it what ran there: call again")

    def abandon(self) -> None:
        """Cancel it, if it still runs, without waiting."""
        if not self._finished.is_set():
            self.future.cancel()

    def cancel(self) -> None:
        """Cancel it, if it still runs, and wait until it has let go of locks and files."""
        if not self._finished.is_set():
            self._ending.begin()
            self.future.cancel()
            self._background.loop.call_soon_threadsafe(self._forget)
            try:
                self._finished.wait(_LET_GO)
            except BaseException:
                self.hurry()
                raise

    def hurry(self) -> None:
        """Let what was cancelled let go at once, and wait until it has."""
        self._background.loop.call_soon_threadsafe(self._ending.hurry)
        self._finished.wait(_LET_GO)

    async def _mark(self, work: Coroutine[Any, Any, Result]) -> Result:
        self._begun.set()
        enter_run(self._ending)
        try:
            return await work
        finally:
            self._ending.end_within()
            self._finished.set()

    def _end(self) -> None:
        self._ending.begin()
        if hasattr(self, "future"):
            self.future.cancel()

    def _forget(self) -> None:
        """What was cancelled before its first step never takes it."""
        if not self._begun.is_set():
            self._finished.set()


def run_or_start(work: Coroutine[Any, Any, None]) -> None:
    """`run`, but on the loop itself, which cannot wait for its own work: there it is done once the loop is free.

    It belongs to no run: what closes something is done also as one ends.
    """
    background = _loop(os.getpid())
    if threading.current_thread() is background.thread:
        background.start(work)
    else:
        Context().run(run, work)


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


class _BackgroundLoop:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="minirag", daemon=True)
        self.thread.start()
        self._started: set[asyncio.Task[None]] = set()  # the loop itself would let them be collected
        self._forks: dict[int, threading.Event] = {}  # by thread, set when it has forked
        if hasattr(os, "register_at_fork"):
            import concurrent.futures.thread  # noqa: F401  it has a hook, too: the last to come is the first that is called

            os.register_at_fork(before=self._rest, after_in_parent=self._go_on)

    def _run(self) -> None:
        """Asyncio stops at these two of a user's code, though the call that they belong to raises them, too."""
        while not self.loop.is_closed():
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()

    def _rest(self) -> None:
        """Before a fork: see that the loop's thread is between two steps.

        What it holds as another thread forks is held in the child for ever. Of an import that it is in the midst of, as
        LiteLLM has many while it works, no lock could tell.
        """
        if not self.thread.is_alive() or threading.current_thread() is self.thread:
            return
        rests = threading.Event()
        has_forked = self._forks[threading.get_ident()] = threading.Event()

        def rest() -> None:
            rests.set()
            has_forked.wait(_REST)

        with suppress(RuntimeError):  # the loop was closed
            self.loop.call_soon_threadsafe(rest)
            rests.wait(_REST)

    def _go_on(self) -> None:
        has_forked = self._forks.pop(threading.get_ident(), None)
        if has_forked is not None:
            has_forked.set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let it run; called on the loop."""
        task = self.loop.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)


@cache
def _loop(process: int) -> _BackgroundLoop:  # noqa: ARG001  a forked child has the memory of a loop but not its thread
    return _BackgroundLoop()
