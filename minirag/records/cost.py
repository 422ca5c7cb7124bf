"""What calls take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Task = Literal["extract", "bridge", "extend", "think", "read", "embed"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took.

    Attributes:
        calls: Requests that got an answer.
        prompt_tokens: Tokens sent, the cached ones included.
        completion_tokens: Tokens received.
        cached_tokens: Of those sent, how many the provider had cached.
        cost: Dollars. 0.0 offline, None where a price is unknown.
        seconds: Wall time.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Sum of both; an unknown cost stays unknown."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            cost,
            self.seconds + other.seconds,
        )


class Ledger:
    """Adds up the usage of one run, by task."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.by_task: dict[Task, Usage] = {}

    def add(self, task: Task, usage: Usage) -> None:
        """Count `usage` for `task`."""
        self.by_task[task] = self.by_task.get(task, Usage()) + usage

    def total(self, *, seconds: float | None = None) -> Usage:
        """The sum over all tasks; `seconds` replaces the calls' own, which overlap when they ran side by side."""
        total = sum(self.by_task.values(), Usage())
        return total if seconds is None else replace(total, seconds=seconds)
