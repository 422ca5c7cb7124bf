"""A limit on what a run may spend: kept, said, and resumed from."""

import asyncio
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from minirag import Document, Index, ask
from minirag.errors import BudgetExceededError, InputError
from minirag.records import Budget
from tests.loopback import Entry, Loopback, Request, Served, honest, status

PRICES = {"openai/any": (10.0, 30.0), "openai/embedding": (5.0, 0.0)}
PEOPLE = [
    "Ada Holm",
    "Boris Lund",
    "Carla Wirth",
    "Dario Neri",
    "Eva Quist",
    "Fritz Aalto",
    "Gerda Moss",
    "Hugo Brandt",
]
DOCUMENTS = [
    Document(f"d{n}", f"{name} was born in Bergen. {name} wrote Grey Coast {n} in 19{n}1.", name)
    for n, name in enumerate(PEOPLE)
]


def opened(path: Path, server: Loopback, **options: object) -> Index:
    options = {"model": "openai/any", "prices": PRICES, **options}
    return Index(path, api_base=server.api_base, api_key="secret", **options)  # type: ignore[arg-type]


# --- the budget itself ---------------------------------------------------------------------------------------------


def test_a_call_waits_for_those_in_flight_and_gets_what_they_did_not_need() -> None:
    async def main() -> list[str]:
        budget, told = Budget(1.0), list[str]()

        async def call(name: str, dollars: float, spent: float) -> None:
            async with budget.reserve(lambda: dollars) as reservation:
                told.append(f"{name} begins")
                await asyncio.sleep(0.01)
                reservation.spent = spent
            told.append(f"{name} ends at {budget.spent:.1f}")

        await asyncio.gather(call("a", 0.8, 0.1), call("b", 0.8, 0.6))
        with pytest.raises(
            BudgetExceededError, match=r"stopped at \$0.7000 of max_cost=\$1.00: the next call may cost"
        ):
            await call("c", 0.8, 0.1)
        with pytest.raises(BudgetExceededError):
            await call("d", 0.1, 0.1)  # the run has ended
        return told

    assert asyncio.run(main()) == ["a begins", "a ends at 0.1", "b begins", "b ends at 0.7"]


def test_what_fails_costs_nothing_and_what_does_not_say_costs_all_that_was_reserved() -> None:
    async def main() -> float:
        budget = Budget(1)
        with pytest.raises(RuntimeError, match="cut"):
            async with budget.reserve(lambda: 0.9):
                raise RuntimeError("cut")
        async with budget.reserve(lambda: 0.9):
            pass
        return budget.spent

    assert asyncio.run(main()) == 0.9


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf"), "1", True])
def test_a_limit_is_dollars(limit: object) -> None:
    with pytest.raises(ValueError, match=r"max_cost must be a number of dollars, 0 or more, not"):
        Budget(limit)  # type: ignore[arg-type]


# --- add -----------------------------------------------------------------------------------------------------------


def test_add_stops_in_time_keeps_what_was_done_and_goes_on(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "whole.usearch", server) as index:
        whole = index.add(DOCUMENTS, progress=False).usage
        calls = len(server.requests)
        assert whole.cost is not None
        assert list(whole.tasks) == ["extract", "bridge"]
    with (
        Loopback(honest) as server,
        opened(tmp_path / "notes.usearch", server, max_parallel=3, max_tokens=400) as index,
    ):
        with pytest.raises(
            BudgetExceededError, match=r"\d+ documents were added or updated, and what was paid"
        ) as caught:
            index.add(DOCUMENTS, progress=False, max_cost=whole.cost * 0.6)
        error = caught.value
        assert 0 < error.spent <= error.limit == whole.cost * 0.6
        assert error.usage.cost == pytest.approx(error.spent)
        assert error.report.usage == error.usage
        assert 0 < len(error.report.added) < len(DOCUMENTS)
        assert sorted(index.document_ids()) == sorted(error.report.added)
        assert (error.report.failed, index.info().failed) == ((), ())
        assert index.info().usage.cost == pytest.approx(error.spent)

        report = index.add(DOCUMENTS, progress=False)
        assert set(report.added) | set(error.report.added) == {document.id for document in DOCUMENTS}
        assert len(server.requests) == calls
        assert index.info().usage.cost == pytest.approx(whole.cost)
        assert index.info().usage.tasks["extract"].calls == len(DOCUMENTS)
        assert (index.info().pending, list(tmp_path.glob("*.replies"))) == (0, [])
    with Index(tmp_path / "whole.usearch", mode="r") as first, Index(tmp_path / "notes.usearch", mode="r") as second:
        counts = [(i.info().facts, i.info().bridges, i.info().triples) for i in (first, second)]
    assert counts[0] == counts[1]


