"""How well an encoder does on questions that it does not learn from: what chooses the best checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from minirag.records import Kind
from minirag.training.lessons import ChainedQuestion, Lesson, cut_chains

if TYPE_CHECKING:
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str], Kind | None], "NDArray[np.float32]"]  # None is a query
_DEPTH = 5
_ALIKE = 1e-6  # cosines that differ by less are the same: the same vectors give such, as sums are rounded


@dataclass(frozen=True, slots=True)
class Score:
    """What an encoder reaches on the dev questions.

    Attributes:
        mrr: Mean reciprocal rank of the right text, by "passage", "fact" and "triple", each also with " + chain".
        recall: Of bare questions, the share of gold passages among the best five, by data set.

    What is right comes after all that is just as near, so that an encoder that gives all texts one vector finds
    nothing; where its cosine is NaN, it is not found at all.
    """

    mrr: Mapping[str, float]
    recall: Mapping[str, float]

    @property
    def mean(self) -> float:
        """What checkpoints are compared by: the mean over all groups and data sets."""
        return float(np.mean([*self.mrr.values(), *self.recall.values()])) if self.mrr else 0.0

    def as_dict(self) -> dict[str, float | dict[str, float]]:
        """For JSON, rounded."""
        shown = {name: {key: round(value, 4) for key, value in each.items()} for name, each in self._parts()}
        return {"dev": round(self.mean, 4), **shown}

    def _parts(self) -> tuple[tuple[str, Mapping[str, float]], ...]:
        return (("mrr", self.mrr), ("recall@5", self.recall))


class Validation:
    """Dev questions, with what each is to find among what.

    Passages are ranked among all passages of the data set's dev questions, facts among those of the question's own
    context, triples likewise, and where there are no passages, among all triples of the data set's dev questions.
    """

    def __init__(self, questions: Sequence[ChainedQuestion], *, seed: int = 0) -> None:
        """Cut the chains."""
        self._questions = questions
        self._lessons = cut_chains(questions, stand_ins=False, seed=seed)
        self._passages: dict[str, dict[str, None]] = {}
        self._triples: dict[str, dict[str, None]] = {}
        for question in questions:
            texts = dict.fromkeys(passage.text for passage in question.passages)
            self._passages.setdefault(question.source, {}).update(texts)
            triples = dict.fromkeys(step.triple for step in question.steps if step.triple)
            self._triples.setdefault(question.source, {}).update(triples)

    def score(self, encode: Encode) -> Score:
        """Try an encoder.

        Args:
            encode: Gives unit vectors `(texts, dim)` of texts of a kind.
        """
        vectors = _Vectors(encode)
        vectors.add(None, [lesson.query for lesson in self._lessons] + [question.text for question in self._questions])
        found: dict[str, list[float]] = {}
        for lesson in self._lessons:
            others = [text for text in self._candidates(lesson) if text not in lesson.gold]
            query = vectors.of(None, [lesson.query])[0]
            right = float(vectors.of(lesson.kind, [lesson.target])[0] @ query)
            before = _as_near(vectors.of(lesson.kind, others) @ query, right) if others else 0
            rank = 1 + before if np.isfinite(right) else np.inf
            found.setdefault(lesson.kind + (" + chain" if lesson.chained else ""), []).append(1 / rank)
        return Score({group: float(np.mean(ranks)) for group, ranks in sorted(found.items())}, self._recall(vectors))

    def _recall(self, vectors: _Vectors) -> dict[str, float]:
        recalls: dict[str, list[float]] = {}
        for question in self._questions:
            gold = {passage.text for passage in question.passages if passage.is_gold}
            if gold:
                texts = [*self._passages[question.source]]
                cosines = vectors.of("passage", texts) @ vectors.of(None, [question.text])[0]
                recalls.setdefault(question.source, []).append(_recall(cosines, np.array([t in gold for t in texts])))
        return {source: float(np.mean(each)) for source, each in recalls.items()}

    def _candidates(self, lesson: Lesson) -> Sequence[str]:
        question = self._questions[lesson.question]
        if lesson.kind == "passage":
            return [*self._passages[question.source]]
        if lesson.kind == "triple" and not question.passages:
            return [*self._triples[question.source]]
        units = (passage.facts if lesson.kind == "fact" else passage.triples for passage in question.passages)
        return [text for each in units for text in each]


def _as_near(cosines: NDArray[np.float32], right: float) -> int:
    """How many are as near as what is right, or nearer; a cosine that is NaN counts as one."""
    return int((~(cosines < right - _ALIKE)).sum())


def _recall(cosines: NDArray[np.float32], is_gold: NDArray[np.bool_]) -> float:
    """The share of gold passages among the best five."""
    gold, others = -np.sort(-cosines[is_gold]), cosines[~is_gold]  # NaN last
    found = [
        np.isfinite(cosine) and place + _as_near(others, float(cosine)) < _DEPTH
        for place, cosine in enumerate(gold.tolist())
    ]
    return float(np.mean(found))


class _Vectors:
    """Vectors of texts by kind, each computed once."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._places: dict[Kind | None, dict[str, int]] = {}
        self._rows: dict[Kind | None, NDArray[np.float32]] = {}

    def add(self, kind: Kind | None, texts: Sequence[str]) -> None:
        places = self._places.setdefault(kind, {})
        missing = [text for text in dict.fromkeys(texts) if text not in places]
        if missing:
            rows = self._encode(missing, kind)
            self._rows[kind] = np.concatenate([self._rows[kind], rows]) if places else rows
            places.update({text: number for number, text in enumerate(missing, start=len(places))})

    def of(self, kind: Kind | None, texts: Sequence[str]) -> NDArray[np.float32]:
        self.add(kind, texts)
        places = self._places[kind]
        rows: NDArray[np.float32] = self._rows[kind][[places[text] for text in texts]]
        return rows
