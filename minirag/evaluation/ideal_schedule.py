"""The least time that requests can take which are known only as they come: what indexing is measured against."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Turn:
    """One request.

    Attributes:
        seconds: For which it is open.
        wait: Seconds that the provider asks to wait before the next one about the same question.
    """

    seconds: float
    wait: float = 0.0


def schedule(chains: Sequence[Sequence[Turn]], *, slots: int) -> float:
    """How long questions take whose requests follow each other, so many side by side.

    A slot is free only while there is nothing that may be sent: a request follows the one before it at once, or after
    the wait that the provider asked for, in which it holds no slot. The first questions go first. Nobody knows
    beforehand how often a question will fail, so that questions which fail often near the end leave slots free there.

    Args:
        chains: By question, in the order of asking, its requests; the last one is that which ends it.
        slots: How many requests may be open at once.

    Returns:
        Seconds until the last one ends.
    """
    ready = list(range(len(chains)))  # a heap already
    done = [0] * len(chains)
    later: list[tuple[float, int, int, bool]] = []  # when, and whether a request ends there or a wait
    tickets = count()
    free, now = slots, 0.0
    while ready or later:
        while ready and free:
            chain = heapq.heappop(ready)
            free -= 1
            heapq.heappush(later, (now + chains[chain][done[chain]].seconds, next(tickets), chain, True))
        now, _, chain, has_ended = heapq.heappop(later)
        if not has_ended:
            heapq.heappush(ready, chain)
            continue
        free += 1
        turn = chains[chain][done[chain]]
        done[chain] += 1
        if done[chain] < len(chains[chain]):
            heapq.heappush(later, (now + turn.wait, next(tickets), chain, False))
    return now
