"""Scoring passages by what they say and by who names them: bridge entities followed at query time.

What a question asks is often not said where its words are: the passage that matches names something, and the passage
about that name holds the answer. So passages are scored twice: by their own similarity to the question, then by the
links from the facts of the best ones. Following a name moved recall@5 further than any encoder did (see the README).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minirag.naming.names import TOKEN, is_bridge_name, normalise_name, title_entity
from minirag.storage.lexical import score_passages
from minirag.storage.segment import Segment
from minirag.storage.tables import hash_key
from minirag.storage.vectors import quantise, search_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.snapshot import Snapshot

    Scores = NDArray[np.float32]

_DEPTH = 4_096  # rows of a segment that are told apart; the rest share the score of the last of them
_SPAN = 8  # words of a question that may be one name


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; see `score`.

    Attributes:
        lexical: Of BM25, scaled to at most 1, beside a cosine.
        named: Of a link from a name in the question.
        linked: Of a link from a fact of the best passages.
        sources: How many best passages links are followed from.
        sharpness: The power to which a fact's own score is raised before it counts for its links.
    """

    lexical: float = 0.2
    named: float = 0.2
    linked: float = 0.4
    sources: int = 10
    sharpness: float = 4.0


class Link(NamedTuple):
    """Names to follow.

    Attributes:
        home: The passage that they stand in; they do not lead back to it.
        keys: The hashes of the names.
    """

    home: int
    keys: Sequence[int]


