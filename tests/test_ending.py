"""After Ctrl-C or a cancelled task no thread of minirag keeps the process alive for long."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirag import Document, Index
from minirag.deriving import Deriver
from minirag.encoder import OnnxEncoder, encode_texts
from minirag.ending import check_wanted, in_thread
from minirag.llm import LLM
from minirag.loop import Started, run
from minirag.progress import Progress
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Ledger, Settings
from tests.interrupts import SOON, hear_interrupts

needs_signals = pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")


def interrupted(script: str, *arguments: object) -> tuple[float, str]:
    """Run a script, and send it Ctrl-C at its first line of output.

    Returns:
        Seconds until the process has ended, and what it said on standard error.
    """
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, preexec_fn=hear_interrupts, **pipes) as process:  # type: ignore[call-overload]  # a dict of two
        assert process.stdout.readline().strip() == "begun"
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        process.wait(timeout=120)
    return time.monotonic() - sent, told


@needs_signals
def test_an_interrupted_script_does_not_wait_for_the_encoder(tmp_path: Path) -> None:
    script = """
import sys
from minirag import Document, Index

def listen(stage, done, total):
    if stage == "encoding" and done < 100:
        print("begun", flush=True)

text = " ".join(f"Person {n} was born in Town {n}, where the river meets the road to the north." for n in range(30))
with Index(sys.argv[1], model="offline") as index:
    index.add([Document(f"d{n}", text.replace("Town", f"Town{n}x")) for n in range(60)], progress=listen)
"""
    took, told = interrupted(script, tmp_path / "a.usearch")
    assert told.splitlines()[-2] == "KeyboardInterrupt"
    assert took < SOON


@needs_signals
def test_an_interrupted_script_does_not_wait_for_a_function_that_answers(tmp_path: Path) -> None:
    script = """
import sys, time
from minirag import Index

def slow(messages):
    print("begun", flush=True)
    time.sleep(60)

with Index(sys.argv[1], model=slow) as index:
    index.add(["Ada Holm was born in Bergen."], progress=False)
"""
    took, told = interrupted(script, tmp_path / "a.usearch")
    assert told.splitlines()[-2] == "KeyboardInterrupt"
    assert took < SOON


class CountingEncoder:
    """The shipped one, that says how many of its batches began."""

    def __init__(self) -> None:
        self._within = OnnxEncoder()
        self.begun = threading.Event()
        self.batches = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._within, name)

    def encode(
        self, texts: Sequence[str], *, role: str = "document", progress: Callable[[int], None] | None = None
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        del role
        for _ in texts:
            self.batches += 1
            self.begun.set()
            time.sleep(0.05)
            if progress is not None:
                progress(1)
        return np.ones((len(texts), self._within.dimensions), np.float32)


def test_an_own_encoder_ends_where_it_tells_of_a_batch() -> None:
    async def cancel() -> None:
        task = asyncio.ensure_future(in_thread(encode_texts, encoder, ["text"] * 200))
        await asyncio.to_thread(encoder.begun.wait, 30)
        await asyncio.sleep(3600)
        await task

    encoder = CountingEncoder()
    started = Started(cancel())
    assert encoder.begun.wait(30)
    started.cancel()
    batches = encoder.batches
    time.sleep(0.3)
    assert encoder.batches <= batches + 1 < 100


def test_outside_of_a_run_everything_is_wanted() -> None:
    check_wanted()
    assert encode_texts(OnnxEncoder(), ["a bee"]).shape == (1, 384)


def test_splitting_and_loading_end_between_two_documents(tmp_path: Path) -> None:
    taken: list[int] = []

    def documents() -> Any:  # noqa: ANN401
        for number in range(400):
            taken.append(number)
            time.sleep(0.02)
            yield Document(f"d{number}", "Ada Holm was born in Bergen.")

    async def cancel(index: Index) -> None:
        task = asyncio.create_task(index.aadd(documents(), progress=False))
        while len(taken) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Index(tmp_path / "a.usearch", model="offline") as index:
        asyncio.run(cancel(index))
    count = len(taken)
    time.sleep(0.3)
    assert len(taken) <= count + 1 < 100

    deriver = Deriver(
        encoders=lambda: (split.append(1), (OnnxEncoder(), OnnxEncoder()))[1],  # type: ignore[func-returns-value]  # it counts
        reasoner=OfflineReasoner(Ledger()),
        settings=Settings(),
        progress=Progress(False),
    )
    split: list[int] = []

    async def begin() -> None:
        await asyncio.to_thread(in_a_run_that_is_over, lambda: deriver._split_all([Document("a", "Oslo is a town.")]))

    run(begin())
    assert split == []


def in_a_run_that_is_over(work: Callable[[], object]) -> None:
    from minirag.ending import current_ending

    current_ending().end_within()
    with pytest.raises(asyncio.CancelledError):
        work()


def test_a_function_that_answers_keeps_its_place_after_its_call_was_cancelled() -> None:
    """What may not run twice at once, as `max_parallel=1` says, does not after a cancelled call either."""
    running, most, begun = 0, 0, threading.Event()

    def answer(messages: object) -> str:
        nonlocal running, most
        del messages
        running += 1
        most = max(most, running)
        begun.set()
        time.sleep(0.4)
        running -= 1
        return "yes"

    async def main() -> str:
        model = LLM(answer, max_parallel=1)
        ask = [{"role": "user", "content": "?"}]
        task = asyncio.create_task(model.complete(ask, task="read", ledger=Ledger()))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await model.complete(ask, task="read", ledger=Ledger())

    assert asyncio.run(main()) == "yes"
    assert most == 1