def test_the_budget_may_end_while_bridging(tmp_path: Path) -> None:
    def serve(request: object) -> Served:
        served = honest(request)  # type: ignore[arg-type]
        is_bridge = '"task": "bridge"' in str(request.body)  # type: ignore[attr-defined]
        usage = {"prompt_tokens": 3000, "completion_tokens": 10, "total_tokens": 3010}
        return served if is_bridge else Served(text=served.text, usage=usage)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        with pytest.raises(BudgetExceededError) as caught:
            index.add(DOCUMENTS, progress=False, max_cost=8 * (3000 * 10e-6 + 10 * 30e-6) + 0.006)
        assert len(caught.value.report.added) == len(DOCUMENTS)
        assert index.info().pending > 0
        assert (index.info().bridges, index.info().failed) == (0, ())
        index.add([], progress=False)
        assert index.info().pending == 0
        assert index.info().bridges > 0


def test_changed_documents_that_were_not_reached_stay_as_they_were(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENTS, progress=False)
        before = index.document_ids()
        changed = [Document(each.id, each.text + " More of it.", each.title) for each in DOCUMENTS]
        with pytest.raises(BudgetExceededError) as caught:
            index.add(changed, progress=False, max_cost=1e-9)
        assert caught.value.report.updated == ()
        assert index.document_ids() == before
        assert index.passage(index.search("Ada Holm", kinds="passage")[0].id).text.count("More of it") == 0


def test_nothing_is_sent_to_a_model_of_unknown_price(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server, prices=None) as index:
        with pytest.raises(
            InputError,
            match=r"openai/any: its price is unknown, so max_cost cannot be kept \(for the tasks extract and bridge\)",
        ):
            index.add(DOCUMENTS, progress=False, max_cost=1)
        with pytest.raises(
            ValueError, match=r"the price of 'openai/any' is dollars per million tokens, \(sent, received\)"
        ):
            opened(tmp_path / "notes.usearch", server, prices={"openai/any": 3}).add("x", progress=False)
        assert server.requests == []


def unpriced(path: Path, server: Loopback, *tasks: str, **options: object) -> Index:
    return opened(path, server, models=dict.fromkeys(tasks, "openai/other"), **options)