class Space:
    """All passages of a snapshot in one row of numbers, and likewise its facts; links once looked up are remembered."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Count; nothing is read."""
        self.snapshot = snapshot
        self.passage_starts = _starts(snapshot, "passages")
        self.fact_starts = _starts(snapshot, "facts")
        self._links: dict[int, tuple[NDArray[np.int64], Scores]] = {}
        self._title_keys: dict[tuple[int, int], int | None] = {}

    def locate(self, passage: int) -> tuple[Segment, int]:
        """The segment and the row in it of a passage."""
        number = int(np.searchsorted(self.passage_starts, passage, side="right")) - 1
        return self.snapshot.segments[number], passage - int(self.passage_starts[number])

    def find(self, passage_id: str) -> int:
        """The number of a passage by its id, which is one of the snapshot's."""
        document_id, _, place = passage_id.rpartition("#")
        found = self.snapshot.find_document(document_id)
        if found is None:
            raise KeyError(passage_id)
        segment, document = found
        start = int(self.passage_starts[self.snapshot.segments.index(segment)])
        return start + int(segment.document_slices[document]) + int(place.partition("-")[0])

    def facts_of(self, passage: int) -> range:
        """The numbers of a passage's facts."""
        number = int(np.searchsorted(self.passage_starts, passage, side="right")) - 1
        slices = self.snapshot.segments[number].fact_slices
        row = passage - int(self.passage_starts[number])
        start = int(self.fact_starts[number])
        return range(start + int(slices[row]), start + int(slices[row + 1]))

    def fact(self, number: int) -> tuple[Segment, int]:
        """The segment and the row in it of a fact."""
        segment = int(np.searchsorted(self.fact_starts, number, side="right")) - 1
        return self.snapshot.segments[segment], number - int(self.fact_starts[segment])

    def passage_of(self, fact: int) -> int:
        """The passage of a fact."""
        segment = int(np.searchsorted(self.fact_starts, fact, side="right")) - 1
        owner = self.snapshot.segments[segment].passage_of_fact[fact - int(self.fact_starts[segment])]
        return int(self.passage_starts[segment]) + int(owner)

    def links(self, key: int) -> tuple[NDArray[np.int64], Scores]:
        """Passages that an entity leads to, each with its weight, the fewer the more strongly; none of them is dead.

        One about it gets 1 over the number of such passages; one that only names it, the square root of the share of
        its facts that do, over the number of passages that name it at all.
        """
        if key not in self._links:
            named = [self._naming(number, key) for number in range(len(self.snapshot.segments))]
            passages, shares, about = (np.concatenate(column) for column in zip(*named, strict=True))
            weight = np.sqrt(shares) / max(1, len(passages))
            weight[about] = np.maximum(weight[about], 1 / max(1, int(about.sum())))
            self._links[key] = passages, weight.astype(np.float32)
        return self._links[key]

    def _naming(self, number: int, key: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        """A segment's passages that name an entity, the share of their facts that do, and which are about it."""
        segment = self.snapshot.segments[number]
        rows = segment.facts_by_entity.find(key)
        if not len(rows):
            return np.empty(0, np.int64), np.empty(0), np.empty(0, bool)
        passages, counts = np.unique(segment.passage_of_fact[rows], return_counts=True)
        alive = segment.alive("passages")
        if alive is not None:
            passages, counts = passages[alive[passages]], counts[alive[passages]]
        sizes = segment.fact_slices[passages + 1] - segment.fact_slices[passages]
        documents = segment.document_of_passage[passages].tolist()
        about = np.array([self._title_key(number, document) == key for document in documents], bool)
        return passages.astype(np.int64) + self.passage_starts[number], counts / sizes, about

    def _title_key(self, number: int, document: int) -> int | None:
        """The hash of what a segment's document is about, None without a title."""
        place = (number, document)
        if place not in self._title_keys:
            title = self.snapshot.segments[number].documents[document][1]
            self._title_keys[place] = _title_key(title) if title else None
        return self._title_keys[place]


def score(
    space: Space, question: str, vector: Scores, weights: Weights, *, chain: Sequence[Link] = ()
) -> tuple[Scores, Scores]:
    """Score all passages for a question.

    Args:
        space: The passages.
        question: What is asked; BM25 and names are taken from it.
        vector: The question's, or that of question and chain: a unit vector `(dim,)`.
        weights: Of the signals.
        chain: Links that count in full, whatever the question says.

    Returns:
        Scores `(passages,)`, minus infinity for the dead, and the cosines of all facts `(facts,)`.
    """
    own, facts = _own_scores(space, question, vector, weights)
    return own + weights.linked * _link_scores(space, own, facts, weights, chain), facts


def _own_scores(space: Space, question: str, vector: Scores, weights: Weights) -> tuple[Scores, Scores]:
    """By what a passage says itself: the mean of its cosine and its best fact's, BM25, and its name in the question."""
    segments = space.snapshot.segments
    passages = np.concatenate([_passage_cosines(segment, vector) for segment in segments])
    facts = np.concatenate([_fact_cosines(segment, vector) for segment in segments])
    best = np.concatenate(
        [
            _best_facts(segment, facts[start:end])
            for segment, start, end in zip(segments, space.fact_starts[:-1], space.fact_starts[1:], strict=True)
        ]
    )
    own = np.where(np.isnan(best), passages, (passages + best) / 2)
    alive = [segment.alive("passages") for segment in segments]
    lexical = np.concatenate(score_passages([segment.postings for segment in segments], alive, question))
    own += weights.lexical * lexical / max(1e-6, float(lexical.max(initial=0)))
    own += weights.named * _named_scores(space, question)
    return _bury(space, own.astype(np.float32)), facts


def _link_scores(space: Space, own: Scores, facts: Scores, weights: Weights, chain: Sequence[Link]) -> Scores:
    """For each passage, its strongest link from a fact of the best passages or of the chain, 0 to 1."""
    linked = np.zeros_like(own)
    sources = best_passages(own, weights.sources)
    strengths = {fact: facts[fact] + own[passage] for passage in sources for fact in space.facts_of(passage)}
    most = max(1e-6, *strengths.values()) if strengths else 1.0
    shares: dict[tuple[int, int], float] = {}  # by the passage that a name stands in, and the name
    for fact, value in strengths.items():
        share = max(0.0, float(value) / float(most)) ** weights.sharpness
        home = space.passage_of(fact)
        for key in keys_of_fact(*space.fact(fact)):
            shares[home, key] = max(share, shares.get((home, key), 0.0))
    shares |= {(link.home, key): 1.0 for link in chain for key in link.keys}
    for (home, key), share in shares.items():
        passages, weight = space.links(key)
        elsewhere = passages != home
        rows = passages[elsewhere]
        linked[rows] = np.maximum(linked[rows], share * weight[elsewhere])
    return linked


def _named_scores(space: Space, question: str) -> Scores:
    """For each passage, how strongly the names in the question lead to it, 0 to 1."""
    named = np.zeros(int(space.passage_starts[-1]), np.float32)
    for key in dict.fromkeys(_names_in(space, question)):
        passages, weight = space.links(key)
        named[passages] += weight
    return np.minimum(named, 1.0)


def _names_in(space: Space, question: str) -> Iterator[int]:
    words = TOKEN.findall(question)
    start = 0
    while start < len(words):
        for length in range(min(_SPAN, len(words) - start), 0, -1):
            name = " ".join(words[start : start + length])
            if length == 1 and not (name[:1].isupper() or name[:1].isdigit()):
                continue
            key = name_key(name)
            if key is not None and any(len(segment.facts_by_entity.find(key)) for segment in space.snapshot.segments):
                yield key
                start += length - 1
                break
        start += 1


@lru_cache(maxsize=65_536)
def name_key(name: str) -> int | None:
    """The hash under which a name is looked up; None for names that link nothing."""
    return hash_key(normalise_name(name)) if is_bridge_name(name) else None


@lru_cache(maxsize=65_536)
def _title_key(title: str) -> int:
    return hash_key(normalise_name(title_entity(title)))


def keys_of_fact(segment: Segment, row: int) -> list[int]:
    """The hashes of the linking names in a fact."""
    return [key for name in segment.facts[row][1] if (key := name_key(name)) is not None]


def passage_cosines(space: Space, vector: Scores) -> Scores:
    """The cosine of every passage with a unit vector `(dim,)`: `(passages,)`, minus infinity for the dead."""
    cosines = np.concatenate([_passage_cosines(segment, vector) for segment in space.snapshot.segments])
    return _bury(space, cosines)


def _bury(space: Space, scores: Scores) -> Scores:
    for start, segment in zip(space.passage_starts.tolist(), space.snapshot.segments, strict=False):
        mask = segment.alive("passages")
        if mask is not None:
            scores[start : start + len(mask)][~mask] = -np.inf
    return scores


def _passage_cosines(segment: Segment, vector: Scores) -> Scores:
    rows, cosines = search_exact(segment.passage_vectors, quantise(vector[None])[0], _DEPTH)
    return _spread(rows, cosines, segment.count("passages"))


def _fact_cosines(segment: Segment, vector: Scores) -> Scores:
    rows, cosines = segment.search_units(vector, _DEPTH)
    facts = rows < segment.count("facts")
    return _spread(rows[facts], cosines[facts], segment.count("facts"))


def _spread(rows: NDArray[np.int64], cosines: Scores, count: int) -> Scores:
    whole = np.full(count, cosines.min(initial=1.0) if len(cosines) else 0.0, np.float32)
    whole[rows] = cosines
    return whole


def _best_facts(segment: Segment, cosines: Scores) -> Scores:
    """The best fact's cosine by passage, NaN where a passage has none."""
    slices = segment.fact_slices.astype(np.int64)
    best = np.full(segment.count("passages"), np.nan, np.float32)
    some = slices[1:] > slices[:-1]
    if some.any():
        best[some] = np.maximum.reduceat(cosines, slices[:-1][some])
    return best


def best_passages(scores: Scores, most: int) -> list[int]:
    """The best passages by their numbers, best first, the dead left out."""
    count = min(most, len(scores))
    top = np.argpartition(-scores, count - 1)[:count] if count else np.empty(0, np.int64)
    return [int(p) for p in top[np.argsort(-scores[top], kind="stable")] if np.isfinite(scores[p])]


def _starts(snapshot: Snapshot, name: str) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([segment.count(name) for segment in snapshot.segments])]).astype(np.int64)
