"""KiRAG (arXiv 2502.18397): a chain of units is built step by step and ranks the passages; here joined with bridges.

At every step the question and the chain so far are encoded, passages are retrieved, their units are scored by the
Aligner (for triples the index's `aligner`, for others its `encoder`; mostly they are one), and the Constructor (the
reasoner) extends the chain by one of them or says that the answer is known. What neither paper has: with `bridges`,
passages are also reached by the names that the best facts and the chain share with them (see `minirag.following`), and
bridging facts are candidates too.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from minirag.errors import InputError, LLMReplyError
from minirag.following import (
    Asked,
    Link,
    Space,
    Weights,
    best_passages,
    name_key,
    passage_cosines,
    read_question,
    score,
    weights_without,
)
from minirag.models import OFFLINE
from minirag.reading import OpenIndex
from minirag.reasoner import Reasoner, who_does
from minirag.records import Evidence, Extension, Hit, Kind, Step
from minirag.retrieving import BRIDGES, LEAST_RANKED, Row, nearest, to_hit
from minirag.storage.vectors import similarities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.segment import Segment
    from minirag.storage.snapshot import Snapshot

    Scores = NDArray[np.float32]

Units = Literal["triple", "sentence", "passage"]
Query = Literal["chain", "last"]
KIND_OF: dict[Units, Kind] = {"triple": "triple", "sentence": "fact", "passage": "passage"}

MOST_SHOWN = 100  # candidates in one prompt
_CHOSEN_BONUS = 0.5  # to the passage of a unit that a model chose, or that holds the answer it announced
_BRIDGES = 5  # bridging facts among a step's candidates
_STEPS_BY_MODEL = 5
_STEPS_BY_RULE = 2  # without a model, a third step follows mistakes more often than it helps


async def retrieve(
    question: str,
    index: OpenIndex,
    reasoner: Reasoner,
    *,
    k: int = 5,
    steps: int | None = None,
    units: Units | None = None,
    constructor: bool = True,
    bridges: bool = True,
    query: Query = "chain",
    pool: int = 10,
    candidates: int = 20,
    without: Collection[str] = (),
) -> Evidence:
    """Build a reasoning chain, and rank passages by it.

    Args:
        question: What is asked.
        index: Where.
        reasoner: The Constructor.
        k: How many passages the reader sees, at least 1.
        steps: The paper's L; None for 5 with a model, 2 without.
        units: What chains are made of. None for triples where a model extracted some, else sentences (facts).
        constructor: False takes the best unit of the best passage at every step: no LLM call until the reader.
        bridges: False is the paper's method, without links by name and without bridging facts.
        query: What the question is joined with: the whole chain (the paper), or its last unit (the released code).
        pool: The paper's K0, passages per step.
        candidates: The paper's N, units per step.
        without: Signals to leave out of the score of passages, for ablations; see `minirag.following.SIGNALS`.

    Returns:
        Passages, with the chain and the steps that led to them. When a reply of the Constructor cannot be used, the
        chain ends there, and the last step says why.

    Raises:
        ValueError: On a number below 1, or unknown units or query.
        InputError: When the index holds no triples, and units are triples.
    """
    weights = weights_without(without)
    _check(steps=steps, pool=pool, candidates=candidates, units=units, query=query)
    snapshot = index.snapshot
    if not snapshot.count("passages"):
        return Evidence((), ())
    by_model = constructor and who_does(reasoner, "extend").model != OFFLINE
    if units is None:
        extracted = snapshot.header["model"] != OFFLINE and snapshot.count("triples")
        units = "triple" if extracted else "sentence"
    if units == "triple" and not snapshot.count("triples"):
        raise InputError(
            f"{index.path} holds no triples. Use units='sentence', or add documents with triples: a model extracts "
            "them, or index.add(..., triples=...) takes them from you"
        )
    method = _Method(KIND_OF[units], weights if bridges else None, query == "last", by_model)
    search = _Search(index, snapshot, question, method)
    for _ in range(steps or (_STEPS_BY_MODEL if by_model else _STEPS_BY_RULE)):
        found = await asyncio.to_thread(search.look, pool, candidates)
        if not found:
            break
        if by_model:
            try:
                extension = await reasoner.extend(question, search.chain_texts, [search.text(unit) for unit in found])
            except LLMReplyError as error:  # what was found so far is there to be read
                search.fail(error)
                break
        else:
            extension = search.choose(found)
        if extension.choice is None:
            search.announce(extension.answer)
            break
        search.take(found[extension.choice])
    return await asyncio.to_thread(search.evidence, k)


def _check(*, steps: int | None, pool: int, candidates: int, units: str | None, query: str) -> None:
    for name, value in (("steps", 1 if steps is None else steps), ("pool", pool), ("candidates", candidates)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if units is not None and units not in KIND_OF:
        raise ValueError(f"units must be one of {', '.join(KIND_OF)}, not {units!r}")
    if query not in ("chain", "last"):
        raise ValueError(f"query must be 'chain' or 'last', not {query!r}")


class _Unit(NamedTuple):
    """A candidate: where it is, and the numbers of the passages that it counts for."""

    row: Row
    passages: tuple[int, ...]

    @property
    def place(self) -> tuple[int, Kind, int]:
        return self.row[1:]


class _Method(NamedTuple):
    """Which variant of the method.

    Attributes:
        kind: What chains are made of.
        weights: Of links by name and the rest; None for the paper's method.
        last: Whether only the chain's last unit is searched with.
        by_model: Whether a model extends the chain.
    """

    kind: Kind
    weights: Weights | None
    last: bool
    by_model: bool


class _Search:
    """One question's search: what was scored so far, and the chain."""

    def __init__(self, index: OpenIndex, snapshot: Snapshot, question: str, method: _Method) -> None:
        self._index, self._snapshot, self._question = index, snapshot, question
        self._kind, self._weights, self._last, self._by_model = method
        self._space = Space(snapshot)
        self._scores: Scores = np.full(len(self._space), -np.inf, np.float32)
        self._units: dict[tuple[int, Kind, int], _Unit] = {}
        self._chain: list[_Unit] = []
        self._steps: list[Step] = []
        self._answer = ""

    @cached_property
    def _asked(self) -> Asked:
        return read_question(self._space, self._question)

    @property
    def chain_texts(self) -> list[str]:
        """The chain so far."""
        return [self.text(unit) for unit in self._chain]

    def text(self, unit: _Unit) -> str:
        """What a unit says."""
        return to_hit(self._snapshot, unit.row).text

    # --- a step ----------------------------------------------------------------------------------------------------

    def look(self, pool: int, candidates: int) -> list[_Unit]:
        """Encode the question and the chain, score passages and their units.

        Returns:
            All candidates so far that are not in the chain, best first: each with its best score over the steps.
        """
        started = time.perf_counter()
        shown = self.chain_texts[-1:] if self._last else self.chain_texts
        query = self._index.encode_query(" ".join([self._question, *shown]))
        vector, of_units = query.vector, query.vector_for(self._kind)
        if self._weights:
            links = [self._link(unit) for unit in self._chain]
            scores = score(self._space, self._asked, vector, self._weights, chain=links)
        else:
            scores = passage_cosines(self._space, vector)
        self._scores = np.maximum(self._scores, scores)
        pooled = best_passages(self._scores, pool)
        found = [unit for passage in pooled for unit in self._units_of(passage, of_units)]
        if self._weights and self._by_model:
            found += self._bridges_between(set(pooled), vector)
        found.sort(key=_by_score)
        best = {unit.passages: unit for unit in reversed(found)}
        followable = [best[passage,] for passage in pooled if (passage,) in best]  # whatever else is near
        for unit in [*found[:candidates], *followable]:
            known = self._units.get(unit.place)
            if known is None or known.row.score < unit.row.score:
                self._units[unit.place] = unit
        retrieved = tuple(self._passage_hit(passage) for passage in pooled)
        self._steps.append(Step(query.text, retrieved, seconds=time.perf_counter() - started))
        taken = {unit.place for unit in self._chain}
        return sorted((u for p, u in self._units.items() if p not in taken), key=_by_score)[:MOST_SHOWN]

    def choose(self, found: Sequence[_Unit]) -> Extension:
        """Without a model: the best unit of the best passage that the chain has not used yet and that has any."""
        used = {passage for unit in self._chain for passage in unit.passages}
        unused = [number for number, unit in enumerate(found) if used.isdisjoint(unit.passages)]
        best = max(unused, key=lambda number: self._scores[found[number].passages[0]], default=None)
        return Extension(choice=best)

    def fail(self, error: LLMReplyError) -> None:
        """The model gave nothing to go on with."""
        self._steps[-1] = replace(self._steps[-1], problem=str(error))

    def take(self, unit: _Unit) -> None:
        """Extend the chain."""
        self._chain.append(unit)
        self._steps[-1] = replace(self._steps[-1], chosen=to_hit(self._snapshot, unit.row))

    def announce(self, answer: str | None) -> None:
        """The model says that the chain gives the answer; "yes" and "no" point at no passage."""
        words = (answer or "").strip().rstrip(".")
        self._answer = "" if words.casefold() in ("yes", "no") else words

    # --- units -----------------------------------------------------------------------------------------------------

    def _units_of(self, passage: int, vector: Scores) -> list[_Unit]:
        number, segment, row = self._space.locate(passage)
        rows, vectors = _rows_of(segment, row, self._kind)
        cosines = similarities(vectors, vector).tolist()
        return [_Unit(Row(c, number, self._kind, r), (passage,)) for r, c in zip(rows, cosines, strict=True)]

    def _bridges_between(self, pooled: set[int], vector: Scores) -> list[_Unit]:
        units = []
        for row in nearest(self._snapshot, vector, k=_BRIDGES, kinds=BRIDGES):
            passages = tuple(self._space.find(p) for p in to_hit(self._snapshot, row).passage_ids)
            if pooled.intersection(passages):
                units.append(_Unit(row, passages))
        return units

    def _link(self, unit: _Unit) -> Link:
        """The names of a chain's unit, to be followed from its passage."""
        segment, row = self._snapshot.segments[unit.row.segment], unit.row.row
        if unit.row.kind == "fact":
            return Link(unit.passages[0], segment.links_of(row).tolist())
        if unit.row.kind == "passage":
            keys = [key for fact in self._space.links_of(unit.passages[0]) for key in fact]
            return Link(unit.passages[0], keys)
        if unit.row.kind == "triple":
            triple = segment.triples[row]
            names: list[str] = [triple[2], triple[0]]
        else:
            names = [segment.bridges[row][0]]
        return Link(unit.passages[0], [key for name in names if (key := name_key(name)) is not None])

    def _passage_hit(self, passage: int, value: float | None = None) -> Hit:
        number, _, row = self._space.locate(passage)
        shown = float(self._scores[passage]) if value is None else value
        return to_hit(self._snapshot, Row(shown, number, "passage", row))

    def _passage_id(self, passage: int) -> str:
        _, segment, row = self._space.locate(passage)
        return segment.passage_id(row)

    # --- the end ---------------------------------------------------------------------------------------------------

    def evidence(self, k: int) -> Evidence:
        """Passages by their scores and what the chain adds to them."""
        scores = self._scores.copy() if self._weights else self._by_units()
        if self._by_model:
            holding = self._holding(self._answer) if self._answer else None
            lifted = [*self._chain, *([holding] if holding else [])]
            scores[list({passage for unit in lifted for passage in unit.passages})] += _CHOSEN_BONUS
        ranked = best_passages(scores, max(k, LEAST_RANKED))
        hits = tuple(self._passage_hit(passage, float(scores[passage])) for passage in ranked[:k])
        ranking = tuple((self._passage_id(passage), float(scores[passage])) for passage in ranked)
        chain = tuple(to_hit(self._snapshot, unit.row) for unit in self._chain)
        return Evidence(hits, ranking, chain, tuple(self._steps))

    def _by_units(self) -> Scores:
        """A passage's score is its best unit's (the paper); those without one come behind, by their own."""
        scores = self._scores - 2.0
        for unit in self._units.values():
            for passage in unit.passages:
                scores[passage] = max(float(scores[passage]), unit.row.score)
        return scores

    def _holding(self, answer: str) -> _Unit | None:
        holding = (unit for unit in sorted(self._units.values(), key=_by_score) if _says(self.text(unit), answer))
        return next(holding, None)


def _says(text: str, answer: str) -> bool:
    """Whether a text holds an answer, in whole words where its script has spaces between them."""
    from minirag.naming.words import UNSPACED_LETTER

    before = "" if UNSPACED_LETTER.match(answer[0]) else r"(?<!\w)"
    after = "" if UNSPACED_LETTER.match(answer[-1]) else r"(?!\w)"
    return re.search(before + re.escape(answer.casefold()) + after, text.casefold()) is not None


def _by_score(unit: _Unit) -> tuple[float, int, int]:
    return (-unit.row.score, unit.row.segment, unit.row.row)


def _rows_of(segment: Segment, passage: int, kind: Kind) -> tuple[range, NDArray[np.int8]]:
    """The rows of a passage's units, and their vectors."""
    if kind == "passage":
        rows, vectors = range(passage, passage + 1), segment.passage_vectors
    elif kind == "fact":
        rows, vectors = range(*segment.fact_slices[passage : passage + 2].tolist()), segment.unit_vectors
    else:
        rows = range(*segment.triple_slices[passage : passage + 2].tolist())
        return rows, segment.triple_vectors[rows.start : rows.stop]
    return rows, vectors[rows.start : rows.stop]
