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

_AT_FIRST = 20  # questions of a run that are refused alike, before any is answered, until a harmless one is put
_IN_A_ROW = 3  # that are refused after one was answered, until that one is put again
_HARMLESS: tuple[Message, ...] = ({"role": "user", "content": "This is a test. Reply as briefly as you can."},)

Control = tuple[Sequence[Message], "type[BaseModel] | None"]
"""A conversation that a working model answers, and the form of its reply."""


@dataclass(slots=True)
class _Run:
    """What one run has met: so many were refused with that status; and why it is over, if it is."""

    status: int | None = None
    refused: int = 0
    over: str | None = None
    asking: Lock = field(default_factory=Lock)


class Setup:
    """What the calls of one model have shown of its setup.

    Where all of the first requests are refused alike, or several in a row later, as a credit may be used up and an
    account closed, one is put that is none of theirs: first a harmless one in the same form, later what was answered
    last. Is that refused, too, the run is over; else each refusal is that question's own failure.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self._is_proven = False
        self._answered: Control | None = None
        self._in_a_row = 0
        self._runs: WeakKeyDictionary[Ledger, _Run] = WeakKeyDictionary()  # a ledger is a run

    def prove(self, answered: Control | None = None) -> None:
        """The provider took a request, be it to say that this prompt is too long; and perhaps answered it."""
        self._is_proven = True
        self._in_a_row = 0
        self._answered = answered or self._answered

    async def refuse(
        self,
        ledger: Ledger,
        status: int | None,
        reply: type[BaseModel] | None,
        *,
        is_taken: Callable[[Control], Awaitable[bool]],
    ) -> str | None:
        """A question was refused, in whatever way its form was asked for.

        Args:
            ledger: The run's.
            status: The provider's, of HTTP.
            reply: The form.
            is_taken: Puts another question; gives whether it is not refused.

        Returns:
            Why all others of the run would be as well; None if they need not be.
        """
        run = self._runs.setdefault(ledger, _Run())
        run.refused = run.refused + 1 if run.status == status else 1
        run.status = status
        self._in_a_row += 1
        async with run.asking:
            control = self._control(run, reply)
            if run.over is None and control is not None:
                if await is_taken(control):
                    self.prove(control)
                elif self._is_proven:
                    run.over = "what was answered before is not accepted any more"
                else:
                    run.over = f"the first {_AT_FIRST} requests were not accepted, and none was answered"
        return run.over

    def _control(self, run: _Run, reply: type[BaseModel] | None) -> Control | None:
        """The question that is to be put now, if any is."""
        if self._is_proven:
            return self._answered if self._in_a_row >= _IN_A_ROW else None
        return (_HARMLESS, reply) if run.refused >= _AT_FIRST else None
