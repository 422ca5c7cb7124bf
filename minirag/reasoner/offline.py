"""The reasoner without a model: rules only, any text in any script, no key, no network, no cost."""

from __future__ import annotations

import time
from collections.abc import Sequence

from minirag.records import (
    BridgingFact,
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

VERSION = "offline-5"


class OfflineReasoner:
    """Facts are sentences that stand alone, entities and triples come from rules, the reader quotes.

    Deterministic: the same input gives the same output, on every machine. Rules are loaded when first needed, so that
    retrieval alone does not wait for them.

    Attributes:
        model: Always "offline".
        version: Changes with the rules.
        entities_per_call: Large: a call costs nothing but its own work.
    """

    model = "offline"
    version = VERSION
    entities_per_call = 256

    def __init__(self, ledger: Ledger | None = None) -> None:
        """Count the seconds of each task in `ledger`, if given; there are no calls, tokens or dollars to count."""
        self._ledger = ledger

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """One fact per sentence that says something, with its names; at most six triples per sentence."""
        from minirag.reasoner.facts import read_sentences, to_fact
        from minirag.reasoner.relations import find_triples

        started = time.perf_counter()
        sentences = read_sentences(passage.text, title)
        triples = dict.fromkeys(triple for sentence in sentences for triple in find_triples(sentence))
        extraction = Extraction(tuple(to_fact(sentence, title) for sentence in sentences), tuple(triples))
        self._count("extract", started)
        return extraction

    async def bridge(self, entities: Sequence[SharedEntity]) -> list[tuple[BridgingFact, ...]]:
        """For each entity, sentences of two documents side by side."""
        from minirag.reasoner.linking import link_documents

        started = time.perf_counter()
        bridges = [link_documents(entity) for entity in entities]
        self._count("bridge", started)
        return bridges

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:  # noqa: ARG002
        """The first candidate: they come best first, and rules know no better than the ranking."""
        return Extension(choice=0 if candidates else None)

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """The sentence of the evidence that says most about the question and was not thought yet."""
        from minirag.reasoner.quoting import next_thought

        started = time.perf_counter()
        thought = next_thought(question, evidence, thoughts)
        self._count("think", started)
        return thought

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """The words of the context that answer, or that it holds no answer."""
        from minirag.reasoner.quoting import quote_answer

        started = time.perf_counter()
        reading = quote_answer(question, evidence, chain=chain)
        self._count("read", started)
        return reading

    def _count(self, task: Task, started: float) -> None:
        if self._ledger is not None:
            self._ledger.add(task, Usage(seconds=time.perf_counter() - started))
