"""Nearest units in a snapshot: which rows, and what they are as hits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from minirag.json_values import same_json
from minirag.records import Document, Hit, Kind, Passage
from minirag.storage.lexical import score_passages
from minirag.storage.segment import Segment
from minirag.storage.vectors import quantise, search_valid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.snapshot import Snapshot


class Row(NamedTuple):
    """A unit by its place, before anything of it is read.

    Attributes:
        score: Cosine similarity to the query.
        segment: The segment's number in the snapshot.
        kind: What it is.
        row: Its row among those of its kind.
    """

    score: float
    segment: int
    kind: Kind
    row: int


SearchMode = Literal["dense", "lexical", "hybrid"]
FLAT: tuple[Kind, ...] = ("fact", "bridge")  # IndexRAG's one flat index
PASSAGES: tuple[Kind, ...] = ("passage",)
BRIDGES: tuple[Kind, ...] = ("bridge",)
FUSION_DEPTH = 100  # of each ranking, before they are joined
LEAST_RANKED = 20  # passages that a strategy ranks however few are read


def nearest(snapshot: Snapshot, query: NDArray[np.float32], *, k: int, kinds: Collection[Kind] = FLAT) -> list[Row]:
    """The k units most similar to a query, over all segments.

    Args:
        snapshot: What to search.
        query: A unit vector `(dim,)`, by the model that encoded these kinds.
        k: How many at most, at least 1.
        kinds: Which kinds of unit compete.

    Returns:
        Best first; equal scores in the order of the file.
    """
    found = (
        Row(score, number, kind, row)
        for number, segment in enumerate(snapshot.segments)
        for kind, rows, scores in _search(segment, query, k, kinds)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    )
    return best_rows(found, k)


def best_rows(found: Iterable[Row], k: int) -> list[Row]:
    """The k best, best first; equal scores in the order of the file."""
    return sorted(found, key=lambda row: (-row.score, row.segment, row.kind, row.row))[:k]


def most_worded(snapshot: Snapshot, query: str, *, k: int) -> list[Row]:
    """The k passages with the most of a query's words, by BM25; those without any are left out."""
    alive = [segment.alive("passages") for segment in snapshot.segments]
    found = []
    for number, scores in enumerate(score_passages([s.postings for s in snapshot.segments], alive, query)):
        best = np.argsort(-scores, kind="stable")[:k]
        found += [Row(float(scores[row]), number, "passage", int(row)) for row in best if scores[row] > 0]
    return sorted(found, key=lambda row: (-row.score, row.segment, row.row))[:k]


def fuse(rankings: Sequence[Sequence[Row]]) -> list[Row]:
    """Join rankings by reciprocal rank fusion (Cormack et al. 2009, with their constant 60)."""
    scores: dict[tuple[int, Kind, int], float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row[1:]] = scores.get(row[1:], 0.0) + 1 / (60 + rank)
    joined = [Row(score, *place) for place, score in scores.items()]
    return sorted(joined, key=lambda row: (-row.score, row.segment, row.row))


def _search(
    segment: Segment, query: NDArray[np.float32], k: int, kinds: Collection[Kind]
) -> Iterator[tuple[Kind, NDArray[np.int64], NDArray[np.float32]]]:
    vector = quantise(query[None])[0]
    if "fact" in kinds and "bridge" in kinds:
        yield from _search_flat(segment, vector, k)
    else:
        facts = segment.count("facts")
        if "fact" in kinds:
            yield "fact", *search_valid(segment.unit_vectors[:facts], vector, k, segment.alive("facts"))
        if "bridge" in kinds:
            yield "bridge", *search_valid(segment.unit_vectors[facts:], vector, k, segment.alive("bridges"))
    if "passage" in kinds:
        yield "passage", *search_valid(segment.passage_vectors, vector, k, segment.alive("passages"))
    if "triple" in kinds:
        yield "triple", *segment.search_triples(vector, k)


def _search_flat(
    segment: Segment, query: NDArray[np.int8], k: int
) -> Iterator[tuple[Kind, NDArray[np.int64], NDArray[np.float32]]]:
    facts = segment.count("facts")
    rows, scores = segment.search_units(query, k)
    of_facts = rows < facts
    yield "fact", rows[of_facts], scores[of_facts]
    yield "bridge", rows[~of_facts] - facts, scores[~of_facts]


