"""Scoring passages by what they say and by who names them: bridge entities followed at query time.

What a question asks is often not said where its words are: the passage that matches names something, and the passage
about that name holds the answer. So passages are scored by their own similarity to the question, by the names in the
question, and by the names in the facts of the best passages. Following names moved recall further than any encoder did
(see the README).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minirag.storage.lexical import score_passages
from minirag.storage.segment import Segment
from minirag.storage.tables import hash_key
from minirag.storage.vectors import quantise, search_valid, similarities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.snapshot import Snapshot

    Scores = NDArray[np.float32]

_DEPTH = 4_096  # passages of a segment that are told apart; the rest share the score of the last of them
_SPAN = 8  # words of a question that may be one name
_READ = 4_000  # characters of a question that are searched for names
_CLEAR = 0.1  # links from here on are worth a look at the passage's facts


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; measured on three data sets at once, see the README.

    Attributes:
        facts: Share of the best fact's cosine in a passage's similarity; the rest is the passage's own.
        lexical: Of BM25, divided by the best passage's.
        asked: Of the strongest link from a name in the question.
        followed: Of the strongest link from a name in the best passages' facts.
        sources: From how many best passages names are followed.
        sharpness: The power to which a fact's own score, divided by the best, is raised before its links count.
        most_passages: Names in more passages are not followed.
        pool: For how many of the nearest passages facts are looked at.
    """

    facts: float = 0.5
    lexical: float = 0.2
    asked: float = 0.25
    followed: float = 0.5
    sources: int = 10
    sharpness: float = 4.0
    most_passages: int = 500
    pool: int = 100


SIGNALS = ("facts", "lexical", "asked", "followed")


def weights_without(signals: Collection[str]) -> Weights:
    """The weights with some signals left out, to see what each contributes.

    Raises:
        ValueError: If one is not in SIGNALS.
    """
    if unknown := sorted(set(signals) - set(SIGNALS)):
        raise ValueError(f"there is no signal {unknown[0]!r}; there are {', '.join(SIGNALS)}")
    left_out: dict[str, Any] = dict.fromkeys(signals, 0.0)
    return replace(Weights(), **left_out)


class Link(NamedTuple):
    """Names to follow.

    Attributes:
        home: The passage that they stand in; they do not lead back to it.
        keys: The hashes of the names.
    """

    home: int
    keys: Sequence[int]


class Namings(NamedTuple):
    """Which passages name some entities, none of them dead, all `(n,)`: by entity, then in the order of the file.

    Attributes:
        names: The places of the entities among those that were asked for.
        passages: Their numbers.
        shares: The share of each one's facts that name the entity, above 0.
        about: Whether it is about the entity, by its title.
    """

    names: NDArray[np.int64]
    passages: NDArray[np.int64]
    shares: Scores
    about: NDArray[np.bool_]

    def take(self, rows: NDArray[Any]) -> Namings:
        """Those of a mask, or of places in another order."""
        return Namings(self.names[rows], self.passages[rows], self.shares[rows], self.about[rows])