def test_one_unknown_price_is_told_before_the_first_call(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with Loopback(honest) as server:
        with unpriced(path, server, "bridge") as index:
            told = r"^openai/other: .* cannot be kept \(for the task bridge\)\. .* prices=\{'openai/other': \(0.15"
            with pytest.raises(InputError, match=told):
                index.add(DOCUMENTS, progress=False, max_cost=5)
            assert (len(index), server.requests) == (0, [])
            index.add(DOCUMENTS, progress=False)
            sent = len(server.requests)
            with pytest.raises(InputError, match=told):
                index.delete("d0", progress=False, max_cost=5)
            with pytest.raises(InputError, match=told):
                index.prune(tmp_path, progress=False, max_cost=5)
            assert (len(index), len(server.requests)) == (len(DOCUMENTS), sent)
        with unpriced(path, server, "extract", "extend", "read") as index:
            assert index.delete("d0", progress=False, max_cost=5).deleted == ("d0",)  # asks no other model


def test_a_question_of_which_one_model_has_no_price_is_not_begun(tmp_path: Path) -> None:
    path, question = tmp_path / "notes.usearch", "Where was Ada Holm born?"
    with Loopback(honest) as server:
        with unpriced(path, server, "read") as index:
            index.add(DOCUMENTS, progress=False)
            sent = len(server.requests)
            for strategy in ("indexrag", "ircot", "kirag"):
                with pytest.raises(InputError, match=r"openai/other: .* \(for the task read\)"):
                    ask(question, index, strategy=strategy, max_cost=5)
            assert len(server.requests) == sent
        with unpriced(path, server, "extend", "think") as index:
            with pytest.raises(InputError, match=r"openai/other: .* \(for the task extend\)"):
                ask(question, index, strategy="kirag", max_cost=5)
            with pytest.raises(InputError, match=r"openai/other: .* \(for the task think\)"):
                ask(question, index, strategy="ircot", max_cost=5)
            assert len(server.requests) == sent
            assert ask(question, index, strategy="kirag", constructor=False, max_cost=5).usage.calls == 1
            assert ask(question, index, max_cost=5).usage.calls == 1


def test_offline_costs_nothing(tmp_path: Path) -> None:
    with Index(tmp_path / "notes.usearch", model="offline") as index:
        assert len(index.add(DOCUMENTS, progress=False, max_cost=0).added) == len(DOCUMENTS)
        assert ask("Where was Ada Holm born?", index, max_cost=0).usage.cost == 0.0


def test_deleting_bridges_afresh_within_the_budget(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENTS, progress=False)
        sent = len(server.requests)
        with pytest.raises(
            BudgetExceededError, match="1 documents were deleted; what they left to be bridged"
        ) as caught:
            index.delete("d0", progress=False, max_cost=1e-9)
        assert (caught.value.report.deleted, len(index), len(server.requests)) == (("d0",), len(DOCUMENTS) - 1, sent)
        assert index.info().pending > 0
        index.add([], progress=False)
        assert index.info().pending == 0
        assert index.delete("d1", progress=False, max_cost=1.0).deleted == ("d1",)


# --- hosted encoders -----------------------------------------------------------------------------------------------


def hosted(server: Loopback, model: str = "openai/embedding") -> object:
    from minirag.encoder import HostedEncoder

    return HostedEncoder(model, api_base=server.api_base, api_key="secret", prices=PRICES)


def test_embedding_is_counted_and_paid_for_as_a_whole(tmp_path: Path) -> None:
    with Loopback(honest) as server:
        encoder = hosted(server)
        with opened(tmp_path / "notes.usearch", server, encoder=encoder) as index:
            report = index.add(DOCUMENTS, progress=False)
            assert report.usage.cost == pytest.approx(sum(part.cost or 0 for part in report.usage.tasks.values()))
            assert report.usage.tasks["embed"].calls == 2  # documents, and then bridging facts
            answer = ask("Where was Ada Holm born?", index)
            assert list(answer.usage.tasks) == ["embed", "read"]
            sent = len(server.requests)
            with pytest.raises(BudgetExceededError) as caught:
                index.reembed(hosted(server), progress=False, max_cost=1e-6)  # type: ignore[arg-type]
            assert (caught.value.spent, len(server.requests)) == (0.0, sent)
            usage = index.reembed(hosted(server), progress=False, max_cost=1.0)  # type: ignore[arg-type]
            assert usage.tasks["embed"].calls >= 1
            assert index.info().usage.tasks["embed"].calls == 3 + usage.calls  # the first was for the dimensions
            with pytest.raises(InputError, match="openai/other: its price is unknown"):
                index.reembed(hosted(server, "openai/other"), progress=False, max_cost=1.0)  # type: ignore[arg-type]


def test_replies_are_kept_when_their_vectors_cannot_be_paid_for(tmp_path: Path) -> None:
    with Loopback(honest) as server:
        dear = {**PRICES, "openai/embedding": (1e5, 0.0)}
        from minirag.encoder import HostedEncoder

        encoder = HostedEncoder("openai/embedding", api_base=server.api_base, api_key="secret", prices=dear)
        with opened(tmp_path / "notes.usearch", server, encoder=encoder) as index:
            with pytest.raises(BudgetExceededError, match="0 documents were added") as caught:
                index.add(DOCUMENTS, progress=False, max_cost=1.0)
            assert (caught.value.report.added, len(index)) == ((), 0)
            chats = server.tasks()
            index.add(DOCUMENTS, progress=False)
            assert set(chats) == {"extract"}  # names are bridged once it is known what of
            assert server.tasks().count("extract") == len(chats)


# --- ask -----------------------------------------------------------------------------------------------------------


def test_ask_stops_before_a_call_that_might_cost_too_much(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENTS, progress=False)
        sent = len(server.requests)
        answer = ask("Where was Ada Holm born?", index, max_cost=1.0)
        assert answer.usage.cost is not None
        assert len(server.requests) == sent + 1
        with pytest.raises(BudgetExceededError, match=r"stopped at \$0 of max_cost=\$0.0001") as caught:
            ask("Where was Ada Holm born?", index, max_cost=0.0001)
        assert (caught.value.report, caught.value.usage.calls, caught.value.spent) == (None, 0, 0.0)
        assert len(server.requests) == sent + 1


def test_a_chain_of_calls_stops_on_its_way(tmp_path: Path) -> None:
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server, max_tokens=100) as index:
        index.add(DOCUMENTS, progress=False)
        whole = ask("Where was Ada Holm born?", index, strategy="ircot").usage
        assert whole.cost is not None
        assert whole.calls > 2
        with pytest.raises(BudgetExceededError) as caught:
            ask("Where was Ada Holm born?", index, strategy="ircot", max_cost=whole.cost * 0.8)
        assert 0 < caught.value.usage.calls < whole.calls
        assert caught.value.spent <= caught.value.limit


