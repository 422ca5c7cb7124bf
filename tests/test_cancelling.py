"""Cancelled tasks and interrupts: they return within a second, keep what was paid for, and say how to go on."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Document, Index, aask, ask
from minirag.encoder.hosted_encoder import HostedEncoder
from minirag.errors import LLMSetupError, TimeLimitError
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Extraction, Passage
from tests.interrupts import SOON, SlowModel, interrupt
from tests.loopback import Loopback, Request, Served, honest, status

Record = Callable[[str, object], None]
DOCUMENTS = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(4)]


def opened(path: Path, server: Loopback, *, model: str = "openai/any") -> Index:
    return Index(path, model=model, api_base=server.api_base, api_key="secret", max_parallel=1)


def cancel(work: Awaitable[object], model: SlowModel, *, after: int) -> tuple[float, float]:
    """Cancel a task after so many requests.

    Returns:
        Seconds that it takes to end, and for how many requests still come, watched for a while.
    """

    async def main() -> tuple[float, float]:
        task = asyncio.ensure_future(work)
        await asyncio.to_thread(model.wait_for, after)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - start
        await asyncio.sleep(SOON + 0.5)
        return took, model.asked_after(start)

    return asyncio.run(main())


def test_a_cancelled_add_ends_at_once_and_the_next_pays_only_for_the_rest(
    tmp_path: Path, record_property: Record
) -> None:
    path, model = tmp_path / "notes.usearch", SlowModel(20.0, quick=2)
    with Loopback(model) as server, opened(path, server) as index:
        took, asked_for = cancel(index.aadd(DOCUMENTS, progress=False), model, after=3)
        start = time.monotonic()
    let_go = time.monotonic() - start
    record_property("seconds", (took, let_go))
    assert took < SOON
    assert asked_for < 0
    assert let_go < SOON
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(DOCUMENTS, progress=False)
        assert report.added == ("d0", "d1", "d2", "d3")
        assert server.tasks().count("extract") == 2


def test_a_cancelled_add_asks_nothing_more(tmp_path: Path, record_property: Record) -> None:
    """Where each answer would bring the next request."""
    model, path = SlowModel(0.2), tmp_path / "notes.usearch"
    many = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(200)]
    with Loopback(model) as server, opened(path, server) as index:
        took, asked_for = cancel(index.aadd(many, progress=False), model, after=5)
    record_property("seconds", (took, asked_for))
    assert took < SOON
    assert asked_for < SOON
    assert len(model.arrived) < 5 + SOON / 0.2


def test_an_add_that_is_cancelled_while_it_writes_leaves_the_file_to_the_next(tmp_path: Path) -> None:
    many = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(60)]

    async def cancel_at(moment: float, index: Index) -> None:
        encoded, here = asyncio.Event(), asyncio.get_running_loop()

        def listen(stage: str, done: int, total: int) -> None:
            if stage == "encoding" and done == total:
                here.call_soon_threadsafe(encoded.set)

        task = asyncio.create_task(index.aadd(many, progress=listen))
        await encoded.wait()
        await asyncio.sleep(moment)
        task.cancel()
        await asyncio.wait([task])

    for number, moment in enumerate((0.0, 0.01, 0.02, 0.04, 0.08)):
        path = tmp_path / f"{number}.usearch"
        with Index(path, model="offline") as index:
            asyncio.run(cancel_at(moment, index))
            report = index.add([*many, Document("last", "Ada Holm was born in Bergen.")], progress=False)
            assert (report.failed, len(list(index.document_ids()))) == ((), 61)
        Index.verify(path)


class OwnModel(OfflineReasoner):
    """A reasoner of the user's own; its calls take their time."""

    model = "own"

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.asked, self.mistake = seconds, list[str](), False

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        self.asked.append(passage.document_id)
        if self.mistake and len(self.asked) == 4:
            raise RuntimeError("a mistake in it")
        await asyncio.sleep(self.seconds)
        return await super().extract(passage, title=title)


def test_what_an_own_reasoner_was_asked_for_is_kept_when_the_add_is_cancelled(tmp_path: Path) -> None:
    own = OwnModel(0.4)
    many = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(30)]

    async def main(index: Index) -> float:
        task = asyncio.create_task(index.aadd(many, progress=False))
        while len(own.asked) < 4:
            await asyncio.sleep(0.01)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - start

    with Index(tmp_path / "notes.usearch", model=own, max_parallel=4) as index:
        assert asyncio.run(main(index)) < SOON
        assert len(own.asked) == 4
        assert (index.info().usage.calls, index.info().usage.cost) == (4, None)
        own.seconds = 0.0
        assert len(index.add(many, progress=False).added) == 30
        assert sorted(own.asked) == sorted(document.id for document in many)


