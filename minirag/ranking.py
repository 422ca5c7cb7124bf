"""Choosing among what retrieval found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, SupportsIndex, TypeVar

from minirag.records import Kind


class Ranked(Protocol):
    """A hit, or a row that may become one."""

    @property
    def kind(self) -> Kind:
        """What it is."""
        ...


Unit = TypeVar("Unit", bound=Ranked)


def check_k(k: int) -> None:
    """Make sure that k is a whole number of at least 1.

    Raises:
        ValueError: If it is not; also for "3", 2.5 and the like, which would fail somewhere deep.
    """
    if not isinstance(k, SupportsIndex):
        raise ValueError(f"k must be a whole number, not {k!r}")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")


def select_balanced(ranked: Iterable[Unit], *, k: int, max_bridges: int) -> list[Unit]:
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
    check_k(k)
    if max_bridges < 0:
        raise ValueError(f"max_bridges must not be negative, but is {max_bridges}")
    kept: list[Unit] = []
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
