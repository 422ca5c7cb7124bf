"""The five thinking tasks behind one protocol: done by an LLM (`by_llm`), or by rules (`offline`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from minirag.errors import BudgetExceededError, LLMError
from minirag.records import (
    BridgingFact,
    ContextItem,
    Extension,
    Extraction,
    Passage,
    Reading,
    SharedEntity,
    Task,
)

__all__ = ["Bridged", "ReadsAloud", "Reasoner", "bridging_version", "extraction_version", "who_does"]

Bridged = tuple[BridgingFact, ...] | LLMError | BudgetExceededError
"""An entity's bridging facts, or why it has none."""


class Reasoner(Protocol):
    """Thinks for the pipeline. One lives as long as one `add` or `ask`; its calls may run side by side.

    One of the user's own may be given to `Index` and `ask` in the place of a model's name; that one lives on. At most
    `max_parallel` of its calls run at once, each is counted as one of unknown cost, and those of indexing have a moment
    to end when the run is cancelled.

    Every method raises `LLMSetupError` when no further call can succeed, `LLMError` when this unit failed.

    Attributes:
        model: The LiteLLM name, "offline" for rules that cost nothing, or what an own one calls itself.
        version: Changes whenever the same passage would be extracted or bridged differently by the same model.
            Part of the key under which replies are kept. A reasoner whose bridging may change alone also has a
            `bridging_version`.
        entities_per_call: How many bridge entities one `bridge` call takes.
    """

    model: str
    version: str
    entities_per_call: int

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """Atomic facts that stand alone, their entities, and knowledge triples of one passage."""
        ...

    async def bridge(self, entities: Sequence[SharedEntity]) -> Sequence[Bridged]:
        """For each entity, the bridging facts that join at least two documents; none for a mere namesake.

        Where some fail and others do not, what failed has its error in the place of its facts.
        """
        ...

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """KiRAG's Constructor: which candidate extends the chain, or that the answer is known."""
        ...

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """IRCoT's next sentence of thought."""
        ...

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """The answer from the numbered context, with the numbers that it rests on."""
        ...


def who_does(reasoner: Reasoner, task: Task) -> Reasoner:
    """The reasoner that does a task: itself, unless it has a method `of` that names another."""
    of = getattr(reasoner, "of", None)
    found: Reasoner = reasoner if of is None else of(task)
    return found


def extraction_version(reasoner: Reasoner, passage: Passage) -> str:
    """The version of how a reasoner extracts from a passage: its own, unless more than text and title goes into it.

    One with a method `version_of` says by it what else does.
    """
    version_of = getattr(reasoner, "version_of", None)
    return str(reasoner.version if version_of is None else version_of(passage))


def bridging_version(reasoner: Reasoner) -> str:
    """The version of how a reasoner bridges: its own, where it tells it apart from that of extracting."""
    return str(getattr(reasoner, "bridging_version", reasoner.version))


@runtime_checkable
class ReadsAloud(Protocol):
    """A reasoner that can tell an answer's text while it is being written. Of others it comes once it is whole."""

    async def read_aloud(
        self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = (), tell: Callable[[str], None]
    ) -> Reading:
        """`Reasoner.read`; `tell` is called with each piece, and never takes one back."""
        ...