def test_what_an_own_reasoner_was_asked_for_is_kept_when_it_makes_a_mistake(tmp_path: Path) -> None:
    own = OwnModel(0.4)
    own.mistake = True
    with Index(tmp_path / "notes.usearch", model=own, max_parallel=4) as index:
        with pytest.raises(RuntimeError, match="a mistake in it"):
            index.add(DOCUMENTS, progress=False)
        own.mistake = False
        index.add(DOCUMENTS, progress=False)
    assert sorted(own.asked) == ["d0", "d1", "d2", "d3", "d3"]


def test_a_cancelled_question_ends_at_once(tmp_path: Path, record_property: Record) -> None:
    path, model = tmp_path / "notes.usearch", SlowModel(20.0)
    with Loopback(model) as server:
        with opened(path, server, model="offline") as index:
            index.add(DOCUMENTS, progress=False)
        with opened(path, server) as index:
            took, asked_for = cancel(aask("Where was Person 1 born?", index), model, after=1)
    record_property("seconds", took)
    assert took < SOON
    assert asked_for < 0


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupted_script_says_how_to_go_on(tmp_path: Path) -> None:
    script = """
import sys
from minirag import Index
with Index(sys.argv[1], model="openai/any", api_base=sys.argv[2], api_key="secret") as index:
    index.add(["Ada Holm was born in Bergen."], progress=False)
"""
    slow = SlowModel(20.0)
    with Loopback(slow) as server:
        command = [sys.executable, "-c", script, tmp_path / "notes.usearch", server.api_base]
        ended = interrupt(command, slow, after=1, cwd=Path.cwd())
    assert ended.told.splitlines()[-2:] == [
        "KeyboardInterrupt",
        "What was paid for is kept; run the same add again to go on.",
    ]
    assert ended.told_after < SOON
    assert ended.asked_for < 0


def test_a_cancelled_add_says_how_to_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    how = "What was paid for is kept; run the same add again to go on."

    async def cancel_it() -> None:
        task = asyncio.create_task(index.aadd(DOCUMENTS, progress=False))
        await asyncio.to_thread(model.wait_for, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as stopped:
            await task
        assert stopped.value.__notes__ == [how]

    async def expire_when_asked(limit: asyncio.Timeout) -> None:
        await asyncio.to_thread(model.wait_for, 2)
        limit.reschedule(0)

    async def add_in_time() -> None:
        async with asyncio.timeout(60) as limit, asyncio.TaskGroup() as group:
            group.create_task(expire_when_asked(limit))
            await index.aadd(DOCUMENTS, progress=False)

    async def out_of_time() -> None:
        with pytest.raises(TimeoutError) as stopped:
            await add_in_time()
        assert stopped.value.__cause__ is not None
        assert stopped.value.__cause__.__notes__ == [how]

    caplog.set_level("INFO", logger="minirag.index")
    path, model = tmp_path / "notes.usearch", SlowModel(20.0)
    with Loopback(model) as server, opened(path, server) as index:
        asyncio.run(cancel_it())
        asyncio.run(out_of_time())
    assert [record.getMessage() for record in caplog.records] == [f"{path}: add was stopped. {how}"] * 2


def test_calls_in_flight_are_answered_and_kept_and_none_begins(tmp_path: Path, record_property: Record) -> None:
    many = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(60)]
    path, model = tmp_path / "notes.usearch", SlowModel(0.0)
    numbers, going = itertools.count(), threading.Event()

    def serve(request: Request) -> Served:
        number, served = next(numbers), model(request)
        if number >= 4:
            going.wait(60)
        return served

    async def cancel_with_16_in_flight(index: Index) -> float:
        task = asyncio.create_task(index.aadd(many, progress=False))
        await asyncio.to_thread(model.wait_for, 4 + 16)
        start = time.monotonic()
        task.cancel()
        await asyncio.sleep(0.1)
        going.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - start

    with Loopback(serve) as server:
        with Index(path, model="openai/any", api_base=server.api_base, api_key="secret") as index:
            took = asyncio.run(cancel_with_16_in_flight(index))
        record_property("seconds", took)
        assert 0.1 < took < SOON
        before = [request.prompt for request in server.requests]
        assert len(before) == 20
        server.requests.clear()
        with Index(path, model="openai/any", api_base=server.api_base, api_key="secret") as index:
            assert len(index.add(many, progress=False).added) == 60
        assert set(before) & {request.prompt for request in server.requests} == set()


