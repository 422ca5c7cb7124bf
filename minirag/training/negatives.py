"""Hard negatives: texts that look right to the encoder as it is, and are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minirag.records import Kind
from minirag.training.lessons import ChainedQuestion, Lesson

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEAREST = 24  # texts of the whole corpus that are near the question
_BLOCK = 512


def texts_to_encode(questions: Sequence[ChainedQuestion]) -> list[tuple[str, Kind | None]]:
    """What `Candidates` wants vectors of, each once, with its kind: questions (None), passages, and loose triples."""
    found: dict[tuple[str, Kind | None], None] = {}
    for question in questions:
        found[question.text, None] = None
        kind: Kind = "passage" if question.passages else "triple"
        found.update(((text, kind), None) for text in _corpus_of(question))
    return list(found)


def _corpus_of(question: ChainedQuestion) -> list[str]:
    return [passage.text for passage in question.passages] or [s.triple for s in question.steps if s.triple]


class Candidates:
    """For every question the texts of each kind that may stand against what is right.

    Passages are those of its own context and those of its data set's whole corpus which are nearest to it; facts and
    triples are those of these passages, and where there are no passages, the nearest of all triples, or what stands for
    the passages of these.
    """

    def __init__(
        self,
        questions: Sequence[ChainedQuestion],
        vectors: Mapping[str, NDArray[np.float32]],
    ) -> None:
        """Find them.

        Args:
            questions: All of them.
            vectors: Unit vectors of all that `texts_to_encode` names.
        """
        self._questions = questions
        self._read = {passage.text: passage for question in questions for passage in question.passages}
        self._stand_ins = {s.triple: s.stand_in for question in questions for s in question.steps if s.stand_in}
        corpora: dict[str, dict[str, None]] = {}
        for question in questions:
            corpora.setdefault(question.source, {}).update(dict.fromkeys(_corpus_of(question)))
        self._near: list[tuple[str, ...]] = [()] * len(questions)
        for source, texts in corpora.items():
            numbers = [number for number, question in enumerate(questions) if question.source == source]
            self._search(numbers, [*texts], vectors)

    def _search(self, numbers: Sequence[int], texts: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]) -> None:
        matrix = np.stack([vectors[text] for text in texts])
        for start in range(0, len(numbers), _BLOCK):
            block = numbers[start : start + _BLOCK]
            cosines = np.stack([vectors[self._questions[number].text] for number in block]) @ matrix.T
            nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :_NEAREST]
            for number, row in zip(block, nearest.tolist(), strict=True):
                own = [passage.text for passage in self._questions[number].passages]
                self._near[number] = tuple(dict.fromkeys([*(texts[place] for place in row), *own]))

    def of(self, lesson: Lesson) -> tuple[str, ...]:
        """The candidates of a lesson's kind, none of them gold, the likeliest first."""
        near = self._near[lesson.question]
        if lesson.stands_in:
            found: Sequence[str] = [self._stand_ins[text] for text in near if text in self._stand_ins]
        elif lesson.kind == "passage" or not self._questions[lesson.question].passages:
            found = near
        else:
            found = [text for each in near for text in self._units(each, lesson.kind)]
        return tuple(text for text in dict.fromkeys(found) if text not in lesson.gold)

    def _units(self, passage: str, kind: Kind) -> tuple[str, ...]:
        read = self._read[passage]
        return read.triples if kind == "triple" else read.facts
