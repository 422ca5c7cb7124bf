"""IndexRAG: one search over facts and bridging facts, with room for only a few of the latter."""

from __future__ import annotations

import asyncio

from minirag.index import Index
from minirag.ranking import rank_passages, select_balanced
from minirag.reasoner import Reasoner
from minirag.records import Evidence

_DEPTH = 8  # units looked at for every one that the reader sees


async def retrieve(
    question: str,
    index: Index,
    reasoner: Reasoner,  # noqa: ARG001
    *,
    k: int = 10,
    k_b: int = 3,
) -> Evidence:
    """One search over the flat index, then balanced context selection; no LLM call.

    Args:
        question: What is asked.
        index: Where.
        reasoner: Not needed: the reasoning was done while indexing.
        k: How many facts and bridging facts the reader sees, at least 1.
        k_b: How many of them may be bridging facts (the paper's default).

    Raises:
        ValueError: If k < 1 or k_b < 0.
    """
    found = await asyncio.to_thread(index.search, question, k=max(k, 10) * _DEPTH)
    balanced = select_balanced(found, k=len(found) or 1, max_bridges=k_b)
    return Evidence(tuple(select_balanced(found, k=k, max_bridges=k_b)), rank_passages(balanced))
