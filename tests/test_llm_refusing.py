"""A provider that refuses every request, for a reason that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.errors import LLMSetupError
from minirag.llm import LLM
from tests.loopback import Loopback, Request, Served, honest, status

MANY = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(60)]
TOLD = "^openai/any: the first 20 requests were not accepted, and none was answered: something strange$"


def opened(path: Path, server: Loopback, *, max_parallel: int = 16) -> Index:
    model = LLM("openai/any", api_base=server.api_base, api_key="secret", max_parallel=max_parallel)
    return Index(path, model=model)


def test_a_run_ends_when_all_of_its_first_requests_are_refused_alike(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with Loopback(lambda _: status(400, "something strange")) as server, opened(path, server) as index:
        for _ in range(2):  # the next run tries for itself
            server.requests.clear()
            with pytest.raises(LLMSetupError, match=TOLD):
                index.add(MANY, progress=False)
            assert len({request.prompt for request in server.requests}) < 40
        assert (len(index), index.info().failed) == (0, ())
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(MANY, progress=False)
        assert (len(report.added), report.failed) == (60, ())


def test_one_answer_proves_the_setup(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return honest(request) if "Person 7 " in request.prompt else status(400, "something strange")

    # One at a time, so that the answer comes before the twentieth refusal however slow the machine is.
    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server, max_parallel=1) as index:
        report = index.add(MANY, progress=False)
    assert (len(report.added), len(report.failed)) == (60, 59)
    assert {failure.reason for failure in report.failed} == {
        "openai/any: the request was not accepted: something strange"
    }


def test_few_refused_documents_are_named(tmp_path: Path) -> None:
    serve = [status(400, "something strange")] * 200
    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        assert len(index.add(MANY[:19], progress=False).failed) == 19
