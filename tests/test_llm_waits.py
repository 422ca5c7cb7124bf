"""How long providers ask to wait, in their words."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from minirag.llm import LLM
from minirag.llm.transport import import_litellm
from minirag.llm.waits import wait_in_words
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, status
from tests.test_llm import ASK, LITELLM, OSLO, Place, run, text


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Requests to this deployment exceeded the limit. Please retry after 26 seconds.", 26),
        ("Rate limit reached. Please try again in 1m30.5s. Visit https://example.com", 90.5),
        ("Please try again in 6m0s.", 360),
        ("try again in 450ms", 0.45),
        ("Please try again in 250 milliseconds", 0.25),
        ("Try again in 5 seconds. Passed model=any", 5),
        ("please wait 1 minute and 5 seconds before you send more", 65),
        ("Please wait for 2 hours, 1 min", 7260),
        ("Please retry in 26.4s.", 26.4),
        ('{"@type": "RetryInfo", "retryDelay": "17s"}', 17),
        ("Retry after 1 hr", 3600),
        ("limit resets in 12 secs", 12),
        ('{"retry_after": 7.5, "code": 429}', 7.5),
        ('{"retry_after_ms": 1500}', 1.5),
        ("retry-after: 30", 30),
        ('{"retry_after_seconds": "4"}', 4),
        ("Timeout after waiting for 600 seconds", None),
        ("try again in 5 moons", None),
        ("try again in a while", None),
        ("retry after: never", None),
    ],
)
def test_a_wait_in_words(said: str, seconds: float | None) -> None:
    assert wait_in_words(said) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "fault",
    [
        status(429, "Please retry after 0.4 seconds."),
        Served(body={"error": {"code": 429, "message": "Try again in 0m0.4s."}}),
    ],
)
def test_it_is_waited_for(fault: Served) -> None:
    start = time.perf_counter()
    run([fault, "Oslo"], text)
    assert time.perf_counter() - start > 0.4


@LITELLM
def test_the_waits_of_a_router_are_heeded() -> None:
    def serve(_: Request) -> Any:  # noqa: ANN401
        return status(429, "slow down") if len(server.requests) < 3 else OSLO

    async def ask() -> list[int]:
        params = {"model": "openai/any", "api_base": server.api_base, "api_key": "k"}
        deployments = [{"model_name": "fast", "litellm_params": {**params, "seed": seed}} for seed in (1, 2)]
        router = import_litellm().Router(deployments, cooldown_time=1, allowed_fails=0)
        ledger = Ledger(keeps_calls=True)
        await LLM(router).complete(ASK, reply=Place, task="read", ledger=ledger)
        return [call.attempts for call in ledger.calls]

    with Loopback(serve) as server:
        start = time.perf_counter()
        assert asyncio.run(ask()) == [4]
        assert time.perf_counter() - start > 1
        assert len(server.requests) == 3
