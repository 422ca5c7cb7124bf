"""Providers with protocols of their own, through the real LiteLLM: their replies, their errors, what they count."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from time import perf_counter

import pytest
from pydantic import BaseModel

from minirag import Index, ask
from minirag.errors import LLMSetupError
from minirag.llm import LLM
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served
from tests.providers import PROVIDERS, Provider, address

KEY = "a-very-secret-key-0123456789"
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
OSLO = '{"place": "Oslo", "year": 1921}'
DOCUMENTS = [
    {"id": "aylwin", "title": "Aylwin (film)", "text": "Aylwin is a film. It was directed by Henry Edwards."},
    {"id": "henry", "title": "Henry Edwards", "text": "Henry Edwards was an actor. He was born in Weston."},
]

pytestmark = [
    pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS),
    pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning"),
]


class Place(BaseModel):
    place: str
    year: int


def complete(provider: Provider, server: Loopback) -> tuple[Place, Ledger]:
    llm = LLM(provider.model, api_base=address(server), api_key=KEY, **provider.options)
    ledger = Ledger()
    return asyncio.run(llm.complete(ASK, reply=Place, task="read", ledger=ledger)), ledger


def test_an_index_is_built_and_asked(provider: Provider, tmp_path: Path) -> None:
    """Two passages, one bridge entity, one answer; tokens and dollars are the provider's."""
    options = {"api_key": KEY, "prices": {provider.model: (1.0, 2.0, 0.5)}, **provider.options}
    with (
        Loopback(provider.honest) as server,
        Index(tmp_path / "n.usearch", model=provider.model, api_base=address(server), **options) as index,
    ):
        report = index.add(DOCUMENTS, progress=False)
        answer = ask("Where was the director of Aylwin born?", index)
    assert (report.added, report.failed) == (("aylwin", "henry"), ())
    assert [citation.document_id for citation in answer.citations] == ["aylwin"]
    assert [provider.key(request) for request in server.requests] == [KEY] * 4
    usage = report.usage + answer.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (4, 400, 40)
    assert usage.cached_tokens == 4 * provider.cached
    assert usage.cost == pytest.approx(4 * (100 - provider.cached * 0.5 + 20) / 1e6)


def test_a_rate_limit_is_waited_for(provider: Provider) -> None:
    def serve(request: Request) -> Served:
        if len(server.requests) == 1:
            return provider.refuse(429, "slow down", headers={"Retry-After": "0.7"})
        return provider.serve(request, OSLO)

    with Loopback(serve) as server:
        start = perf_counter()
        place, ledger = complete(provider, server)
    assert place == Place(place="Oslo", year=1921)
    assert perf_counter() - start >= 0.7
    assert (len(server.requests), ledger.total().calls) == (2, 1)


@pytest.mark.parametrize("key", ["a-very-secret-k\u00e9y", "a-very-secret\nkey"])
def test_a_key_that_cannot_be_sent_is_told_at_once(
    provider: Provider, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="minirag")
    with Loopback(provider.honest) as server:
        llm = LLM(provider.model, api_base=address(server), api_key=key, **provider.options)
        with pytest.raises(
            LLMSetupError, match="the API key, or a header that you gave, holds a blank at an end, a line break or a"
        ) as caught:
            asyncio.run(llm.complete(ASK, reply=Place, task="read", ledger=Ledger()))
    assert server.requests == []
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "a-very-secret" not in told


def test_a_wrong_key_ends_at_once(provider: Provider) -> None:
    def serve(_: Request) -> Served:
        return provider.refuse(401, f"this key is wrong: {KEY}")

    with Loopback(serve) as server, pytest.raises(LLMSetupError, match="this key is wrong") as caught:
        complete(provider, server)
    assert len(server.requests) == 1
    assert str(caught.value).startswith(f"{provider.model}: ")
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
