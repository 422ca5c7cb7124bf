"""A provider that goes away in the middle of a run, and comes back."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from minirag.errors import LLMUnavailableError
from minirag.llm import LLM, Retries
from minirag.llm.faults import read_fault
from minirag.llm.transport import import_litellm
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, status

GONE = "openai/any: not tried, as the calls before it all gave up: status 503"


async def ask(llm: LLM, ledger: Ledger, word: str) -> str:
    try:
        return await llm.complete([{"role": "user", "content": word}], task="read", ledger=ledger)
    except LLMUnavailableError as error:
        return str(error)


def test_a_run_does_not_wait_for_a_dead_provider_with_every_call() -> None:
    retries = Retries(attempts=3, first_wait=0.05, longest_wait=5)

    async def ask_all() -> list[str]:
        llm = LLM("openai/any", api_base=server.api_base, retries=retries, max_parallel=4)
        ledger = Ledger()
        try:
            first = await asyncio.gather(*(ask(llm, ledger, str(number)) for number in range(200)))
            return [*first, *await asyncio.gather(*(ask(llm, ledger, str(number)) for number in range(200)))]
        finally:
            await llm.close()

    with Loopback(lambda _: status(503, "maintenance")) as server:
        answers = asyncio.run(ask_all())
    tried = [answer for answer in answers if "gave up after 3 attempts" in answer]
    assert len(answers) == 400
    assert 4 <= len(tried) < 30
    assert set(answers) - set(tried) == {GONE}
    assert len(server.requests) < 400  # 1,200 if each had all of its attempts


def test_a_hanging_provider_costs_few_timeouts() -> None:
    async def ask_all() -> list[str]:
        retries = Retries(attempts=2, first_wait=0.01, longest_wait=5)
        llm = LLM("openai/any", api_base=server.api_base, retries=retries, max_parallel=4, timeout=0.3)
        ledger = Ledger()
        try:
            return await asyncio.gather(*(ask(llm, ledger, str(number)) for number in range(100)))
        finally:
            await llm.close()

    started = time.perf_counter()
    with Loopback(lambda _: Served(text="late", delay=0.8)) as server:
        answers = asyncio.run(ask_all())
    assert answers[-1] == GONE.replace("status 503", "no answer in time")
    assert time.perf_counter() - started < 10  # 15 if each had all of its attempts


def test_the_run_goes_on_when_the_provider_is_back() -> None:
    def down_for_a_while(_: Request) -> Served:
        return status(503, "maintenance") if len(server.requests) <= 8 else Served(text="Oslo")

    async def ask_all() -> list[str]:
        retries = Retries(attempts=2, first_wait=0.01, longest_wait=1.5)
        llm = LLM("openai/any", api_base=server.api_base, retries=retries, max_parallel=1)
        ledger = Ledger()
        try:
            answers = [await ask(llm, ledger, str(number)) for number in range(5)]
            await asyncio.sleep(1.6)
            return [*answers, *await asyncio.gather(*(ask(llm, ledger, str(number)) for number in range(20)))]
        finally:
            await llm.close()

    with Loopback(down_for_a_while) as server:
        answers = asyncio.run(ask_all())
    assert answers[4:] == [GONE, *["Oslo"] * 20]


def test_another_run_tries_for_itself() -> None:
    async def ask_all() -> list[str]:
        llm = LLM("openai/any", api_base=server.api_base, retries=Retries(attempts=1), max_parallel=1)
        ledger = Ledger()
        try:
            answers = [await ask(llm, ledger, str(number)) for number in range(5)]
            return [*answers, await ask(llm, Ledger(), "again")]
        finally:
            await llm.close()

    with Loopback([*[status(503, "maintenance")] * 4, "Oslo"]) as server:
        answers = asyncio.run(ask_all())
    assert answers[4:] == [GONE, "Oslo"]


def test_nobody_is_told_what_the_provider_said_of_another_call() -> None:
    async def ask_all() -> list[str]:
        llm = LLM("openai/any", api_base=server.api_base, retries=Retries(attempts=1), max_parallel=1)
        ledger = Ledger()
        try:
            return [await ask(llm, ledger, f"secret-{number}") for number in range(6)]
        finally:
            await llm.close()

    with Loopback(lambda request: status(500, f"cannot process: {request.prompt}")) as server:
        answers = asyncio.run(ask_all())
    assert [answer[-8:] for answer in answers[:4]] == [f"secret-{number}" for number in range(4)]
    assert answers[4:] == [GONE.replace("503", "500")] * 2


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
def test_a_client_library_that_fails_on_paid_answers_is_not_asked_on_and_on(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm: Any = import_litellm()
    calls: list[object] = []

    class Failing(litellm.CustomLLM):  # type: ignore[misc]  # LiteLLM is imported when it is needed
        """As Groq's part of LiteLLM 1.110.2 does where a server does not name its tier."""

        async def acompletion(self, *_: object, **options: object) -> object:
            calls.append(options)
            raise AttributeError("'ModelResponse' object has no attribute 'service_tier'")

    async def ask_all() -> list[str]:
        llm = LLM("failing/any", max_parallel=1)
        ledger = Ledger()
        try:
            return [await ask(llm, ledger, f"secret-{number}") for number in range(6)]
        finally:
            await llm.close()

    monkeypatch.setattr(litellm, "custom_provider_map", [{"provider": "failing", "custom_handler": Failing()}])
    answers = asyncio.run(ask_all())
    assert len(calls) == 8
    for answer in answers[:4]:
        assert answer.startswith("failing/any: the client library itself failed, 2 times; another release of it may")
        assert answer.endswith("'ModelResponse' object has no attribute 'service_tier'")
    assert answers[4:] == ["failing/any: not tried, as the calls before it all gave up: no answer"] * 2


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AttributeError("'str' object has no attribute 'choices'"), "broken"),
        (TypeError("'NoneType' object is not subscriptable"), "broken"),
        (KeyError("choices"), "broken"),
        (ValueError("Expecting value: line 1 column 1 (char 0)"), "transient"),
        (TypeError("Missing credentials: no API key is set"), "setup"),
    ],
)
def test_errors_in_the_code_of_a_client_are_no_outage(error: Exception, kind: str) -> None:
    assert read_fault(error).kind == kind
