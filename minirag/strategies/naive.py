"""Naive RAG, the baseline: the passages most similar to the question."""

from __future__ import annotations

import asyncio

from minirag.index import Index
from minirag.ranking import rank_passages
from minirag.reasoner import Reasoner
from minirag.records import Evidence, Kind


async def retrieve(question: str, index: Index, reasoner: Reasoner, *, k: int = 10) -> Evidence:  # noqa: ARG001
    """One search over passages; no LLM call.

    Args:
        question: What is asked.
        index: Where.
        reasoner: Not needed.
        k: How many passages the reader sees, at least 1.
    """
    kinds: tuple[Kind] = ("passage",)
    hits = await asyncio.to_thread(index.search, question, k=max(k, 10), kinds=kinds)
    return Evidence(tuple(hits[:k]), rank_passages(hits))
