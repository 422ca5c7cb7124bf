"""Cancelled tasks and interrupts: they return at once, keep what was paid for, and say how to go on."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from minirag import Document, Index, aask
from tests.interrupts import SOON, SlowModel, interrupt
from tests.loopback import Loopback, honest

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
