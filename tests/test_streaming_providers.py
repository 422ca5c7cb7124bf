"""Answers that stream in providers' own protocols, through the real LiteLLM."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Answer, Index, astream, stream
from minirag.errors import LLMUnavailableError
from minirag.llm import Retries
from minirag.llm.transport import import_litellm
from tests.loopback import Loopback, Request, Served
from tests.provider_streams import torn
from tests.providers import PROVIDERS, Provider, address, is_streamed

DOCUMENTS = [
    {"id": "aylwin", "title": "Aylwin (film)", "text": "Aylwin is a film. It was directed by Henry Edwards."},
    {"id": "henry", "title": "Henry Edwards", "text": "Henry Edwards was an actor. He was born in København."},
]
QUESTION = "Where was the director of the film Aylwin born?"
ANSWER = "Henry Edwards was born in København, on the island of Sjælland."
REPLY = json.dumps({"found": True, "answer": ANSWER, "items": [2]}, ensure_ascii=False)

pytestmark = [
    pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS),
    pytest.mark.filterwarnings(
        "ignore:Items? .+ using the `ReadOnly`:UserWarning",
        "ignore:Accessing .+ attribute on the instance:DeprecationWarning",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def litellm_is_there() -> None:
    """Its import takes seconds, which are no part of a call."""
    import_litellm()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streaming") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(DOCUMENTS, progress=False)
    return path


def opened(provider: Provider, path: Path, server: Loopback) -> Index:
    options = {"retries": Retries(attempts=3, first_wait=0.001), **provider.options}
    return Index(path, model=provider.model, api_base=address(server), api_key="secret", mode="r", **options)


def told(
    provider: Provider, path: Path, change_first: Callable[[Served], Served]
) -> tuple[list[str], Answer, list[bool]]:
    """The pieces and the answer when the first reply is changed, and which requests wanted a stream."""

    def serve(request: Request) -> Served:
        served = provider.serve(request, REPLY)
        return change_first(served) if len(server.requests) == 1 else served

    with Loopback(serve) as server, opened(provider, path, server) as index:
        answering = stream(QUESTION, index)
        pieces = list(answering)
        return pieces, answering.answer, [is_streamed(request) for request in server.requests]


def unchanged(served: Served) -> Served:
    return served


def divided_elsewhere(served: Served) -> Served:
    return replace(served, pieces=torn(served.pieces or ()))


def without_a_piece(served: Served) -> Served:
    return replace(served, pieces=())


@pytest.mark.parametrize("change", [unchanged, divided_elsewhere])
def test_pieces_make_the_answer(provider: Provider, path: Path, change: Callable[[Served], Served]) -> None:
    pieces, answer, asked = told(provider, path, change)
    assert len(pieces) > 8
    assert "".join(pieces) == answer.text == ANSWER
    assert {citation.passage_id for citation in answer.citations} == set(answer.evidence[1].passage_ids)
    usage = answer.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 100, 10)
    assert usage.cached_tokens == provider.cached
    assert asked == [True]


def test_they_come_while_they_are_written(provider: Provider, path: Path) -> None:
    async def times(server: Loopback) -> list[float]:
        with opened(provider, path, server) as index:
            return [time.monotonic() async for _ in astream(QUESTION, index)]

    with Loopback(lambda request: replace(provider.serve(request, REPLY), piece_delay=0.02)) as server:
        came = asyncio.run(times(server))
    assert came[-1] - came[0] > 0.1


def test_an_error_in_the_place_of_the_first_piece_is_tried_again(provider: Provider, path: Path) -> None:
    pieces, answer, asked = told(provider, path, lambda served: replace(served, pieces=[provider.broken]))
    assert "".join(pieces) == answer.text == ANSWER
    assert asked == [True, True]
    assert answer.usage.calls == 1


def test_a_stream_of_nothing_is_tried_again(provider: Provider, path: Path) -> None:
    pieces, answer, asked = told(provider, path, without_a_piece)
    assert "".join(pieces) == answer.text == ANSWER
    assert asked == [True, True]


def test_an_error_in_the_middle_is_told_in_the_providers_words(provider: Provider, path: Path) -> None:
    def serve(request: Request) -> Served:
        served = provider.serve(request, REPLY)
        return replace(served, pieces=[*(served.pieces or ())[:10], provider.broken])

    heard: list[str] = []
    with Loopback(serve) as server, opened(provider, path, server) as index:
        with pytest.raises(LLMUnavailableError, match=r"the reply broke off in the middle: .*overloaded") as caught:
            heard.extend(stream(QUESTION, index))
        assert len(server.requests) == 1
    assert "MidStream" not in str(caught.value)
    assert ANSWER.startswith("".join(heard))
    assert heard


def test_a_cut_connection_breaks_off_too(provider: Provider, path: Path) -> None:
    def serve(request: Request) -> Served:
        return replace(provider.serve(request, REPLY), cut_after_pieces=10)

    heard: list[str] = []
    with Loopback(serve) as server, opened(provider, path, server) as index:
        with pytest.raises(LLMUnavailableError, match="the reply broke off in the middle"):
            heard.extend(stream(QUESTION, index))
        assert len(server.requests) == 1
    assert heard


def test_what_ran_out_of_tokens_goes_on_where_it_ended(provider: Provider, path: Path) -> None:
    def serve(request: Request) -> Served:
        is_first = len(server.requests) == 1
        return provider.cut_off(request, REPLY, after=50) if is_first else provider.serve(request, REPLY)

    with Loopback(serve) as server, opened(provider, path, server) as index:
        answering = stream(QUESTION, index)
        pieces = list(answering)
        assert [is_streamed(request) for request in server.requests] == [True, False]
    assert "".join(pieces) == answering.answer.text == ANSWER
    assert answering.answer.usage.calls == 2


def test_leaving_early_closes_the_connection(provider: Provider, path: Path) -> None:
    def serve(request: Request) -> Served:
        return replace(provider.serve(request, REPLY[:-1] + " " * 400 + "}"), piece_delay=0.05)

    with Loopback(serve) as server, opened(provider, path, server) as index:
        with stream(QUESTION, index) as answering:
            assert next(answering)
        until = time.monotonic() + 60
        while not server.abandoned and time.monotonic() < until:
            time.sleep(0.01)
        assert server.abandoned == 1