def to_hit(snapshot: Snapshot, found: Row) -> Hit:
    """A row as the user sees it."""
    score, number, kind, row = found
    segment = snapshot.segments[number]
    if kind == "bridge":
        bridge = segment.bridge(row)
        documents = tuple(dict.fromkeys(passage_id.rpartition("#")[0] for passage_id in bridge.passage_ids))
        heads = [_head(snapshot, document) for document in documents]
        titles, shared = tuple(title for title, _ in heads), _agreed([metadata for _, metadata in heads])
        return Hit(kind, bridge.id, bridge.text, score, documents, bridge.passage_ids, titles, shared)
    owner = row if kind == "passage" else _owner(segment, kind, row)
    document_id, title = segment.head_of(owner)
    metadata = segment.metadata_of(int(segment.document_of_passage[owner]))
    if kind == "passage":
        passage = segment.passage(row)
        return Hit(kind, passage.id, passage.text, score, (document_id,), (passage.id,), (title,), metadata)
    unit = segment.fact(row) if kind == "fact" else segment.triple(row)
    return Hit(kind, unit.id, unit.text, score, (document_id,), (unit.passage_id,), (title,), metadata)


def _head(snapshot: Snapshot, document_id: str) -> tuple[str, dict[str, Any]]:
    """The title and the metadata of a document."""
    found = snapshot.find_document(document_id)
    return ("", {}) if found is None else (found[0].head(found[1])[1], found[0].metadata_of(found[1]))


def _agreed(metadata: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is the same in all of them."""
    first, *others = metadata
    return {key: value for key, value in first.items() if all(_has(other, key, value) for other in others)}


def _has(metadata: Mapping[str, Any], key: str, value: Any) -> bool:  # noqa: ANN401
    return key in metadata and same_json(metadata[key], value)


def find_document(snapshot: Snapshot, document_id: str) -> Document | None:
    """A document by its id, put together from its passages; None when it is not there."""
    found = snapshot.find_document(document_id)
    if found is None:
        return None
    segment, row = found
    _, title, metadata, _, after, *_ = segment.documents[row]
    start, end = segment.document_slices[row : row + 2].tolist()
    parts = [before + text for text, _, before, *_ in (segment.passages[place] for place in range(start, end))]
    text = "".join(parts) + after
    return Document(document_id, text, title, metadata, segment.places(row), segment.source(row))


class FoundPassage(NamedTuple):
    """A passage, with the title and the metadata of its document."""

    passage: Passage
    title: str
    metadata: Mapping[str, Any]


def find_passage(snapshot: Snapshot, passage_id: str) -> FoundPassage | None:
    """A passage by its id; None when it is not there."""
    document_id, _, place = passage_id.rpartition("#")
    found = snapshot.find_document(document_id)
    position = place.partition("-")[0]
    if found is None or not position.isdecimal():
        return None
    segment, document = found
    start, end = segment.document_slices[document : document + 2].tolist()
    row = start + int(position)
    if row >= end:
        return None
    passage = segment.passage(row)
    if passage.id != passage_id:
        return None
    return FoundPassage(passage, segment.head(document)[1], segment.metadata_of(document))


def rank_passages(snapshot: Snapshot, ranked: Iterable[Row], *, most: int) -> tuple[tuple[str, float], ...]:
    """Passages by their best unit: a fact counts for its passage, a bridging fact for all of its passages.

    Args:
        snapshot: Where the rows are.
        ranked: Best first.
        most: Stop at so many passages.

    Returns:
        Each passage id once with the score of its first row, best first.
    """
    scores: dict[str, float] = {}
    seen: set[tuple[int, int]] = set()
    for found in ranked:
        if len(scores) >= most:
            break
        segment = snapshot.segments[found.segment]
        if found.kind == "bridge":
            passage_ids = segment.bridge(found.row).passage_ids
        else:
            owner = found.row if found.kind == "passage" else _owner(segment, found.kind, found.row)
            if (found.segment, owner) in seen:
                continue
            seen.add((found.segment, owner))
            passage_ids = (segment.passage_id(owner),)
        for passage_id in passage_ids:
            scores.setdefault(passage_id, found.score)
    return tuple(scores.items())


def _owner(segment: Segment, kind: Kind, row: int) -> int:
    return int(segment.passage_of_fact[row] if kind == "fact" else segment.passage_of_triple[row])
