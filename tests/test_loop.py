import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, loop
from minirag.encoder import open_encoder
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Extraction, Ledger, Passage
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


def leave(*_: object, **__: object) -> str:
    sys.exit("no licence")


async def leave_later(*_: object) -> str:
    return leave()


def leaving_documents() -> Iterator[Document]:
    yield Document("a", "Aylwin was directed by Henry Edwards.", "Aylwin")
    leave()


class LeavingReasoner(OfflineReasoner):
    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        del passage, title
        leave()
        raise AssertionError


class LeavingEncoder:
    """The shipped one, until it shall encode."""

    def __init__(self) -> None:
        self._within = open_encoder(None)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return leave if name == "encode" else getattr(self._within, name)


EXITS: dict[str, dict[str, Any]] = {
    "generator": {},
    "function": {"model": leave},
    "asynchronous function": {"model": leave_later},
    "reasoner": {"model": LeavingReasoner(Ledger())},
    "encoder": {"encoder": LeavingEncoder()},
}


@pytest.mark.parametrize("name", EXITS)
def test_who_exits_in_code_of_the_users_exits_the_call(name: str, tmp_path: Path) -> None:
    documents = leaving_documents() if name == "generator" else [f"Town {i} is a town." for i in range(5)]
    with Index(tmp_path / "a.usearch", **{"model": "offline", **EXITS[name]}) as index:
        with pytest.raises(SystemExit, match="no licence"):
            index.add(documents)
        with pytest.raises(SystemExit, match="no licence"):
            asyncio.run(index.aadd(leaving_documents() if name == "generator" else ["Oslo is a town."]))
    with Index(tmp_path / "b.usearch", model="offline") as index:
        assert len(index.add(["Oslo is a town."]).added) == 1


def test_an_interrupt_raised_in_a_task_comes_out_and_the_loop_goes_on() -> None:
    async def stop() -> None:
        raise KeyboardInterrupt("stop")

    async def many() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(stop())

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt, match="stop"):
            loop.run(many())
    assert loop.run(thread_name()) == "minirag"


def test_what_a_thread_of_a_cancelled_run_waits_for_ends_with_it() -> None:
    begun: list[str] = []
    let_go = threading.Event()

    async def call(name: str) -> None:
        begun.append(name)
        try:
            await asyncio.sleep(60 if name == "first" else 0)
        finally:
            let_go.set()

    async def close() -> None:
        begun.append("close")

    def calls() -> None:
        try:
            with suppress(CancelledError):
                loop.run(call("first"))
            with pytest.raises(CancelledError):
                loop.run(call("second"))
        finally:
            loop.run_or_start(close())
            closed.set()

    async def limited() -> None:
        async with asyncio.timeout(0.1):
            await asyncio.to_thread(calls)

    closed = threading.Event()
    with pytest.raises(TimeoutError):
        loop.run(limited())
    assert let_go.wait(5)
    assert closed.wait(5)
    assert begun == ["first", "close"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_wait_for_its_parents_loop() -> None:
    code = """
import asyncio, os, sys
from minirag import loop
started = loop.Started(asyncio.sleep(30))
pid = os.fork()
if pid == 0:
    try:
        started.check_alive()
    except RuntimeError as error:
        os._exit(3 if "has ended" in str(error) else 4)
started.check_alive()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_may_import_what_its_parents_loop_was_importing(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; begun.set(); time.sleep(0.3)")
    code = """
import builtins, os, signal, sys, threading
from minirag import loop
builtins.begun = threading.Event()
async def load():
    import slow
    return 2
started = loop.Started(load())
begun.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    import slow
    os._exit(loop.run(load()))
status = os.waitpid(pid, 0)[1]
assert started.future.result(10) == loop.run(load()) == 2
sys.exit(os.waitstatus_to_exitcode(status))
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_the_loop_goes_on_after_threads_have_forked_and_a_fork_waits_for_no_long_step() -> None:
    code = """
import os, sys, threading, time
from minirag import loop
async def block(seconds): time.sleep(seconds)
def fork():
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
loop.run(block(0))
threads = [threading.Thread(target=fork) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
loop.run(block(0))
started = loop.Started(block(4))
time.sleep(0.2)
if os.fork() == 0:
    os._exit(0)
assert not started.future.done()
started.future.result()
loop.run(block(0))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 0
