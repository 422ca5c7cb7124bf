"""Each thinking task by a reasoner of its own: a cheap model extracts, a strong one reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minirag.reasoner import Bridged, Reasoner
from minirag.records import ContextItem, Extension, Extraction, Passage, Reading, SharedEntity, Task

__all__ = ["ReasonerByTask"]


class ReasonerByTask:
    """Passes every task on to whoever does it.

    Attributes:
        model: The reader's, which an answer is named after.
        version: The extractor's.
        entities_per_call: Of whoever bridges.
    """

    def __init__(self, reasoners: Mapping[Task, Reasoner]) -> None:
        """One for each of the five tasks; the same object may do several."""
        self._reasoners = dict(reasoners)
        self.model = reasoners["read"].model
        self.version = reasoners["extract"].version
        self.entities_per_call = reasoners["bridge"].entities_per_call

    def of(self, task: Task) -> Reasoner:
        """Who does that task."""
        return self._reasoners[task]

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """As its reasoner does."""
        return await self.of("extract").extract(passage, title=title)

    async def bridge(self, entities: Sequence[SharedEntity]) -> Sequence[Bridged]:
        """As its reasoner does."""
        return await self.of("bridge").bridge(entities)

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """As its reasoner does."""
        return await self.of("extend").extend(question, chain, candidates)

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """As its reasoner does."""
        return await self.of("think").think(question, evidence, thoughts)

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """As its reasoner does."""
        return await self.of("read").read(question, evidence, chain=chain)
