"""How many requests are open at once, and which is next."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import threading
import time
from collections.abc import Awaitable
from itertools import pairwise

import pytest

from minirag.errors import LLMUnavailableError
from minirag.llm import LLM, Retries
from minirag.llm.pacing import Gate
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, broken_body, cut, empty_choices, status


def test_the_oldest_call_is_next() -> None:
    async def order() -> list[int]:
        gate, seen = Gate(1), []

        async def enter(number: int) -> None:
            await gate.enter(number)
            seen.append(number)
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*(enter(number) for number in (5, 3, 9, 1, 3)))
        return seen

    assert asyncio.run(order()) == [5, 1, 3, 3, 9]


def test_a_cancelled_call_gives_its_place_to_the_next() -> None:
    async def after_cancelling() -> bool:
        gate = Gate(1)
        await gate.enter(0)
        waiting = [asyncio.create_task(gate.enter(number)) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # while it waits
        gate.leave()
        waiting[1].cancel()  # in the moment in which it was given a place
        await asyncio.wait(waiting, timeout=1)
        return waiting[2].done() and not waiting[2].cancelled()

    assert asyncio.run(after_cancelling())


def note(gate: Gate, *, answers: int = 0, rate_limits: int = 0, times: int = 1, wait: float | None = None) -> None:
    """So many of both, one after the other, and that so many times."""
    for _ in range(times):
        for _ in range(rate_limits):
            gate.note("rate_limited", wait=wait)
        for _ in range(answers):
            gate.note("answered")


def test_scattered_rate_limits_are_no_reason_to_slow_down() -> None:
    gate, dice = Gate(16), random.Random(0)
    for _ in range(2000):
        gate.note("rate_limited" if dice.random() < 0.06 else "answered")
        assert gate.limit == 16


def test_slows_down_when_a_quarter_of_the_answers_are_rate_limits() -> None:
    gate = Gate(16)
    note(gate, rate_limits=1, answers=3, times=30)
    assert 8 < gate.limit < 16
    note(gate, rate_limits=40)
    assert gate.limit == 1


def test_speeds_up_slowly_where_it_was_too_fast_before() -> None:
    gate = Gate(16)
    note(gate, rate_limits=4)
    assert gate.limit == pytest.approx(11.2)
    note(gate, answers=30)
    assert 13.5 < gate.limit < 14  # 85 % of 16 quickly
    note(gate, answers=30)
    assert gate.limit < 14.1
    note(gate, answers=600)
    assert gate.limit == 16
    note(gate, rate_limits=40)
    assert gate.limit == 1
    note(gate, answers=400)
    assert gate.limit == 16


def test_what_was_sent_before_a_step_says_nothing_of_it() -> None:
    gate = Gate(16)
    note(gate, rate_limits=4)
    for _ in range(12):
        gate.note("rate_limited", seconds=5.0)
    assert gate.limit == pytest.approx(11.2)


def test_after_a_hold_those_that_wait_come_one_by_one() -> None:
    async def entered() -> list[float]:
        gate, times = Gate(8), []
        for _ in range(40):
            gate.note("answered", seconds=0.4)
        for _ in range(4):
            gate.note("rate_limited", wait=0.2)

        async def enter(number: int) -> None:
            await gate.enter(number)
            times.append(time.monotonic() - start)

        start = time.monotonic()
        await asyncio.gather(*(enter(number) for number in range(5)))
        return times

    times = asyncio.run(entered())
    spacing = 0.9 * 0.4 / 5.6
    assert times[0] >= 0.19
    assert times[-1] - times[0] > 0.9 * 4 * spacing
    assert all(later - earlier > 0.3 * spacing for earlier, later in pairwise(times))


def shut_gate() -> Gate:
    """Requests take 50 ms there, and the provider has asked for half a minute."""
    gate = Gate(8)
    for _ in range(40):
        gate.note("answered", seconds=0.05)
    note(gate, rate_limits=4, wait=30.0)
    return gate


def test_one_call_that_is_answered_opens_a_shut_gate() -> None:
    async def all_enter() -> int:
        gate = shut_gate()
        entering = [asyncio.create_task(gate.enter(number)) for number in range(5)]
        await entering[0]
        alone = sum(task.done() for task in entering)
        gate.note("answered")
        await asyncio.wait(entering, timeout=10)
        assert all(task.done() for task in entering)
        return alone

    assert asyncio.run(all_enter()) == 1


def test_a_failure_that_is_no_rate_limit_opens_no_shut_gate() -> None:
    """Such as by a server that is not there: before, all others went the same way at once."""

    async def entered_with_it() -> int:
        gate = shut_gate()
        entering = [asyncio.create_task(gate.enter(number)) for number in range(5)]
        await entering[0]
        gate.note("failed")
        for _ in range(5):  # turns of the loop; the next tries after 100 ms
            await asyncio.sleep(0)
        inside = sum(task.done() for task in entering)
        for task in entering:
            task.cancel()
        await asyncio.wait(entering)
        return inside

    assert asyncio.run(entered_with_it()) == 1


def test_failures_that_are_no_rate_limits_raise_no_limit() -> None:
    gate = Gate(16)
    note(gate, rate_limits=4)
    for _ in range(100):
        gate.note("failed")
    assert gate.limit == pytest.approx(11.2)


def test_a_gate_that_was_shut_opens_on_another_event_loop() -> None:
    """What was to open it ended with the first loop."""
    gate = Gate(4)

    async def shut_it() -> None:
        note(gate, rate_limits=4, wait=0.2)
        waiting = asyncio.create_task(gate.enter(0))
        await asyncio.sleep(0)
        waiting.cancel()

    async def enter() -> None:
        await asyncio.wait_for(gate.enter(0), timeout=10)
        gate.leave()

    asyncio.run(shut_it())
    asyncio.run(enter())  # while it is held
    asyncio.run(shut_it())
    time.sleep(0.3)
    asyncio.run(enter())  # when nobody but a call that was given up stands before it


def test_few_calls_try_a_shut_gate() -> None:
    async def entered_in_half_a_second() -> int:
        gate = shut_gate()
        entering = [asyncio.create_task(enter(gate, number)) for number in range(20)]
        await asyncio.wait(entering, timeout=0.5)
        inside = sum(task.done() for task in entering)
        for task in entering:
            task.cancel()
        await asyncio.wait(entering)
        return inside

    async def enter(gate: Gate, number: int) -> None:
        await gate.enter(number)
        gate.leave()
        note(gate, rate_limits=1, wait=30.0)

    assert 1 <= asyncio.run(entered_in_half_a_second()) <= 4  # after 50 ms, 100 more, 200 more, 400 more


def test_settles_near_what_a_provider_takes() -> None:
    """Of 16 at once it takes 4: before, more than half of all requests were refused, to the end."""
    inside, refused, lock = 0, 0, threading.Lock()

    def four_at_once(_: Request) -> Served:
        nonlocal inside, refused
        with lock:
            inside += 1
            is_too_many = inside > 4
            refused += is_too_many
        time.sleep(0.02 if is_too_many else 0.05)
        with lock:
            inside -= 1
        return status(429, "slow down") if is_too_many else Served(text="Oslo")

    async def ask_all() -> list[str]:
        llm = LLM("openai/any", api_base=server.api_base, retries=Retries(first_wait=0.02, longest_wait=0.5))
        try:
            return await asyncio.gather(*ask_many(llm, Ledger(), 300))
        finally:
            await llm.close()

    with Loopback(four_at_once) as server:
        assert asyncio.run(ask_all()) == ["Oslo"] * 300
    assert refused < 150


def ask_many(llm: LLM, ledger: Ledger, calls: int) -> list[Awaitable[str]]:
    return [llm.complete([{"role": "user", "content": str(i)}], task="read", ledger=ledger) for i in range(calls)]


def test_a_server_that_fails_behind_rate_limits_is_tried_by_few() -> None:
    """Before, the first that met a failure let all others in."""
    answered, refused, failed = 20, 6, 0

    def overloaded(_: Request) -> Served:
        nonlocal answered, refused, failed
        if answered:
            answered -= 1
            return Served(text="Oslo", delay=0.1)
        if refused:
            refused -= 1
            return status(429, "slow down", headers={"Retry-After": "5"})
        failed += 1
        return status(503, "overloaded")

    async def ask_for_a_second() -> None:
        llm = LLM("openai/any", api_base=server.api_base, max_parallel=4)
        await asyncio.gather(*ask_many(llm, Ledger(), 20))
        asking = [asyncio.ensure_future(call) for call in ask_many(llm, Ledger(), 24)]
        await asyncio.wait(asking, timeout=1.0)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
        await llm.close()

    with Loopback(overloaded) as server:
        asyncio.run(ask_for_a_second())
    assert failed <= 5  # after 0.1 s, 0.2 more, 0.4 more


def test_a_provider_that_limits_the_rate_gets_everything_in_the_end() -> None:
    times: list[float] = []

    def forty_a_second(_: Request) -> Served:
        now = time.monotonic()
        if sum(now - then < 0.25 for then in times) >= 10:
            return status(429, "slow down")
        times.append(now)
        return Served(text="Oslo")

    async def ask_all() -> list[str]:
        retries = Retries(attempts=2, first_wait=0.02, longest_wait=0.1)  # far more tries are needed than two
        llm = LLM("openai/any", api_base=server.api_base, retries=retries)
        try:
            return await asyncio.gather(*ask_many(llm, ledger, 40))
        finally:
            await llm.close()

    ledger = Ledger()
    with Loopback(forty_a_second) as server:
        assert asyncio.run(ask_all()) == ["Oslo"] * 40
    assert ledger.by_task["read"].calls == 40


def test_rate_limits_end_by_time() -> None:
    async def ask_one() -> None:
        llm = LLM("openai/any", api_base=server.api_base, retries=Retries(attempts=2, seconds=1.5, first_wait=0.02))
        try:
            await ask_many(llm, Ledger(), 1)[0]
        finally:
            await llm.close()

    with (
        Loopback(lambda _: status(429, "slow down")) as server,
        pytest.raises(LLMUnavailableError, match=r"gave up after \d+ attempts and \d+ s of waiting: slow down"),
    ):
        asyncio.run(ask_one())
    assert len(server.requests) > 2


def test_a_retry_goes_before_what_began_later() -> None:
    order: list[str] = []

    def first_one_fails_once(request: Request) -> Served:
        order.append(request.prompt)
        return status(500) if order == ["0"] else Served(text="Oslo", delay=0.02)

    async def ask_all() -> None:
        retries = Retries(first_wait=0.001)
        llm = LLM("openai/any", api_base=server.api_base, retries=retries, max_parallel=1)
        await asyncio.gather(*ask_many(llm, Ledger(), 20))
        await llm.close()

    with Loopback(first_one_fails_once) as server:
        asyncio.run(ask_all())
    assert order.index("0", 1) < 5


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        (cut(), r"no answer\), again in 0\.0 s"),
        (broken_body(), r"\), again in 0\.0 s"),
        (empty_choices(), r"no answer\), again in 0\.0 s"),
        (status(500), r"500\), again in 0\.[2-4] s"),
        (status(429), r"429\), again in 0\.[2-4] s"),
    ],
)
def test_only_what_may_be_overloaded_is_given_time(fault: Served, waits: str, caplog: pytest.LogCaptureFixture) -> None:
    async def ask_one() -> str:
        llm = LLM("openai/any", api_base=server.api_base, retries=Retries(first_wait=0.2))
        try:
            return await ask_many(llm, Ledger(), 1)[0]
        finally:
            await llm.close()

    caplog.set_level(logging.INFO, logger="minirag.llm.retrying")
    with Loopback([fault, fault, "Oslo"]) as server:
        assert asyncio.run(ask_one()) == "Oslo"
    first, second = [r.getMessage() for r in caplog.records if "failed" in r.getMessage()]
    assert re.search(waits, first)
    assert re.search(r"again in 0\.[4-6] s", second)
