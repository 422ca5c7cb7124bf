"""A reasoner of the user's own within a run: its calls are counted, bounded, and given a moment to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from time import monotonic
from typing import Any, TypeVar

from minirag.ending import current_ending, linger
from minirag.errors import LLMError, LLMReplyError, MiniragError
from minirag.llm.pacing import Gate
from minirag.reasoner import Bridged, ReadsAloud, Reasoner, bridging_version, extraction_version
from minirag.records import (
    Call,
    ContextItem,
    Extension,
    Extraction,
    Ledger,
    Passage,
    Reading,
    SharedEntity,
    Task,
    Usage,
)

__all__ = ["OwnReasoner", "own_reasoner"]

Result = TypeVar("Result")
_KEPT = ("extract", "bridge")  # tasks whose results a journal keeps


class OwnReasoner:
    """What minirag sees to of any model's calls, around a `Reasoner` that makes them itself.

    Each is counted as one of which nobody told the tokens: what it cost is unknown. So many as the gate lets through
    run at once. When a run is cancelled, those of building have a moment to end, so that their results are kept.

    Attributes:
        model: The reasoner's own; likewise `version`, `bridging_version` and `entities_per_call`.
        version: See there.
        bridging_version: See there.
    """

    def __init__(self, reasoner: Reasoner, ledger: Ledger, gate: Gate) -> None:
        """Count into `ledger`; the gate may be that of several runs."""
        self._reasoner, self._ledger, self._gate = reasoner, ledger, gate
        self.model, self.version = reasoner.model, reasoner.version
        self.bridging_version = bridging_version(reasoner)
        self.entities_per_call: int = getattr(reasoner, "entities_per_call", 1)  # one that never bridges may have none

    def version_of(self, passage: Passage) -> str:
        """See `extraction_version`."""
        return extraction_version(self._reasoner, passage)

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """As the reasoner does."""
        return await self._do("extract", lambda: self._reasoner.extract(passage, title=title))

    async def bridge(self, entities: Sequence[SharedEntity]) -> Sequence[Bridged]:
        """As the reasoner does."""
        return await self._do("bridge", lambda: self._reasoner.bridge(entities))

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """As the reasoner does."""
        return await self._do("extend", lambda: self._reasoner.extend(question, chain, candidates))

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """As the reasoner does."""
        return await self._do("think", lambda: self._reasoner.think(question, evidence, thoughts))

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """As the reasoner does."""
        return await self._do("read", lambda: self._reasoner.read(question, evidence, chain=chain))

    async def _do(self, task: Task, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        await self._gate.enter(monotonic())
        started = self._ledger.now()
        try:
            if task in _KEPT and current_ending().has_begun:
                raise asyncio.CancelledError
            result = await (linger(work()) if task in _KEPT else work())
        except LLMError as error:
            self._count(task, started, error)
            raise
        except Exception as error:
            if task in _KEPT and not isinstance(error, MiniragError):
                current_ending().begin(error)  # a mistake in it ends the run: what is in flight may still be kept
            raise
        finally:
            self._gate.leave()
        self._count(task, started, None)
        return result

    def _count(self, task: Task, started: float, error: LLMError | None) -> None:
        """A call counts once it was answered, and one that failed of its reply was."""
        seconds, usage = self._ledger.now() - started, Usage()
        if error is None or isinstance(error, LLMReplyError):
            usage = Usage(1, cost=None, seconds=seconds, uncounted=1)
            self._ledger.add(task, usage)
        reason = None if error is None else str(error)
        self._ledger.note(Call(task, self.model, "reasoner", 1, started, seconds, usage, reason))


class _AloudReasoner(OwnReasoner):
    """One that tells an answer's text while it is being written."""

    async def read_aloud(
        self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = (), tell: Callable[[str], None]
    ) -> Reading:
        """As the reasoner does."""
        reader = self._reasoner
        if not isinstance(reader, ReadsAloud):
            return await self.read(question, evidence, chain=chain)
        return await self._do("read", lambda: reader.read_aloud(question, evidence, chain=chain, tell=tell))


def own_reasoner(reasoner: Reasoner, ledger: Ledger, gate: Gate) -> OwnReasoner:
    """A reasoner of the user's own, for one run."""
    kind = _AloudReasoner if isinstance(reasoner, ReadsAloud) else OwnReasoner
    return kind(reasoner, ledger, gate)