class Space:
    """All passages of a snapshot in one row of numbers, and likewise its facts."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Count; nothing is read."""
        self.snapshot = snapshot
        self.passage_starts = _starts(snapshot, "passages")  # a list: quicker than numpy, one at a time

    def __len__(self) -> int:
        """How many passages, dead ones included."""
        return self.passage_starts[-1]

    def locate(self, passage: int) -> tuple[int, Segment, int]:
        """The number of the segment, the segment, and the row in it of a passage."""
        number = bisect_right(self.passage_starts, passage) - 1
        return number, self.snapshot.segments[number], passage - self.passage_starts[number]

    def find(self, passage_id: str) -> int:
        """The number of a passage by its id.

        Raises:
            KeyError: When there is none.
        """
        document_id, _, place = passage_id.rpartition("#")
        found = self.snapshot.find_document(document_id)
        if found is None:
            raise KeyError(passage_id)
        segment, document = found
        start = self.passage_starts[self.snapshot.segments.index(segment)]
        return start + int(segment.document_slices[document]) + int(place.partition("-")[0])

    def names(self, key: int) -> bool:
        """Whether any passage names an entity."""
        for segment in self.snapshot.segments:
            facts, alive = segment.facts_by_entity.find(key), segment.alive("facts")
            if len(facts) and (alive is None or alive[facts].any()):
                return True
        return False

    def namings(self, keys: Sequence[int]) -> Namings:
        """The passages that name entities, by the hashes of these."""
        hashes = np.array(keys, "<u8")
        parts = [self._namings(number, hashes) for number in range(len(self.snapshot.segments))]
        if len(parts) == 1:
            return parts[0]
        joined = Namings(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return joined.take(np.argsort(joined.names, kind="stable"))

    def _namings(self, number: int, hashes: NDArray[np.uint64]) -> Namings:
        segment = self.snapshot.segments[number]
        names, facts = segment.facts_by_entity.find_all(hashes)
        naming = segment.passage_of_fact[facts]
        # The facts of one passage stand behind one another.
        first = np.flatnonzero(np.diff(naming, prepend=-1) | np.diff(names, prepend=-1))
        counts = np.diff(first, append=len(facts))
        names, passages = names[first], naming[first].astype(np.int64)
        alive = segment.alive("passages")
        if alive is not None:
            kept = alive[passages]
            names, passages, counts = names[kept], passages[kept], counts[kept]
        sizes = segment.fact_slices[passages + 1] - segment.fact_slices[passages]
        about = segment.title_keys[segment.document_of_passage[passages]] == hashes[names]
        return Namings(names, passages + self.passage_starts[number], (counts / sizes).astype(np.float32), about)

    def links_of(self, passage: int) -> list[Sequence[int]]:
        """The hashes of the names in each of a passage's facts, in order."""
        _, segment, row = self.locate(passage)
        start, end = segment.fact_slices[row : row + 2].tolist()
        return [segment.links_of(fact).tolist() for fact in range(start, end)]

    def fact_cosines(self, passages: Sequence[int], vector: Scores) -> list[Scores]:
        """For each passage the cosine of each of its facts with a unit vector, in order.

        Their vectors are copied together first: a product for each passage alone takes several times as long.
        """
        parts: list[NDArray[np.int8]] = []
        for passage in passages:
            _, segment, row = self.locate(passage)
            start, end = segment.fact_slices[row : row + 2].tolist()
            parts.append(segment.unit_vectors[start:end])
        if not parts:
            return []
        cosines = similarities(np.concatenate(parts), vector)
        ends = np.cumsum([len(part) for part in parts]).tolist()
        return [cosines[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]


class Asked(NamedTuple):
    """What a question says, apart from its vector.

    Attributes:
        lexical: BM25 of each passage over the best one's, 0 to 1: `(passages,)`.
        names: The hashes of the names in it that the index knows, longest names first taken.
    """

    lexical: Scores
    names: tuple[int, ...]


def read_question(space: Space, question: str) -> Asked:
    """Count its words and find its names."""
    segments = space.snapshot.segments
    alive = [segment.alive("passages") for segment in segments]
    lexical = np.concatenate(score_passages([segment.postings for segment in segments], alive, question))
    return Asked(lexical / max(1e-6, float(lexical.max(initial=0))), tuple(dict.fromkeys(_names_in(space, question))))


def score(space: Space, asked: Asked, vector: Scores, weights: Weights, *, chain: Sequence[Link] = ()) -> Scores:
    """Score all passages for a question.

    Args:
        space: The passages.
        asked: What the question says.
        vector: The question's, or that of question and chain: a unit vector `(dim,)`.
        weights: Of the signals.
        chain: Links that count in full, whatever the question says.

    Returns:
        `(passages,)`, minus infinity for the dead.
    """
    near = _Nearness(space, vector, asked.lexical, weights)
    near.look_at_facts(best_passages(near.scores(), weights.pool))
    named = _follow(space, near.scores(), {key: {-1: 1.0} for key in asked.names}, weights)
    near.look_at_facts(np.flatnonzero(named > _CLEAR).tolist())
    own = near.scores() + weights.asked * named
    sources = best_passages(own, weights.sources)
    near.look_at_facts(sources)
    names = _names_to_follow(space, near.cosines, own, sources, weights)
    for link in chain:
        for key in link.keys:
            names.setdefault(key, {})[link.home] = 1.0
    linked = _follow(space, own, names, weights)
    clear = np.flatnonzero(linked > _CLEAR)
    near.look_at_facts(clear[np.argsort(-linked[clear], kind="stable")][: weights.pool].tolist())
    scores: Scores = near.scores() + weights.asked * named + weights.followed * linked
    return scores


class _Nearness:
    """What passages say themselves; their facts are looked at only where it may matter."""

    def __init__(self, space: Space, vector: Scores, lexical: Scores, weights: Weights) -> None:
        self._space, self._vector, self._weights = space, vector, weights
        self._passages = passage_cosines(space, vector)
        self._best = self._passages.copy()  # until its facts are looked at, a passage stands for them
        self._lexical = weights.lexical * lexical
        self.cosines: dict[int, Scores] = {}

    def look_at_facts(self, passages: Iterable[int]) -> None:
        unseen = [each for each in passages if each not in self.cosines and np.isfinite(self._passages[each])]
        for passage, cosines in zip(unseen, self._space.fact_cosines(unseen, self._vector), strict=True):
            self.cosines[passage] = cosines
            if len(cosines):
                self._best[passage] = cosines.max()

    def scores(self) -> Scores:
        share = self._weights.facts
        own: Scores = (1 - share) * self._passages + share * self._best + self._lexical
        return own


def _names_to_follow(
    space: Space, cosines: Mapping[int, Scores], own: Scores, sources: Sequence[int], weights: Weights
) -> dict[int, dict[int, float]]:
    """By name, how much it counts in each passage that it stands in."""
    values = {passage: np.maximum(0, cosines[passage] + own[passage]) for passage in sources}
    most = max((float(each.max(initial=0)) for each in values.values()), default=0.0) or 1.0
    found: dict[int, dict[int, float]] = {}
    for passage, value in values.items():
        shares = (value / most) ** weights.sharpness
        for share, keys in zip(shares.tolist(), space.links_of(passage), strict=True):
            for key in keys:
                places = found.setdefault(key, {})
                places[passage] = max(share, places.get(passage, 0.0))
    return found


def _follow(space: Space, own: Scores, names: Mapping[int, Mapping[int, float]], weights: Weights) -> Scores:
    """For each passage its strongest link, 0 to 1: a name's weight times how surely the name leads there.

    A passage about the name gets 1 over its rank among those about it and over the square root of their number; one
    that only mentions it the square root of the share of its facts that do, over the number of passages that do. In
    the passage that it stands in, a name counts by what it counts elsewhere.
    """
    linked = np.zeros_like(own)
    found = space.namings(list(names))
    often = np.bincount(found.names, minlength=len(names))
    found = found.take(often[found.names] <= weights.most_passages)
    mentioned = np.sqrt(found.shares) / often[found.names].astype(np.float32)
    strength = np.maximum(mentioned, _by_title(found, own))
    homes = [max(places, key=lambda place: places[place]) for places in names.values()]
    counts = [
        (places[home], max((share for place, share in places.items() if place != home), default=0.0))
        for places, home in zip(names.values(), homes, strict=True)
    ]
    abroad, at_home = np.array(counts, np.float32).reshape(-1, 2).T
    is_home = found.passages == np.array(homes, np.int64)[found.names]
    weight = np.where(is_home, at_home[found.names], abroad[found.names])
    np.maximum.at(linked, found.passages, strength * weight)
    return linked


def _by_title(found: Namings, own: Scores) -> Scores:
    """How surely names lead to the passages about them, `(n,)`; 0 for the others."""
    titled = np.flatnonzero(found.about)
    best_first = titled[np.lexsort((-own[found.passages[titled]], found.names[titled]))]
    _, first, many = np.unique(found.names[best_first], return_index=True, return_counts=True)
    ranks = np.arange(1, len(best_first) + 1) - np.repeat(first, many)
    strength = np.zeros(len(found.about), np.float32)
    strength[best_first] = 1 / (ranks * np.sqrt(np.repeat(many, many)))
    return strength


def _names_in(space: Space, question: str) -> Iterator[int]:
    from minirag.naming.names import TOKEN
    from minirag.naming.uncased import uncased_names
    from minirag.naming.words import UNCASED

    question = question[:_READ]
    words = TOKEN.findall(question)
    start = 0
    while start < len(words):
        for length in range(min(_SPAN, len(words) - start), 0, -1):
            name = " ".join(words[start : start + length])
            if length == 1 and name[:1].islower():
                continue
            key = _known_key(space, name)
            if key is not None:
                yield key
                start += length - 1
                break
        start += 1
    if UNCASED.search(question):  # words may run into each other, or names look like other words
        yield from (key for name in uncased_names(question) if (key := _known_key(space, name)) is not None)


def _known_key(space: Space, name: str) -> int | None:
    key = name_key(name)
    return key if key is not None and space.names(key) else None


def name_key(name: str) -> int | None:
    """The hash under which a name is looked up; None for names that link nothing."""
    from minirag.naming.names import is_bridge_name, normalise_name

    return hash_key(normalise_name(name)) if is_bridge_name(name) else None


def passage_cosines(space: Space, vector: Scores) -> Scores:
    """The cosine of every passage with a unit vector `(dim,)`: `(passages,)`, minus infinity for the dead."""
    columns = []
    for segment in space.snapshot.segments:
        alive = segment.alive("passages")
        rows, found = search_valid(segment.passage_vectors, quantise(vector[None])[0], _DEPTH, alive)
        cosines = np.full(segment.count("passages"), found.min(initial=1.0), np.float32)
        if alive is not None:
            cosines[~alive] = -np.inf
        cosines[rows] = found
        columns.append(cosines)
    return np.concatenate(columns)


def best_passages(scores: Scores, most: int) -> list[int]:
    """The best passages by their numbers, best first, equal ones in the order of the file, the dead left out."""
    count = min(most, len(scores))
    if count == 0:
        return []
    least = np.partition(scores, -count)[-count]
    top = np.flatnonzero(scores >= least)
    ranked = top[np.argsort(-scores[top], kind="stable")][:count]
    return [passage for passage in ranked.tolist() if np.isfinite(scores[passage])]


def _starts(snapshot: Snapshot, name: str) -> list[int]:
    return [0, *accumulate(segment.count(name) for segment in snapshot.segments)]