def test_failed_attempts_cost_nothing(tmp_path: Path) -> None:
    script: list[Entry] = [
        status(500),
        status(500),
        json.dumps({"nothing_to_extract": True, "facts": [], "triples": []}),
    ]
    with Loopback(script) as server, opened(tmp_path / "notes.usearch", server) as index:
        report = index.add([DOCUMENTS[0]], progress=False, max_cost=0.06)
    assert len(server.requests) == 3
    assert report.usage.cost == pytest.approx(100 * 10e-6 + 10 * 30e-6)


def half_told(request: Request, told: Mapping[str, int | None] | None) -> Served:
    served = honest(request)
    sent = len(json.dumps(request.body["messages"])) // 4
    return replace(served, usage=None if told is None else {"prompt_tokens": sent, **told})


@pytest.mark.parametrize("told", [None, {}, {"completion_tokens": None}])
def test_a_budget_holds_where_nobody_tells_the_tokens(told: Mapping[str, int | None] | None, tmp_path: Path) -> None:
    paid = []

    def serve(request: Request) -> Served:
        served = half_told(request, told)
        paid.append(len(json.dumps(request.body["messages"])) // 4 * 10e-6 + len(str(served.text)) // 4 * 30e-6)
        return served

    with (
        Loopback(serve) as server,
        opened(tmp_path / "notes.usearch", server, max_parallel=1) as index,
        pytest.raises(BudgetExceededError, match=r"of max_cost=\$0.07") as caught,
    ):
        index.add(DOCUMENTS, progress=False, max_cost=0.07)
    assert 2 <= len(paid) < len(DOCUMENTS)
    assert 0.02 < sum(paid) <= 0.07
    usage = caught.value.usage
    assert (usage.calls, usage.uncounted, usage.cost) == (len(paid), len(paid), None)


def test_an_error_in_the_place_of_an_answer_is_no_call_whose_tokens_are_unknown(tmp_path: Path) -> None:
    asked = count(1)

    def serve(request: Request) -> Served:
        broke = {"error": {"message": "Provider returned error", "code": 502}}
        return Served(body=broke) if next(asked) == 2 else honest(request)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        usage = index.add(DOCUMENTS, progress=False, max_cost=9).usage
    assert (usage.calls, usage.uncounted) == (len(server.requests) - 1, 0)
    assert usage.cost is not None


def test_the_error_pickles_with_all_that_it_holds() -> None:
    error = BudgetExceededError(limit=1.0, spent=0.5, needed=0.75)
    error.end_run("usage")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.limit, copy.spent, copy.needed, copy.usage, copy.report) == (1.0, 0.5, 0.75, "usage", None)
    assert str(copy) == "stopped at $0.5000 of max_cost=$1.00: the next call may cost up to $0.7500"
    error = BudgetExceededError(limit=1e-5, spent=2e-7, needed=3e-5)
    assert str(error) == "stopped at $0.0000002 of max_cost=$0.00001: the next call may cost up to $0.00003"
