"""Texts sent to a hosted model in batches, side by side, of which it may refuse some."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from minirag.ending import current_ending
from minirag.errors import LLMError

if TYPE_CHECKING:
    from minirag.llm import LLM
    from minirag.records import Ledger

# Texts of one request; below what providers accept, and few enough for the progress to be seen.
BATCH_TEXTS = 64
# Stands for blank texts, which providers refuse, and is refused by none that takes any.
NOTHING = "nothing"

Receive = Callable[[Sequence[int], list[list[float]]], None]


class Batches:
    """The batches of one call.

    Attributes:
        refused: Why, by the place of the text.
    """

    def __init__(
        self, client: LLM, texts: Sequence[str], ledger: Ledger, receive: Receive, progress: Callable[[int], None]
    ) -> None:
        """`receive` gets the places of a batch's texts, and the vectors that came; `progress` is told of each."""
        self.refused: dict[int, LLMError] = {}
        self._client, self._texts, self._ledger = client, texts, ledger
        self._receive, self._progress = receive, progress

    async def send(self) -> None:
        """Send all of them; when one fails, those in flight have a moment left to be answered and received.

        Raises:
            LLMError: Of the first that failed for another reason than its texts.
            BudgetExceededError: If the run may spend no more.
        """
        places = range(len(self._texts))
        try:
            async with asyncio.TaskGroup() as group:
                for start in range(0, len(places), BATCH_TEXTS):
                    group.create_task(self._send_batch(places[start : start + BATCH_TEXTS]))
        except ExceptionGroup as errors:  # the first one cancelled the others
            raise errors.exceptions[0] from errors

    async def _send_batch(self, places: Sequence[int]) -> None:
        try:
            refusal = await self._ask(places)
            if refusal is not None:
                await self._client.embed([NOTHING], ledger=self._ledger)  # else it is no text's fault: this says whose
                await self._halve(places, refusal)
        except Exception as error:
            current_ending().begin(error)
            raise

    async def _halve(self, places: Sequence[int], refusal: LLMError) -> None:
        """Find those that are refused among texts that were refused together."""
        if len(places) == 1:
            self.refused[places[0]] = refusal
            self._progress(1)
            return
        middle = len(places) // 2
        for half in (places[:middle], places[middle:]):
            again = await self._ask(half)
            if again is not None:
                await self._halve(half, again)

    async def _ask(self, places: Sequence[int]) -> LLMError | None:
        """Have texts embedded; why they are refused, if they are."""
        from minirag.llm.sending import is_about_prompt

        try:
            rows = await self._client.embed([self._texts[place] for place in places], ledger=self._ledger)
        except LLMError as error:
            if is_about_prompt(error):
                return error
            raise
        self._receive(places, rows)
        self._progress(len(places))
        return None
