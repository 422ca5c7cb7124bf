"""What building took over the life of an index, runs that ended in the middle included."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.errors import LLMSetupError
from minirag.records import Usage
from minirag.storage.accounts import usage_in, usage_to_header
from tests.loopback import Loopback, Request, Served, honest, status

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
        asyncio.run(main())
        index.add([], progress=False)  # waits for the other to let go
        assert index.info().usage.calls == 2
