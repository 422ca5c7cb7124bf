"""Choosing among what retrieval found."""

from __future__ import annotations

from collections.abc import Sequence

from minirag.records import Hit


def select_balanced(ranked: Sequence[Hit], *, k: int, max_bridges: int) -> list[Hit]:
    """Keep the k best hits, at most max_bridges of them bridging facts (IndexRAG, balanced context selection).

    Args:
        ranked: Hits, best first. May be shorter than k.
        k: How many to keep, at least 1.
        max_bridges: The paper's k_b. 0 keeps plain facts only.

    Returns:
        At most k hits in the order of `ranked`.

    Raises:
        ValueError: If k < 1 or max_bridges < 0.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if max_bridges < 0:
        raise ValueError(f"max_bridges must not be negative, but is {max_bridges}")
    kept: list[Hit] = []
    bridges = 0
    for hit in ranked:
        if hit.kind == "bridge":
            if bridges == max_bridges:
                continue
            bridges += 1
        kept.append(hit)
        if len(kept) == k:
            break
    return kept


def rank_passages(ranked: Sequence[Hit]) -> tuple[tuple[str, float], ...]:
    """Passages by their best unit: a fact counts for its passage, a bridging fact for all of its passages.

    Args:
        ranked: Hits, best first.

    Returns:
        Each passage id once with the score of its first hit, best first.
    """
    scores: dict[str, float] = {}
    for hit in ranked:
        for passage_id in hit.passage_ids:
            scores.setdefault(passage_id, hit.score)
    return tuple(scores.items())
