"""Naive RAG, the baseline: the passages most similar to the question."""

from __future__ import annotations

from minirag.reading import OpenIndex
from minirag.reasoner import Reasoner
from minirag.records import Evidence
from minirag.retrieving import LEAST_RANKED, PASSAGES, SearchMode, rank_passages, to_hit


async def retrieve(
    question: str,
    index: OpenIndex,
    reasoner: Reasoner,  # noqa: ARG001
    *,
    k: int = 10,
    mode: SearchMode = "dense",
) -> Evidence:
    """One search over passages; no LLM call.

    Args:
        question: What is asked.
        index: Where.
        reasoner: Not needed.
        k: How many passages the reader sees, at least 1.
        mode: "dense", "lexical" or "hybrid"; see `Index.search`.
    """
    return await index.run_search(_retrieve, question, index, k, mode)


def _retrieve(question: str, index: OpenIndex, k: int, mode: SearchMode) -> Evidence:
    snapshot = index.snapshot
    rows = index.search_rows(snapshot, question, k=max(k, LEAST_RANKED), kinds=PASSAGES, mode=mode)
    hits = tuple(to_hit(snapshot, row) for row in rows[:k])
    return Evidence(hits, rank_passages(snapshot, rows, most=len(rows)))
