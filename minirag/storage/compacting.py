"""When to merge what was appended, and when to write the whole file afresh.

Appended segments are merged as in a log-structured merge tree: four of one size become one of the next, so that a row
is copied once for each fourfold growth, and a search meets few segments. What is copied or dead stays in the file as
waste until the file is written afresh, which happens when appended and wasted bytes outweigh the base: both together
cost a few times what was added, whatever the number of commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minirag.storage.layout import SegmentEntry
    from minirag.storage.snapshot import Snapshot
    from minirag.storage.writing import Change

FAN = 4  # so many segments of one size become one
COMPACT_AT = 1.0
_SLACK = 1 << 20  # bytes: a small file is not worth the trouble


def outgrown(snapshot: Snapshot, change: Change, *, compact_at: float = COMPACT_AT) -> bool:
    """Whether the file should rather be written afresh than be appended to.

    Args:
        snapshot: What is there.
        change: What is to come.
        compact_at: How large the appended or dead part may grow, as a multiple of what is alive in the base; above 0.
    """
    base, *appended = snapshot.segments
    dead = len(change.dead.get(0, {}).get("documents", base.dead_rows("documents")))
    alive = base.count("documents") - dead
    grown = sum(segment.count("documents") for segment in appended)
    grown += change.data.counts()["documents"] if change.data else 0
    if grown + dead > compact_at * alive:
        return True
    base_bytes = _bytes_of(base.entry)
    return snapshot.stamp.size - base_bytes > compact_at * base_bytes + _SLACK


def _bytes_of(entry: SegmentEntry) -> int:
    return sum(section.length for section in entry.sections.values())


def rows_of(counts: Mapping[str, int]) -> int:
    """The size of a segment, as merging sees it."""
    return sum(counts.values())


def count_to_merge(sizes: Sequence[int], added: int) -> int:
    """How many of the last appended segments join what is added.

    Args:
        sizes: Of the appended segments in rows, the oldest first.
        added: Rows to be added.
    """
    merged = 0
    total = added
    while True:
        alike = 0
        for size in reversed(sizes[: len(sizes) - merged]):
            if _tier(size) > _tier(total):
                break
            alike += 1
        if alike < FAN - 1:
            return merged
        start = len(sizes) - merged - alike
        total += sum(sizes[start : len(sizes) - merged])
        merged += alike


def _tier(rows: int) -> int:
    tier = 0
    while rows >= FAN:
        rows //= FAN
        tier += 1
    return tier
