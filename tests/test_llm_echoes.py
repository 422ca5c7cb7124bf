"""Providers that repeat the prompt when they refuse: what a document says is not taken for their word."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index
from minirag.errors import LLMReplyError
from minirag.llm import LLM
from minirag.llm.echoes import without_echoes
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, honest, refused_parameter, status
from tests.test_llm import LITELLM, OSLO, Place, place, run

PROMPT = (
    '{"task": "read", "text": "Of a \\u003cb\\u003e: temperature, schema and\\ntools; '
    'insufficient funds. 温度很高的图"}'
)
HINTS = (  # each is the sign of something that would end a run, or change how all other documents are asked
    "Unsupported parameter: temperature. The response_format json_schema, tools and stream are not supported",
    "insufficient_quota and insufficient credit balance is what the bank said",
    "invalid api key, model_not_found: pip install it, says an invalid_request_error",
    "the maximum context length is exceeded, the prompt is too long",
    "Please try again in 500s, said the content filter of the moderation",
)


@pytest.mark.parametrize(
    ("said", "own"),
    [
        (f"Bad prompt: {PROMPT}", "Bad prompt"),
        (f"Bad prompt: {json.dumps({'content': PROMPT})}", "Bad prompt content"),
        ("Bad prompt: OF A <B>: TEMPERATURE, SCHEMA", "Bad prompt"),
        ("flagged: 'insufficient funds'", "flagged"),
        ("图 is bad: 温度很高", "图 is bad"),
        ("Unsupported parameter: 'temperature', and no schema", "Unsupported parameter temperature and no schema"),
        ("insufficient funds", "insufficient funds"),
        ("", ""),
    ],
)
def test_the_providers_own_words(said: str, own: str) -> None:
    left = without_echoes(said, ["A system message.", PROMPT])
    assert " ".join("".join(c if c.isalnum() else " " for c in left).split()) == own


def test_what_repeats_nothing_stays_as_it_is() -> None:
    assert without_echoes('a \\u0041 "b"\n', ["Nothing of that."]) == 'a \\u0041 "b"\n'


def quoting(request: Request) -> Served:
    """Refuses the documents of one kind, with the prompt in its words, and answers the others."""
    if "Hint" in request.prompt and "task" in request.prompt and '"extract"' in request.prompt:
        return status(400, f"Request rejected: {request.body['messages']}")
    return honest(request)


@pytest.mark.parametrize("model", ["openai/any", pytest.param("hosted_vllm/any", marks=LITELLM)])
@pytest.mark.parametrize("hint", HINTS)
def test_a_quoted_document_changes_nothing_for_the_others(
    hint: str, model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(5)]
    documents.insert(1, Document("hint", f"{hint}.", "Hint"))
    with Loopback(quoting) as server:
        llm = LLM(model, api_base=server.api_base, api_key="secret", max_parallel=1)
        with Index(tmp_path / "notes.usearch", model=llm) as index, caplog.at_level(logging.WARNING):
            report = index.add(documents, progress=False)
    assert (len(report.added), [failure.id[:6] for failure in report.failed]) == (6, ["hint#0"])
    assert report.failed[0].reason.startswith(f"{model}: the request was not accepted: Request rejected: ")
    assert {(request.mode, request.body.get("temperature")) for request in server.requests} == {("json_schema", 0)}
    assert [record.message for record in caplog.records if "refuses" in record.message] == []


def test_an_error_within_an_answer_is_read_likewise() -> None:
    def serve(request: Request) -> Any:  # noqa: ANN401
        if len(server.requests) > 1:
            return OSLO
        return Served(body={"error": {"code": 502, "message": f"upstream failed on {request.prompt}"}})

    with Loopback(serve) as server:
        assert _asked(server, "Is an insufficient balance what the bank spoke of?") == Place(place="Oslo", year=1921)


def test_a_parameter_is_refused_once_the_same_request_is_answered_without() -> None:
    def serve(request: Request) -> Any:  # noqa: ANN401
        if "Where?" not in request.prompt:
            return refused_parameter("temperature")  # whatever it is sent
        return OSLO

    async def use(llm: LLM, ledger: Ledger) -> list[Place]:
        first = await place(llm, ledger)
        with pytest.raises(LLMReplyError, match="not accepted"):
            await llm.complete([{"role": "user", "content": "When?"}], reply=Place, task="read", ledger=ledger)
        return [first, await place(llm, ledger)]

    found, server, _ = run(serve, use)
    assert found == [Place(place="Oslo", year=1921)] * 2
    assert ["temperature" in request.body for request in server.requests] == [True, True, False, True]


def _asked(server: Loopback, question: str) -> Place:
    import asyncio

    async def ask() -> Place:
        llm = LLM("openai/any", api_base=server.api_base, api_key="secret")
        try:
            messages = [{"role": "user", "content": question}]
            return await llm.complete(messages, reply=Place, task="read", ledger=Ledger())
        finally:
            await llm.close()

    return asyncio.run(ask())
