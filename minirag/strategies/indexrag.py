"""IndexRAG: one search over facts and bridging facts, with room for only a few of the latter."""

from __future__ import annotations

from minirag.ranking import select_balanced
from minirag.reading import OpenIndex
from minirag.reasoner import Reasoner
from minirag.records import Evidence
from minirag.retrieving import FLAT, LEAST_RANKED, rank_passages, to_hit

_DEPTH = 4  # units looked at for every one that the reader sees


async def retrieve(
    question: str,
    index: OpenIndex,
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
    if k_b < 0:
        raise ValueError(f"k_b must not be negative, but is {k_b}")
    return await index.run_search(_retrieve, question, index, k, k_b)


def _retrieve(question: str, index: OpenIndex, k: int, k_b: int) -> Evidence:
    snapshot = index.snapshot
    most = max(k, LEAST_RANKED)
    found = index.search_rows(snapshot, question, k=most * _DEPTH, kinds=FLAT)
    balanced = select_balanced(found, k=most * _DEPTH, max_bridges=k_b)
    hits = tuple(to_hit(snapshot, row) for row in balanced[:k])
    return Evidence(hits, rank_passages(snapshot, balanced, most=most))
