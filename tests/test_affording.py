"""Questions of several calls within a budget: those that are begun are finished, and nothing is paid for in vain."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from minirag import Index
from minirag.errors import BudgetExceededError, InputError
from minirag.evaluation.datasets import Dataset, load_dataset
from minirag.evaluation.results import Run
from minirag.evaluation.runs import build_index, evaluate
from minirag.records import Budget
from tests.loopback import Loopback, Request, Served, honest

PRICES = {"openai/any": (10.0, 30.0)}
DEMO = load_dataset(Path(__file__).parents[1] / "minirag" / "demo")


def test_questions_to_a_model_of_unknown_price_are_not_begun(tmp_path: Path) -> None:
    models = {"read": "openai/other"}
    with Loopback(honest) as server:
        where = {"api_base": server.api_base, "api_key": "secret", "prices": PRICES}
        with Index(tmp_path / "demo.usearch", model="openai/any", models=models, **where) as index:  # type: ignore[arg-type]
            build_index(DEMO, index.path, model="offline", progress=False)
            index.refresh()
            with pytest.raises(InputError, match=r"openai/other: its price is unknown, .* \(for the task read\)"):
                evaluate(DEMO, index, strategy="ircot", max_cost=5, progress=False)
        assert server.requests == []


# --- the budget ----------------------------------------------------------------------------------------------------


def test_work_is_begun_while_its_end_can_be_paid_for() -> None:
    async def main() -> list[str]:
        budget, told = Budget(1.0), list[str]()

        async def piece(name: str, alone: float, beside: float) -> None:
            async with budget.begin(alone=lambda: alone, beside=lambda: beside) as share:
                told.append(f"{name} begins at {budget.spent:.1f}")
                for _ in range(2):
                    async with share.reserve(lambda: 0.25) as reservation:
                        await asyncio.sleep(0.01)
                        reservation.spent = 0.2
            told.append(f"{name} needed {share.needed:.2f}")

        pieces = [piece("a", 0.0, math.inf), piece("b", 0.45, 0.45), piece("c", 0.45, 0.45)]
        found = await asyncio.gather(*pieces, return_exceptions=True)
        told += [str(each) for each in found if each is not None]
        return told

    assert asyncio.run(main()) == [
        "a begins at 0.0",
        "a needed 0.45",
        "b begins at 0.4",
        "b needed 0.45",
        "stopped at $0.8000 of max_cost=$1.00: the next question may cost up to $0.4500",
    ]


def test_what_was_begun_first_is_finished_first() -> None:
    async def main() -> list[str]:
        budget, told = Budget(1.0), list[str]()

        async def piece(name: str, expected: float, calls: int, cost: float) -> None:
            try:
                async with budget.begin(alone=lambda: expected, beside=lambda: expected) as share:
                    for _ in range(calls):
                        async with share.reserve(lambda: cost):
                            await asyncio.sleep(0.01)
                told.append(f"{name} ended")
            except BudgetExceededError:
                told.append(f"{name} stopped, needing {share.needed:.1f}")

        await asyncio.gather(piece("old", 0.6, 2, 0.3), piece("new", 0.3, 3, 0.3))
        await piece("other", 0.1, 1, 0.1)  # what is left may do for another
        return told

    assert asyncio.run(main()) == ["old ended", "new stopped, needing 0.6", "other ended"]


# --- runs ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("affording") / "demo.usearch"
    build_index(DEMO, path, model="offline", progress=False)
    return path


def asked(
    path: Path,
    server: Loopback,
    *,
    max_cost: float | None = None,
    resume: Path | None = None,
    read: bool = True,
    questions: Dataset = DEMO,
) -> Run:
    options = {"model": "openai/any", "api_base": server.api_base, "api_key": "none", "prices": PRICES}
    with Index(path, mode="r", **options) as index:  # type: ignore[arg-type]
        return evaluate(questions, index, strategy="kirag", max_cost=max_cost, resume=resume, read=read, progress=False)


def dear(request: Request) -> Served:
    """The honest model, with prompts and replies that cost what they do in earnest."""
    served = honest(request)
    usage = {"prompt_tokens": 1500, "completion_tokens": 100, "total_tokens": 1600}
    return Served(text=served.text, usage=usage, delay=0.01)


def test_no_call_is_paid_for_twice_however_small_the_budgets(path: Path, tmp_path: Path) -> None:
    with Loopback(dear) as server:
        whole = asked(path, server)
        calls = len(server.requests)
    assert calls >= 3 * len(whole.results)
    costs = [result.usage.cost or 0.0 for result in whole.results]
    limit = 2.5 * max(costs) + 1024 * 30e-6  # the first reply is reserved for a thousand tokens
    answered = [0]
    with Loopback(dear) as server:
        while answered[-1] < len(costs):
            before, began = len(server.requests), perf_counter()
            run, stopped = within(path, server, limit, tmp_path / "log.jsonl")
            if stopped is None:
                break
            assert stopped.spent <= limit
            assert 0 < stopped.usage.seconds <= perf_counter() - began
            assert stopped.usage.cost == pytest.approx(stopped.spent)
            assert stopped.usage.calls == len(server.requests) - before
            assert re.search(r"One question takes about \$0\.0[789]\d\d$", str(stopped))
            assert stopped.report.answered > answered[-1]
            answered.append(stopped.report.answered)
        assert len(server.requests) == calls
    assert run is not None
    assert [each.answer for each in run.results] == [each.answer for each in whole.results]
    assert run.usage.cost == pytest.approx(whole.usage.cost)


def within(path: Path, server: Loopback, limit: float, log: Path) -> tuple[Run | None, BudgetExceededError | None]:
    """A run within a budget, or how it ended."""
    try:
        return asked(path, server, max_cost=limit, resume=log), None
    except BudgetExceededError as error:
        return None, error


def test_a_budget_for_less_than_a_question_says_what_one_takes(path: Path, tmp_path: Path) -> None:
    log, requests = tmp_path / "log.jsonl", [0]
    with Loopback(dear) as server:
        for _ in range(2):
            with pytest.raises(
                BudgetExceededError,
                match=r"0 of 10 questions by kirag were answered and are kept: .* there\. One question takes about "
                r"\$0\.\d+ or more, and max_cost is \$0\.0600$",
            ) as caught:
                asked(path, server, max_cost=0.06, resume=log)
            assert 0 < caught.value.spent <= 0.06
            requests.append(len(server.requests))
            assert requests[-1] > requests[-2]
        with pytest.raises(
            BudgetExceededError, match=r"stopped at \$0 of .*: the next question may cost up to \$0\.\d"
        ):
            asked(path, server, max_cost=0.06, resume=log)
        assert len(server.requests) == requests[-1]  # what is known to be too little is not spent again
        assert len(asked(path, server, max_cost=5.0, resume=log).results) == 10


def test_how_long_replies_are_is_learnt_from_the_log(path: Path, tmp_path: Path) -> None:
    """Else the first reply of each run would be reserved for a thousand tokens, which the second budget lacks."""
    with Loopback(dear) as server:
        _, first = within(path, server, 0.2, tmp_path / "log.jsonl")
        assert first is not None
        assert first.report.answered > 0
        requests = len(server.requests)
        _, second = within(path, server, 0.09, tmp_path / "log.jsonl")
        assert second is not None
        assert second.report.answered == first.report.answered + 1
        assert len(server.requests) == requests + 4


def test_a_question_that_is_too_dear_does_not_keep_the_others_from_being_asked(path: Path, tmp_path: Path) -> None:
    first, *others = DEMO.questions
    questions = replace(DEMO, questions=(replace(first, text=first.text + " really" * 3000), *others))
    log, answered = tmp_path / "log.jsonl", [-1]
    with Loopback(honest) as server:
        while answered[-1] < len(others):
            with pytest.raises(BudgetExceededError) as caught:
                asked(path, server, max_cost=0.2, resume=log, questions=questions)
            answered.append(caught.value.report.answered)
            assert answered[-1] > answered[-2]
        requests = len(server.requests)
        with pytest.raises(BudgetExceededError, match=r"9 of 10 .* One question takes about"):
            asked(path, server, max_cost=0.2, resume=log, questions=questions)
        assert len(server.requests) == requests
        assert len(asked(path, server, max_cost=2.0, resume=log, questions=questions).results) == 10


def test_retrieving_by_a_model_counts_and_is_not_paid_for_twice(path: Path) -> None:
    with Loopback(dear) as server:
        run = asked(path, server, read=False)
        calls = len(server.requests)
        assert run.usage.calls == calls > 0
        assert run.usage.cost == pytest.approx(calls * (1500 * 10e-6 + 100 * 30e-6))
        assert set(server.tasks()) == {"extend"}
        with pytest.raises(BudgetExceededError, match=r"\d of 10 questions by kirag were answered and are lost"):
            asked(path, server, read=False, max_cost=0.1)


def test_what_a_question_took_that_failed_counts(path: Path) -> None:
    def serve(request: Request) -> Served:
        served = dear(request)
        return served if '"task": "extend"' in request.prompt else Served(text="No.", refusal="No.", usage=served.usage)

    with Loopback(serve) as server:
        run = asked(path, server)
    assert len(run.failed) == len(run.results)
    assert run.usage.calls == len(server.requests)
