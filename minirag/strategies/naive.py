"""Naive RAG, the baseline: the passages most similar to the question."""

from __future__ import annotations

import asyncio

from minirag.index import Index
from minirag.reasoner import Reasoner
from minirag.records import Evidence
from minirag.retrieving import LEAST_RANKED, PASSAGES, rank_passages, to_hit


async def retrieve(question: str, index: Index, reasoner: Reasoner, *, k: int = 10) -> Evidence:  # noqa: ARG001
    """One search over passages; no LLM call.

    Args:
        question: What is asked.
        index: Where.
        reasoner: Not needed.
        k: How many passages the reader sees, at least 1.
    """
    return await asyncio.to_thread(_retrieve, question, index, k)


def _retrieve(question: str, index: Index, k: int) -> Evidence:
    snapshot = index.snapshot
    rows = index.search_rows(snapshot, question, k=max(k, LEAST_RANKED), kinds=PASSAGES)
    hits = tuple(to_hit(snapshot, row) for row in rows[:k])
    return Evidence(hits, rank_passages(snapshot, rows, most=len(rows)))
