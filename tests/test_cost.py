"""What calls take: sums, by task, as JSON."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from minirag.records import Call, Ledger, Usage


def test_usages_add_up_task_by_task() -> None:
    ledger = Ledger()
    ledger.add("extract", Usage(2, 100, 20, 40, 0.5, 1.0))
    ledger.add("read", Usage(1, 10, 2, 0, 0.25, 3.0))
    ledger.add("extract", Usage(1, 50, 10, 0, 0.125, 1.0))
    total = ledger.total(seconds=3.5)
    assert total == Usage(4, 160, 32, 40, 0.875, 3.5)
    assert list(total.tasks) == ["extract", "read"]
    assert total.tasks["extract"] == Usage(3, 150, 30, 40, 0.625, 2.0)
    both = total + total
    assert both.tasks["read"] == Usage(2, 20, 4, 0, 0.5, 6.0)
    assert (total + Usage(1, cost=None)).cost is None
    assert (total + Usage(1, cost=None)).tasks["read"].cost == 0.25


def test_a_total_is_not_changed_by_what_comes_later() -> None:
    ledger = Ledger()
    ledger.add("read", Usage(1))
    total = ledger.total()
    ledger.add("extract", Usage(1))
    assert list(total.tasks) == ["read"]


def test_usage_survives_json() -> None:
    ledger = Ledger()
    ledger.add("bridge", Usage(2, 100, 20, 40, None, 1.0))
    total = ledger.total()
    values = json.loads(json.dumps(total.to_dict()))
    assert values["tasks"] == {
        "bridge": {
            "calls": 2,
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cached_tokens": 40,
            "cost": None,
            "seconds": 1.0,
            "uncounted": 0,
        }
    }
    restored = Usage.from_dict(values)
    assert (restored, restored.tasks) == (total, total.tasks)
    assert Usage.from_dict({"calls": 3, "cost": 0.5}) == Usage(3, cost=0.5)


def test_calls_of_which_nobody_counted_the_tokens_add_up() -> None:
    ledger = Ledger()
    ledger.add("read", Usage(1, cost=None, uncounted=1))
    ledger.add("read", Usage(1, 100, 10, cost=0.5))
    total = ledger.total()
    assert (total.calls, total.uncounted, total.cost, total.tasks["read"].uncounted) == (2, 1, 0.5, 1)
    assert (total + total).uncounted == 2
    assert Usage.from_dict(json.loads(json.dumps(total.to_dict()))) == total


CALLS = [
    Usage(1, 100, 10, cost=0.5),
    Usage(1, 100, 10, cost=None),  # of unknown price
    Usage(1, cost=None, uncounted=1),
    Usage(1, cost=0.0, uncounted=1),  # of a model that costs nothing
]


def known_cost(calls: list[Usage]) -> float | None:
    """What is told of the cost of single calls."""
    counted = [call.cost for call in calls if not call.uncounted]
    if None in counted or (calls and not counted and any(call.cost is None for call in calls)):
        return None
    return sum(cost or 0.0 for cost in counted)


@given(st.lists(st.sampled_from(CALLS), max_size=6), st.lists(st.sampled_from(CALLS), max_size=6))
def test_a_sum_costs_what_is_known_however_it_came_about(some: list[Usage], others: list[Usage]) -> None:
    first, second = sum(some, Usage()), sum(others, Usage())
    both = first + second
    assert (both.cost, both.uncounted) == (
        known_cost([*some, *others]),
        sum(call.uncounted for call in [*some, *others]),
    )
    assert (first.cost, second.cost) == (known_cost(some), known_cost(others))


def untimed(usage: Usage) -> Usage:
    return replace(usage, seconds=0.0)


@given(st.lists(st.sampled_from(CALLS), max_size=6), st.lists(st.sampled_from(CALLS), max_size=6))
def test_a_part_of_a_run_costs_what_is_known_of_it(before: list[Usage], since: list[Usage]) -> None:
    ledger = Ledger()
    for call in before:
        ledger.add("extract", call)
    assert untimed(ledger.of_part()) == untimed(ledger.total())
    ledger.begin_part()
    assert untimed(ledger.of_part()) == Usage()
    for call in since:
        ledger.add("extract", call)
    assert untimed(ledger.of_part()) == untimed(sum(since, Usage()))
    assert ledger.total() == sum([*before, *since], Usage())
    assert list(ledger.of_part().tasks) == ["extract"] * bool(since)


def test_calls_are_kept_where_they_are_wanted() -> None:
    call = Call("read", "openai/any", "text", 1, 0.0, 0.5, Usage(1))
    ledger, keeping = Ledger(), Ledger(keeps_calls=True)
    for each in (ledger, keeping):
        each.note(call)
    assert (ledger.calls, keeping.calls) == ([], [call])
