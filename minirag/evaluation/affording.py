"""Questions within a budget: none is begun whose end could not be paid for, as its calls would be paid for in vain."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minirag.errors import BudgetExceededError
from minirag.evaluation.datasets import Question
from minirag.evaluation.resuming import ResultLog, Unfinished
from minirag.records import Budget, Ledger, Usage
from minirag.wording import dollars

if TYPE_CHECKING:
    from minirag.evaluation.results import QuestionResult

_TRIED = 2  # questions that came to no end, until no more are tried with as little
_MOST = 0.9  # of the questions need no more than one is expected to


@dataclass(frozen=True, slots=True)
class Answered:
    """How far a run came that its budget stopped.

    Attributes:
        strategy: Of the run.
        answered: How many of its questions were answered, in earlier runs too.
        questions: How many it has.
        kept: Whether the answers are on disk.
        usage: What its questions took in this run.
        takes: What one of them takes, in words; "" where that is not known.
    """

    strategy: str
    answered: int
    questions: int
    kept: bool
    usage: Usage
    takes: str = ""

    @property
    def how_to_go_on(self) -> str:
        """What is there, and what does the rest."""
        how = "kept: the same run with a new max_cost goes on from there" if self.kept else "lost, for want of `resume`"
        done = f"{self.answered:,} of {self.questions:,} questions by {self.strategy} were answered and are {how}"
        return f"{done}. {self.takes}" if self.takes else done


class Affording:
    """What the questions of a run need of its budget, learnt from those that were asked, in earlier runs too.

    The first question of which nothing is known is asked alone. Later ones begin beside others while the most that one
    needed so far is left for each, and one alone while what nine of ten needed is left.
    """

    def __init__(self, budget: Budget | None, log: ResultLog | None) -> None:
        """Learn from what the log holds; None for no limit, and for no log."""
        self._budget, self._log = budget, log
        self._needed = [] if log is None else sorted(log.needed.values())
        self._unfinished = {} if log is None else dict(log.unfinished)
        if budget is not None and log is not None:
            for result in log.done.values():
                _learn(budget, result)

    def ordered(self, questions: Sequence[Question]) -> list[Question]:
        """Those last that could not be finished before, the cheapest of them first: they must not stop the others."""
        nothing = Unfinished(0.0, 0.0)
        return sorted(questions, key=lambda question: self._unfinished.get(question.id, nothing).needed)

    @asynccontextmanager
    async def question(self, question: Question) -> AsyncIterator[Ledger]:
        """A ledger for one question, once it can be paid for as a whole.

        Raises:
            BudgetExceededError: If it cannot, or turns out to need more than is left.
        """
        if self._budget is None:
            yield Ledger(keeps_calls=True)
            return
        async with self._budget.begin(
            alone=lambda: max(self.expected or 0.0, self._least(question)),
            beside=lambda: max(self._most, self._least(question)),
        ) as share:
            ledger = Ledger(max_cost=share, keeps_calls=True)
            try:
                yield ledger
            except BudgetExceededError:
                self._unfinished[question.id] = found = Unfinished(share.needed, share.spent)
                if self._log is not None and share.spent:
                    self._log.note_unfinished(question.id, found)
                raise
            if not ledger.by_task:  # nothing that costs anything was done
                return
            insort(self._needed, share.needed)
            if self._log is not None:
                self._log.note_needed(question.id, share.needed)

    @property
    def expected(self) -> float | None:
        """Dollars that a question takes, rather many. Until one was finished, at least, once several were tried."""
        if self._needed:
            return self._needed[math.ceil(_MOST * len(self._needed)) - 1]
        paid = [each.needed for each in self._unfinished.values() if each.spent]
        return min(paid) if len(paid) >= _TRIED else None

    def _least(self, question: Question) -> float:
        """Dollars that a question needs which came to no end, 0 if it is none, or was no dearer so far than others."""
        found = self._unfinished.get(question.id)
        is_usual = found is None or (self._needed and found.spent < (self.expected or 0.0))
        return 0.0 if found is None or is_usual else found.needed

    @property
    def _most(self) -> float:
        return self._needed[-1] if self._needed else math.inf

    def describe(self) -> str:
        """What a question takes, in words; "" where nothing is known."""
        needed = self.expected or min((each.needed for each in self._unfinished.values()), default=0.0)
        if self._budget is None or not needed:
            return ""
        more = "" if self._needed else " or more"
        too_little = f", and max_cost is {dollars(self._budget.limit)}" if needed > self._budget.limit else ""
        return f"One question takes about {dollars(needed)}{more}{too_little}"


def _learn(budget: Budget, result: QuestionResult) -> None:
    """How long the replies of each task are."""
    for task, usage in result.usage.tasks.items():
        if usage.calls:
            budget.learn(task, math.ceil(usage.completion_tokens / usage.calls))
