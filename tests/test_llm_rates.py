"""Limits per minute, the time that one call may take, and what is said while nobody answers."""

from __future__ import annotations

import asyncio
import logging
import time
from email.utils import formatdate

import pytest

from minirag.errors import LLMUnavailableError, PromptTooLongError
from minirag.llm import LLM, Retries
from minirag.llm.faults import Fault, FaultError
from minirag.llm.pacing import Gate
from minirag.llm.rates import Rate
from minirag.llm.retrying import retry
from minirag.llm.silence import Silence
from minirag.records import Ledger
from tests.loopback import Served, status
from tests.test_llm import run, text


def test_so_much_per_minute_evenly() -> None:
    async def five() -> list[float]:
        rate, seen = Rate(600), []
        start = time.perf_counter()

        async def one() -> None:
            await rate.take(1)
            seen.append(time.perf_counter() - start)

        await asyncio.gather(*(one() for _ in range(5)))
        return seen

    times = asyncio.run(five())
    assert all(seen >= 0.1 * number - 0.001 for number, seen in enumerate(times))


def test_what_was_not_used_is_given_back_also_by_the_cancelled() -> None:
    async def third_at() -> float:
        rate = Rate(60)
        await rate.take(1)
        waiting = asyncio.create_task(rate.take(50))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        rate.give_back(0.9)
        start = time.perf_counter()
        await rate.take(1)
        return time.perf_counter() - start

    assert 0.05 < asyncio.run(third_at()) < 5


def test_requests_per_minute_are_kept() -> None:
    async def four(llm: LLM, ledger: Ledger) -> list[str]:
        return await asyncio.gather(*(text(llm, ledger) for _ in range(4)))

    start = time.perf_counter()
    run(["a"] * 4, four, requests_per_minute=600)
    assert time.perf_counter() - start > 0.3


def test_tokens_per_minute_are_kept_by_what_answers_say() -> None:
    async def in_turn(llm: LLM, ledger: Ledger) -> float:
        start = time.perf_counter()
        await text(llm, ledger)  # 110 tokens, says the server
        await text(llm, ledger)
        return time.perf_counter() - start

    waited, _, _ = run(["a"] * 2, in_turn, tokens_per_minute=13_200)
    assert waited > 0.45


def test_tokens_per_minute_are_kept_by_an_estimate_where_answers_say_nothing() -> None:
    async def in_turn(llm: LLM, ledger: Ledger) -> float:
        start = time.perf_counter()
        for _ in range(8):
            await text(llm, ledger)
        return time.perf_counter() - start

    silent = [Served(text="word " * 80, usage=None)] * 8  # 100 tokens each
    waited, _, _ = run(silent, in_turn, tokens_per_minute=60_000)
    assert waited > 0.65  # seven waits of a tenth of a second


@pytest.mark.parametrize("wrong", [{"requests_per_minute": 0}, {"tokens_per_minute": -1}])
def test_rates_are_above_0(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a rate per minute must be above 0"):
        LLM("openai/any", **wrong)  # type: ignore[arg-type]  # by name


def test_retry_after_may_be_a_date() -> None:
    date = formatdate(time.time() + 2, usegmt=True)  # whole seconds: at least one from now
    start = time.perf_counter()
    run([status(429, headers={"Retry-After": date}), "Oslo"], text)
    assert time.perf_counter() - start > 0.9


def test_nobody_enters_while_most_are_refused_and_a_wait_is_asked_for() -> None:
    async def entered_after() -> float:
        gate = Gate(4)
        for _ in range(30):
            gate.note("rate_limited", wait=0.2)
        start = time.perf_counter()
        await gate.enter(1)
        return time.perf_counter() - start

    assert asyncio.run(entered_after()) > 0.19


def test_a_provider_that_hangs_ends_a_call_in_time() -> None:
    run(["loads the library"], text)
    start = time.perf_counter()
    with pytest.raises(LLMUnavailableError, match=r"gave up after \d attempts and \d s of waiting: no answer in time"):
        run(lambda _: Served(text="late", delay=9), text, timeout=0.4, retries=Retries(seconds=1.0, first_wait=0.01))
    assert time.perf_counter() - start < 8


def test_a_prompt_that_was_too_long_tells_of_the_window() -> None:
    async def too_long(llm: LLM, ledger: Ledger) -> tuple[int, int]:
        before = llm.prompt_tokens
        with pytest.raises(PromptTooLongError, match="the prompt is too long: maximum context"):
            await llm.complete([{"role": "user", "content": "word " * 4000}], task="read", ledger=ledger)
        return before, llm.prompt_tokens

    (before, after), _, _ = run([status(400, "maximum context length is 4096 tokens")], too_long)
    assert (before, after) == (9000, 4000)


def test_says_that_nobody_answers(caplog: pytest.LogCaptureFixture) -> None:
    async def silent() -> None:
        silence = Silence("openai/any", first=0.4)
        silence.failed("status 503")
        with silence.watch(60, "given up"), silence.watch(8, "tried again"):
            while not caplog.records:
                await asyncio.sleep(0.01)
            silence.answered()
        await asyncio.sleep(0.9)

    caplog.set_level(logging.WARNING, logger="minirag")
    asyncio.run(silent())
    assert [record.getMessage() for record in caplog.records] == [
        "openai/any has not answered for 0 s (status 503); calls waiting: 2, the next is tried again in 8 s"
    ]


def test_what_is_said_meanwhile_does_not_quote_the_provider(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> None:
        raise FaultError(Fault("transient", "cannot process: Aylwin was directed by Henry", status=500))

    caplog.set_level(logging.INFO, logger="minirag")
    retries = Retries(attempts=3, first_wait=0.2)
    with pytest.raises(FaultError, match="Aylwin"):
        asyncio.run(retry(failing, retries, spent=lambda: 0.0, silence=Silence("openai/any", first=0.1)))
    told = [record.getMessage() for record in caplog.records]
    assert any("has not answered for 0 s (status 500); calls waiting: 1" in message for message in told)
    assert not any("Aylwin" in message for message in told)
