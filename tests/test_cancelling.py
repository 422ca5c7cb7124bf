"""Cancelled tasks and interrupts: they return at once, keep what was paid for, and say how to go on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from minirag import Document, Index, aask
from tests.loopback import Loopback, Request, Served, honest

Record = Callable[[str, object], None]
SOON = 3.0  # seconds; one is promised, and a busy machine forgiven
DOCUMENTS = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(4)]


def opened(path: Path, server: Loopback, *, model: str = "openai/any") -> Index:
    return Index(path, model=model, api_base=server.api_base, api_key="secret", max_parallel=1)


def seconds_to_cancel(work: Awaitable[object], server: Loopback, *, after: int) -> float:
    """How long a task takes to end, once it is cancelled after so many requests."""

    async def main() -> float:
        task = asyncio.ensure_future(work)
        while len(server.requests) < after:
            await asyncio.sleep(0.01)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - start

    return asyncio.run(main())


def test_a_cancelled_add_ends_at_once_and_the_next_pays_only_for_the_rest(
    tmp_path: Path, record_property: Record
) -> None:
    def two_replies_then_slow(request: Request) -> Served:
        return Served(text=honest(request).text, delay=0.0 if len(server.requests) <= 2 else 20.0)

    path = tmp_path / "notes.usearch"
    with Loopback(two_replies_then_slow) as server, opened(path, server) as index:
        took = seconds_to_cancel(index.aadd(DOCUMENTS, progress=False), server, after=3)
        start = time.monotonic()
    let_go = time.monotonic() - start
    record_property("seconds", (took, let_go))
    assert took < SOON
    assert let_go < SOON
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(DOCUMENTS, progress=False)
        assert report.added == ("d0", "d1", "d2", "d3")
        assert server.tasks().count("extract") == 2


def test_a_cancelled_question_ends_at_once(tmp_path: Path, record_property: Record) -> None:
    path = tmp_path / "notes.usearch"
    with Loopback(lambda request: Served(text=honest(request).text, delay=20.0)) as server:
        with opened(path, server, model="offline") as index:
            index.add(DOCUMENTS, progress=False)
        with opened(path, server) as index:
            took = seconds_to_cancel(aask("Where was Person 1 born?", index), server, after=1)
    record_property("seconds", took)
    assert took < SOON


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupted_script_says_how_to_go_on(tmp_path: Path) -> None:
    script = """
import sys
from minirag import Index
with Index(sys.argv[1], model="openai/any", api_base=sys.argv[2], api_key="secret") as index:
    index.add(["Ada Holm was born in Bergen."], progress=False)
"""
    with Loopback(lambda _: Served(text="late", delay=20.0)) as server:
        command = [sys.executable, "-c", script, str(tmp_path / "notes.usearch"), server.api_base]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while not server.requests and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=15)
    assert told.decode().splitlines()[-2:] == [
        "KeyboardInterrupt",
        "What was paid for is kept; run the same add again to go on.",
    ]
