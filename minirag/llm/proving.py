"""Whether a model's setup works, where requests are refused for a reason that nobody knows: theirs, or everybody's."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from minirag.llm.accepted import Message
from minirag.records import Ledger

if TYPE_CHECKING:
    from pydantic import BaseModel

ENOUGH = 20  # questions of a run that are refused alike, before any is answered
_IN_A_ROW = 3  # that are refused after one was answered, until that one is put again

Answered = tuple[Sequence[Message], "type[BaseModel] | None"]
"""A conversation and the form of its reply."""


@dataclass(slots=True)
class _Run:
    """What one run has met; `refused` are alike."""

    status: int | None = None
    refused: int = 0
    is_over: bool = False
    asking: Lock = field(default_factory=Lock)


class Setup:
    """What the calls of one model have shown of its setup.

    Before the first that the provider took, be it to say that this prompt is too long, requests that are all refused
    alike end a run. Later a credit may be used up, or an account closed: what was answered before tells, as it is put
    once more. Is it answered again, then what was refused is those questions' own failure.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self._is_proven = False
        self._answered: Answered | None = None
        self._in_a_row = 0
        self._runs: WeakKeyDictionary[Ledger, _Run] = WeakKeyDictionary()  # a ledger is a run

    def prove(self, answered: Answered | None = None) -> None:
        """The provider took a request, and perhaps answered it."""
        self._is_proven = True
        self._in_a_row = 0
        self._answered = answered or self._answered

    async def refuse(
        self, ledger: Ledger, status: int | None, *, put_again: Callable[[Answered], Awaitable[bool]]
    ) -> str | None:
        """A question was refused with this HTTP status, in whatever form it was put.

        Args:
            ledger: The run's.
            status: The provider's.
            put_again: Puts what was answered before; gives whether it is not refused now.

        Returns:
            Why all others of the run would be as well; None if they need not be.
        """
        run = self._runs.setdefault(ledger, _Run(status))
        run.refused = run.refused + 1 if run.status == status else 1
        run.status = status
        self._in_a_row += 1
        if not self._is_proven:
            return (
                f"the first {ENOUGH} requests were not accepted, and none was answered"
                if run.refused >= ENOUGH
                else None
            )
        async with run.asking:
            if self._answered is not None and self._in_a_row >= _IN_A_ROW and not run.is_over:
                run.is_over = not await put_again(self._answered)
                self._in_a_row = _IN_A_ROW if run.is_over else 0
        return "what was answered before is not accepted any more" if run.is_over else None
