"""What building took over the life of an index, runs that ended in the middle included."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep

import pytest

from minirag import Document, Index
from minirag.building import BATCH
from minirag.encoder import OnnxEncoder
from minirag.errors import LLMSetupError
from minirag.records import Usage
from minirag.storage.accounts import usage_in, usage_to_header
from tests.loopback import Loopback, Request, Served, honest, status
from tests.remembering import RememberingEncoder

DOCUMENTS = [Document(f"d{n}", f"Number {n} was born in Bergen.", f"Number {n}") for n in range(6)]


def test_a_header_keeps_the_sum_as_older_versions_read_it() -> None:
    usage = Usage(2, 10, 5, 1, None, 1.5, {"read": Usage(2, 10, 5, 1, None, 1.5)})
    header = usage_to_header(usage)
    assert Usage(**header["usage"]) == usage
    assert (usage_in(header), usage_in(header).tasks) == (usage, usage.tasks)
    assert usage_in({"usage": header["usage"]}).tasks == {}


def test_a_header_keeps_apart_what_older_versions_do_not_know() -> None:
    usage = Usage(3, 10, 5, 1, None, 1.5, {"read": Usage(3, 10, 5, 1, None, 1.5, uncounted=2)}, uncounted=2)
    header = usage_to_header(usage)
    assert header["usage_uncounted"] == {"read": 2}
    assert "uncounted" not in header["usage"].keys() | header["usage_by_task"]["read"].keys()
    assert (usage_in(header), usage_in(header).tasks) == (usage, usage.tasks)


def opened(path: Path, server: Loopback, **options: object) -> Index:
    return Index(path, model="openai/any", api_base=server.api_base, api_key="secret", **options)  # type: ignore[arg-type]


def test_a_run_that_ended_with_an_error_is_accounted_for(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return honest(request) if len(server.requests) <= 3 else status(401, "Incorrect API key provided")

    path = tmp_path / "notes.usearch"
    with Loopback(serve) as server, opened(path, server, max_parallel=1) as index:
        with pytest.raises(LLMSetupError, match="Incorrect API key"):
            index.add(DOCUMENTS, progress=False)
        assert (len(index), index.info().usage.calls) == (0, 3)
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(DOCUMENTS, progress=False)
        assert report.usage.tasks["extract"].calls == 3
        assert index.info().usage.tasks["extract"].calls == 6
        assert index.info().usage.calls == 3 + report.usage.calls


def test_a_run_that_was_cancelled_is_accounted_for(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return Served(text=honest(request).text, delay=0.0 if len(server.requests) <= 2 else 5.0)

    async def main() -> None:
        task = asyncio.create_task(index.aadd(DOCUMENTS, progress=False))
        while len(server.requests) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    path = tmp_path / "notes.usearch"
    with Loopback(serve) as server, opened(path, server, max_parallel=1) as index:
        began = perf_counter()
        asyncio.run(main())
        index.add([], progress=False)  # waits for the other to let go
        assert index.info().usage.calls == 2
        assert 0 < index.info().usage.seconds <= perf_counter() - began


# --- time ----------------------------------------------------------------------------------------------------------


def test_building_took_the_time_that_went_by(tmp_path: Path) -> None:
    """Encoding and writing, too, and not only what calls take; over all runs that built it."""
    encoder = OnnxEncoder()
    with Index(tmp_path / "notes.usearch", model="offline", encoder=encoder) as index:
        first = index.add(DOCUMENTS[:3], progress=False).usage.seconds
        assert 0 < encoder.inference_seconds <= index.info().usage.seconds <= first
        second = index.add(DOCUMENTS, progress=False).usage.seconds
        assert encoder.inference_seconds <= (both := index.info().usage.seconds) <= first + second
        index.add(DOCUMENTS, progress=False)  # nothing is new
        assert index.info().usage.seconds == both
        third = index.reembed(RememberingEncoder(), progress=False).seconds
        assert both < index.info().usage.seconds <= both + third


def test_calls_side_by_side_take_their_time_once(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return replace(honest(request), delay=0.5)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server, max_parallel=6) as index:
        report = index.add(DOCUMENTS, progress=False)
        usage = index.info().usage
    assert usage.tasks["extract"].seconds >= 6 * 0.5
    assert 0.5 <= usage.seconds <= report.usage.seconds
    assert usage.seconds < sum(task.seconds for task in usage.tasks.values())


def test_a_stopped_run_without_a_model_keeps_the_time_of_what_it_committed(tmp_path: Path) -> None:
    def documents() -> Iterator[Document]:
        for number in range(2 * BATCH):
            yield Document(f"d{number}", "Bergen.")
        sleep(0.2)
        raise KeyboardInterrupt

    with Index(tmp_path / "notes.usearch", model="offline", encoder=RememberingEncoder()) as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(documents(), progress=False)
        assert len(index) == BATCH
        assert index.info().usage.seconds >= 0.2