def test_cancelled_again_it_ends_at_once(tmp_path: Path, record_property: Record) -> None:
    """The best of a few times: what else runs on the machine may delay one, and 0.7 s of grace delay all."""

    async def main(number: int) -> float:
        task = asyncio.create_task(index.aadd(DOCUMENTS, progress=False))
        await asyncio.to_thread(model.wait_for, number)
        task.cancel()
        await asyncio.sleep(0.05)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - start

    model = SlowModel(20.0)
    with Loopback(model) as server, opened(tmp_path / "notes.usearch", server) as index:
        took = [asyncio.run(main(number)) for number in (1, 2, 3)]
    record_property("seconds", took)
    assert min(took) < 0.4


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_a_second_interrupt_ends_at_once(tmp_path: Path, record_property: Record) -> None:
    sent: list[float] = []

    def interrupt_twice() -> None:
        model.wait_for(1)
        for _ in range(2):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    model, before = SlowModel(20.0), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Loopback(model) as server, opened(tmp_path / "notes.usearch", server) as index:
            threading.Thread(target=interrupt_twice).start()
            with pytest.raises(KeyboardInterrupt) as stopped:
                index.add(DOCUMENTS, progress=False)
            took = time.monotonic() - sent[0]
    finally:
        signal.signal(signal.SIGINT, before)
    record_property("seconds", took)
    assert len(sent) == 2
    assert took < 0.65  # 0.7 if the first alone counted
    assert stopped.value.__notes__ == ["What was paid for is kept; run the same add again to go on."]


def test_a_fault_of_the_setup_lets_calls_in_flight_be_answered(tmp_path: Path) -> None:
    """No credit after 30 answers: the others come a moment after it, and are paid for as well."""
    many = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(60)]
    arrived, spent = itertools.count(), threading.Event()
    no_credit = True

    def serve(request: Request) -> Served:
        number = next(arrived)
        if no_credit and number >= 30:
            spent.set()
            return status(429, "You exceeded your current quota", code="insufficient_quota")
        answered.append(request.prompt)
        if number < 15:
            return honest(request)
        spent.wait(60)  # with the one that comes next they are 16
        return replace(honest(request), delay=0.1)

    answered: list[str] = []
    path = tmp_path / "notes.usearch"
    told = r"current quota\. What was paid for is kept, 30 replies: once this is mended, the same add goes on$"
    with Loopback(serve) as server, Index(path, model="openai/any", api_base=server.api_base, api_key="k") as index:
        with pytest.raises(LLMSetupError, match=told):
            index.add(many, progress=False)
        assert len(server.requests) <= 30 + 16
        no_credit = False
        assert len(index.add(many, progress=False).added) == 60
    assert len(answered) == len(set(answered))


class SlowVectors(Loopback):
    """The honest model, whose vectors take half a second."""

    def serve(self, request: Request) -> Served:
        served = super().serve(request)
        return replace(served, delay=0.5) if request.path.endswith("embeddings") else served


@pytest.mark.parametrize("how", ["cancelled", "out of time"])
def test_a_hosted_encoder_asks_nothing_more(tmp_path: Path, how: str) -> None:
    documents = [
        Document(f"d{i}", " ".join(f"Person{i}x{j} was born in Town{i}x{j}." for j in range(30)), f"T{i}")
        for i in range(20)
    ]

    async def add(index: Index, server: Loopback) -> None:
        task = asyncio.ensure_future(index.aadd(documents))
        while len(server.requests) < 4:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with SlowVectors(honest) as server:
        encoder = HostedEncoder("openai/any", api_base=server.api_base, api_key="key", max_parallel=2)
        with Index(tmp_path / "a.usearch", model="offline", encoder=encoder) as index:
            if how == "cancelled":
                asyncio.run(add(index, server))
            else:
                index.add(documents[:1])
                with pytest.raises(TimeLimitError, match=r"0\.1"):
                    ask("Where was Person0x1 born?", index, time_limit=0.1)
            asked = len(server.requests)
            time.sleep(1.2)
            assert len(server.requests) == asked
