import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from minirag import loop
from tests.interrupts import hear_interrupts


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def fail() -> None:
    raise KeyError("lost")


def test_work_runs_on_the_private_thread() -> None:
    assert loop.run(thread_name()) == "minirag"


def test_exceptions_come_back() -> None:
    with pytest.raises(KeyError, match="lost"):
        loop.run(fail())


def test_from_inside_a_running_loop() -> None:
    """As in a notebook, where a loop runs already."""

    async def main() -> tuple[str, str]:
        return loop.run(thread_name()), await loop.await_(thread_name())

    assert asyncio.run(main()) == ("minirag", "minirag")


def test_from_many_threads_at_once() -> None:
    names: list[str] = []
    threads = [threading.Thread(target=lambda: names.append(loop.run(thread_name()))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["minirag"] * 16


def test_waiting_on_the_loop_itself_is_refused() -> None:
    async def inner() -> str:
        return loop.run(thread_name())

    with pytest.raises(RuntimeError, match="await the asynchronous one"):
        loop.run(inner())


def test_cancelling_the_caller_cancels_the_work() -> None:
    cancelled = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> None:
        task = asyncio.create_task(loop.await_(work()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.wait(5)


def test_a_cancelled_caller_waits_until_the_work_has_let_go() -> None:
    begun, let_go = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            let_go.set()

    async def main() -> None:
        task = asyncio.create_task(loop.await_(work()))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert let_go.is_set()

    asyncio.run(main())


def test_what_was_cancelled_before_it_began_is_not_waited_for() -> None:
    async def main() -> float:
        loop.run(thread_name())
        late = loop.Started(block())
        never = loop.Started(fail())
        start = time.monotonic()
        await asyncio.to_thread(never.cancel)
        took = time.monotonic() - start
        await asyncio.wrap_future(late.future)
        return took

    async def block() -> None:  # the loop itself
        time.sleep(0.3)

    assert asyncio.run(main()) < 3


def test_what_must_be_finished_is() -> None:
    done: list[int] = []

    def write() -> None:
        time.sleep(0.2)
        done.append(1)

    async def main() -> None:
        task = asyncio.create_task(loop.finish(asyncio.to_thread(write)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [1]

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    code = """
import os, sys
from minirag import loop
async def two(): return 2
loop.run(two())
pid = os.fork()
if pid == 0:
    os._exit(loop.run(two()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupt_cancels_the_work_at_once() -> None:
    code = """
import asyncio, os, signal, sys, threading
from minirag import loop
seen = threading.Event()
async def work():
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        seen.set()
        raise
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    loop.run(work())
except KeyboardInterrupt:
    sys.exit(7 if seen.wait(2) else 8)
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, preexec_fn=hear_interrupts)
    assert (done.returncode, time.monotonic() - started < 30) == (7, True)
