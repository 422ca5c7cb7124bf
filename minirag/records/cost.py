"""What calls take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

from minirag.errors import BudgetExceededError
from minirag.records.budget import Budget

Task = Literal["extract", "bridge", "extend", "think", "read", "embed"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took.

    Attributes:
        calls: Requests that got an answer.
        prompt_tokens: Tokens sent, the cached ones included.
        completion_tokens: Tokens received.
        cached_tokens: Of those sent, how many the provider had cached.
        cost: Dollars. 0.0 offline, None where a price is unknown, or the tokens of all calls are. Of a few uncounted
            calls it holds nothing: it is then the least that was spent.
        seconds: Wall time.
        tasks: The same by task, in the order of their first calls; there `seconds` adds up calls that overlapped.
            Empty in one task's own usage. Not compared.
        uncounted: Of the calls, those of which nobody said how many tokens they took, as by a server that sends no
            usage, or a function or `Reasoner` of one's own; the sums are of the others.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    tasks: Mapping[Task, Usage] = field(default_factory=dict, compare=False)
    uncounted: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Sum of both, task by task; an unknown cost stays unknown, unless it is that of uncounted calls alone."""
        tasks = dict(self.tasks)
        for task, usage in other.tasks.items():
            tasks[task] = tasks[task] + usage if task in tasks else usage
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self._cost_with(other),
            self.seconds + other.seconds,
            tasks,
            self.uncounted + other.uncounted,
        )

    def _cost_with(self, other: Usage) -> float | None:
        calls, uncounted = self.calls + other.calls, self.uncounted + other.uncounted
        if calls and calls == uncounted and (self._is_untold or other._is_untold):
            return None
        costs = [part.cost for part in (self, other) if not part._is_untold]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def _is_untold(self) -> bool:
        """Whether there are calls, and nobody told the tokens of any, nor that they cost nothing."""
        return self.cost is None and self.calls > 0 and self.calls == self.uncounted

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        for part in values["tasks"].values():
            del part["tasks"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Usage:
        """From what `to_dict` gave; without "tasks" it is all of no task."""
        tasks = {task: cls.from_dict(part) for task, part in values.get("tasks", {}).items()}
        return cls(**{**values, "tasks": tasks})


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model, with its retries.

    Attributes:
        task: What it was for.
        model: Its LiteLLM name.
        mode: How the form of the reply was asked for: "json_schema", "tool", "json_object", "text", or "vectors";
            "reasoner" of an own `Reasoner`.
        attempts: How often it was sent.
        started: Seconds after the run began.
        seconds: From the first attempt to the end, the waits in between included.
        usage: What its answers took, those included that could not be used.
        error: Why it failed, in one line; None when it was answered.
    """

    task: Task
    model: str
    mode: str
    attempts: int
    started: float
    seconds: float
    usage: Usage
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        del values["usage"]["tasks"]
        return values


class Ledger:
    """Adds up the usage of one run, by task, and keeps its calls where they are wanted.

    Attributes:
        by_task: What each task took.
        calls: In the order in which they ended, if they are kept.
        budget: What the run may spend; None for no limit.
    """

    def __init__(self, *, max_cost: float | Budget | None = None, keeps_calls: bool = False) -> None:
        """Start at nothing.

        Args:
            max_cost: Dollars that the run may spend, or a budget that it shares with others.
            keeps_calls: For a run that is short enough to remember each of them.

        Raises:
            ValueError: If `max_cost` is no number of dollars.
        """
        self.by_task: dict[Task, Usage] = {}
        self._of_part: dict[Task, Usage] = {}
        self.calls: list[Call] = []
        self.budget = Budget.of(max_cost)
        self._keeps_calls = keeps_calls
        self._started = self._part_started = perf_counter()

    def now(self) -> float:
        """Seconds since the run began."""
        return perf_counter() - self._started

    def add(self, task: Task, usage: Usage) -> None:
        """Count `usage` for `task`."""
        for sums in (self.by_task, self._of_part):
            sums[task] = sums.get(task, Usage()) + usage

    def begin_part(self) -> None:
        """From here on, `of_part` counts anew; the run's total goes on."""
        self._of_part = {}
        self._part_started = perf_counter()

    def of_part(self) -> Usage:
        """What was taken since `begin_part`, or in all: of a difference of two totals nobody could tell the cost.

        The seconds are wall time, to the millisecond.
        """
        return replace(_sum_of(self._of_part), seconds=round(perf_counter() - self._part_started, 3))

    def note(self, call: Call) -> None:
        """Keep a call that ended, if calls are kept; its usage was counted when its answers came."""
        if self._keeps_calls:
            self.calls.append(call)

    def total(self, *, seconds: float | None = None) -> Usage:
        """The sum over all tasks; `seconds` replaces the calls' own, which overlap when they ran side by side."""
        total = _sum_of(self.by_task)
        return total if seconds is None else replace(total, seconds=seconds)


def _sum_of(by_task: Mapping[Task, Usage]) -> Usage:
    return replace(sum(by_task.values(), Usage()), tasks=dict(by_task))


_RUNNING: ContextVar[Ledger | None] = ContextVar("minirag_ledger", default=None)


def running_ledger() -> Ledger | None:
    """The ledger of the run that this code is part of: hosted encoders are called from deep within, and count there."""
    return _RUNNING.get()


@contextmanager
def counting(ledger: Ledger) -> Iterator[None]:
    """Make what is done inside, in whatever task or thread, part of the ledger's run.

    When the budget ends, the error is told what the run took.
    """
    token = _RUNNING.set(ledger)
    try:
        yield
    except BudgetExceededError as error:
        error.end_run(ledger.total(seconds=ledger.now()), error.report)
        raise
    finally:
        _RUNNING.reset(token)
