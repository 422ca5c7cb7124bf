"""IRCoT (arXiv 2212.10509): retrieval by the question, and then by each sentence of a chain of thought in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from minirag.errors import LLMReplyError
from minirag.models import OFFLINE
from minirag.ranking import select_balanced
from minirag.reading import OpenIndex
from minirag.reasoner import Reasoner, who_does
from minirag.reasoner.prompts import ANSWER_MARK
from minirag.records import ContextItem, Evidence, Hit, Kind, Step
from minirag.retrieving import FLAT, LEAST_RANKED, PASSAGES, Row, rank_passages, to_hit

Over = Literal["naive", "indexrag"]
KINDS_OVER: Mapping[Over, tuple[Kind, ...]] = {"naive": PASSAGES, "indexrag": FLAT}

_DEPTH = 8  # units kept of a search for every one that is shown: a passage may have several
_STEPS_BY_MODEL = 5
_STEPS_BY_RULE = 2  # rules think by quoting: from the third sentence on they wander
_ANSWERS = ANSWER_MARK.rstrip(":").casefold()


async def retrieve(
    question: str,
    index: OpenIndex,
    reasoner: Reasoner,
    *,
    k: int = 10,
    steps: int | None = None,
    over: Over = "indexrag",
    k_b: int = 3,
) -> Evidence:
    """Search with the question, let the reasoner think one sentence over what was found, search with it, and so on.

    Ends when a thought gives the answer, repeats another, or is blank, when a reply cannot be used (the last step says
    why), and after the last step. A unit keeps its best score over all steps.

    Args:
        question: What is asked.
        index: Where.
        reasoner: Thinks once after every step but the last.
        k: How many units the reader sees, and each thought is made from, at least 1.
        steps: How many searches at most, the question's own included; None for 5 with a model, 2 without.
        over: What is searched: passages ("naive"), or facts and bridging facts ("indexrag").
        k_b: How many of the k units may be bridging facts; with "naive" there are none.

    Returns:
        The best units of all steps; the query of every step after the first is a thought.

    Raises:
        ValueError: On a number out of range, or an unknown `over`.
    """
    if steps is not None and steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    if k_b < 0:
        raise ValueError(f"k_b must not be negative, but is {k_b}")
    if over not in KINDS_OVER:
        raise ValueError(f"over must be one of {', '.join(KINDS_OVER)}, not {over!r}")
    search = _Search(index, KINDS_OVER[over], k, k_b)
    query = question
    by_rule = who_does(reasoner, "think").model == OFFLINE
    for left in reversed(range(steps or (_STEPS_BY_RULE if by_rule else _STEPS_BY_MODEL))):
        await asyncio.to_thread(search.look, query)
        if not left or not search.best:
            break
        try:
            query = await reasoner.think(question, [_item(hit) for hit in search.best], search.thoughts)
        except LLMReplyError as error:  # what was found so far is there to be read
            search.fail(error)
            break
        if not query.strip() or query.casefold().startswith(_ANSWERS) or query in search.thoughts:
            break
    return search.evidence()


class _Search:
    """One question's search: what was found so far, and by what.

    Attributes:
        best: The k best units of all steps.
        steps: One per search.
    """

    def __init__(self, index: OpenIndex, kinds: tuple[Kind, ...], k: int, k_b: int) -> None:
        self._index, self._kinds, self._k, self._k_b = index, kinds, k, k_b
        self._snapshot = index.snapshot
        self._most = max(k, LEAST_RANKED)
        self._rows: dict[tuple[int, Kind, int], Row] = {}
        self._ranked: list[Row] = []
        self.best: tuple[Hit, ...] = ()
        self.steps: list[Step] = []

    @property
    def thoughts(self) -> list[str]:
        """The sentences that were searched with, in order."""
        return [step.query for step in self.steps[1:]]

    def look(self, query: str) -> None:
        """Search, and put what is found among what was found before."""
        started = time.perf_counter()
        found = self._index.search_rows(self._snapshot, query, k=self._most * _DEPTH, kinds=self._kinds)
        for row in found:
            known = self._rows.get(row[1:])
            if known is None or known.score < row.score:
                self._rows[row[1:]] = row
        self._ranked = self._balanced(sorted(self._rows.values(), key=lambda row: (-row.score, row[1:])))
        self.best = self._hits(self._ranked)
        hits = self._hits(self._balanced(found))
        self.steps.append(Step(query, hits, seconds=time.perf_counter() - started))

    def fail(self, error: LLMReplyError) -> None:
        """The model gave nothing to go on with."""
        self.steps[-1] = replace(self.steps[-1], problem=str(error))

    def evidence(self) -> Evidence:
        """What the reader sees, and the passages behind all that was found."""
        return Evidence(
            self.best, rank_passages(self._snapshot, self._ranked, most=self._most), steps=tuple(self.steps)
        )

    def _balanced(self, rows: list[Row]) -> list[Row]:
        return select_balanced(rows, k=self._most * _DEPTH, max_bridges=self._k_b)

    def _hits(self, rows: list[Row]) -> tuple[Hit, ...]:
        return tuple(to_hit(self._snapshot, row) for row in rows[: self._k])


def _item(hit: Hit) -> ContextItem:
    return ContextItem(hit.text, " / ".join(title for title in hit.titles if title), hit.kind)
