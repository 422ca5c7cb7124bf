"""Several segments into one, without what is dead: no text is derived or encoded afresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minirag.records import ExtractedFact, Extraction
from minirag.storage.layout import Dimensions
from minirag.storage.packing import PackedMatrix
from minirag.storage.segment import Segment, StoredDocument, StoredPassage, stored_document
from minirag.storage.segment_data import SegmentData

if TYPE_CHECKING:
    from numpy.typing import NDArray


def empty_data(dimensions: Dimensions, normalise: Callable[[str], str]) -> SegmentData:
    """A segment without rows."""
    none, no_triples = np.empty((0, dimensions.encoder), np.int8), np.empty((0, dimensions.aligner), np.int8)
    return SegmentData([], [], none, none, no_triples, none, normalise)


def merge(parts: Sequence[SegmentData]) -> SegmentData:
    """All rows of at least one part, in order."""
    return SegmentData(
        [document for part in parts for document in part.documents],
        [bridge for part in parts for bridge in part.bridges],
        np.concatenate([part.passage_vectors for part in parts]),
        np.concatenate([part.fact_vectors for part in parts]),
        np.concatenate([part.triple_vectors for part in parts]),
        np.concatenate([part.bridge_vectors for part in parts]),
        parts[0].normalise,
    )


def read_alive(segment: Segment, normalise: Callable[[str], str]) -> SegmentData:
    """What is alive in a segment, as it would be written."""
    facts = segment.count("facts")
    return SegmentData(
        [read_document(segment, row) for row in rows_alive(segment, "documents")],
        [segment.bridge(row) for row in rows_alive(segment, "bridges")],
        _kept(segment.passage_vectors, segment.alive("passages")),
        _kept(segment.unit_vectors[:facts], segment.alive("facts")),
        _kept(segment.triple_vectors, segment.alive("triples")),
        _kept(segment.unit_vectors[facts:], segment.alive("bridges")),
        normalise,
    )


def rows_alive(segment: Segment, name: str) -> list[int]:
    """The valid rows of a kind, see `Segment.alive`."""
    alive = segment.alive(name)
    return list(range(segment.count(name))) if alive is None else np.flatnonzero(alive).tolist()


def _kept(vectors: NDArray[np.int8] | PackedMatrix, alive: NDArray[np.bool_] | None) -> NDArray[np.int8]:
    kept: NDArray[np.int8] = vectors[:] if alive is None else vectors[alive]
    return kept


def read_document(segment: Segment, row: int) -> StoredDocument:
    """One document with its passages and all that was extracted from them."""
    start, end = segment.document_slices[row : row + 2].tolist()
    passages = [_read_passage(segment, place) for place in range(start, end)]
    return stored_document(segment.documents[row], passages)


def read_vectors(segment: Segment, row: int, document: StoredDocument, normalise: Callable[[str], str]) -> SegmentData:
    """A document by itself, as it would be written, with the vectors of the one in a row that has the same texts."""
    first, last = segment.document_slices[row : row + 2].tolist()
    facts, triples = (slice(*each[[first, last]].tolist()) for each in (segment.fact_slices, segment.triple_slices))
    units = segment.unit_vectors
    return SegmentData(
        [document],
        [],
        segment.passage_vectors[first:last],
        units[facts],
        segment.triple_vectors[triples],
        units[:0],
        normalise,
    )


def _read_passage(segment: Segment, row: int) -> StoredPassage:
    text, start, before, key, failure, *_ = segment.passages[row]
    if failure is not None:
        return StoredPassage(text, start, before, key, None, failure)
    first, last = segment.fact_slices[row : row + 2].tolist()
    facts = tuple(ExtractedFact(fact, tuple(names)) for fact, names in (segment.facts[n] for n in range(first, last)))
    first, last = segment.triple_slices[row : row + 2].tolist()
    triples = tuple((head, relation, tail) for head, relation, tail in (segment.triples[n] for n in range(first, last)))
    return StoredPassage(text, start, before, key, Extraction(facts, triples))


def find_extractions(segments: Sequence[Segment], texts: Mapping[str, str]) -> dict[str, Extraction]:
    """What was extracted from passages with the same keys, of whichever documents that are there.

    Args:
        segments: Where to look.
        texts: Of the passages, by their keys.

    Returns:
        By key, what was found.
    """
    found: dict[str, Extraction] = {}
    for segment in segments if texts else ():
        for row in segment.passages_with(texts.values()):
            _, _, _, key, *_ = segment.passages[row]
            if key in texts and key not in found and (extraction := _read_passage(segment, row).extraction) is not None:
                found[key] = extraction
    return found


def restore_text(stored: StoredDocument) -> str:
    """A document's text as the user gave it."""
    return "".join(passage.before + passage.text for passage in stored.passages) + stored.after
