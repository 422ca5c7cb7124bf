"""Large indexes from a small one: its documents over and over under other names, with vectors around the real ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.index import Index
from minirag.opening import normalise_name
from minirag.records import Bridge, ExtractedFact, Extraction
from minirag.storage.segment import StoredDocument, StoredPassage
from minirag.storage.segment_data import SegmentData
from minirag.storage.store import Store
from minirag.storage.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How far a copy's vector lies from the real one, as a share of its length: the cosine is then about 0.83, as between
# neighbouring sentences of 2WikiMultiHopQA.
_SPREAD = 0.67
_BLOCK = 50_000  # vectors made at a time


def grow(source: Path, target: Path, units: int) -> dict[str, int]:
    """Write an index of so many facts and bridging facts: the real one first, then copies of it.

    A copy has its own document ids, titles and entity names, so that names lead nowhere else and no name becomes more
    common; its words are the same, so that BM25's postings grow with it.

    Args:
        source: A real index, of one commit or more.
        target: Where the large one goes; nothing may be there.
        units: How many facts and bridging facts it is to hold, roughly: whole documents are taken.

    Returns:
        How many documents, passages, facts, bridges and triples it holds.
    """
    held = Store(source, mode="r", normalise=normalise_name).read_all()
    with Index(source, mode="r", model="offline") as index:
        header = dict(index.snapshot.header)
        with Index(target, model="offline", encoder=index.encoder, settings=index.settings):
            pass
    data = _grown(held, units)
    store = Store(target, mode="a", normalise=normalise_name)
    with store.writing():
        store.replace_all(data, header)
    store.close()
    return data.counts()


def _grown(held: SegmentData, units: int) -> SegmentData:
    whole = len(held.fact_vectors) + len(held.bridge_vectors)
    copies, rest = divmod(units, whole)
    last = _cut(held, rest) if rest else None
    documents: list[StoredDocument] = []
    bridges: list[Bridge] = []
    for number in range(copies):
        documents += [_copy_document(document, number) for document in held.documents]
        bridges += [_copy_bridge(bridge, number) for bridge in held.bridges]
    if last is not None:
        documents += [_copy_document(document, copies) for document in last.documents]
        bridges += [_copy_bridge(bridge, copies) for bridge in last.bridges]
    names = ("passage_vectors", "fact_vectors", "triple_vectors", "bridge_vectors")
    vectors: dict[str, Any] = {
        name: _spread(getattr(held, name), copies, None if last is None else getattr(last, name), seed)
        for seed, name in enumerate(names)
    }
    return SegmentData(documents=documents, bridges=bridges, normalise=held.normalise, **vectors)


def _cut(held: SegmentData, units: int) -> SegmentData:
    """The first documents with so many units, and the bridging facts that rest on them alone."""
    whole = len(held.fact_vectors) + len(held.bridge_vectors)
    count = max(1, len(held.documents) * units // max(1, whole))
    documents = held.documents[:count]
    passages = [passage for document in documents for passage in document.passages]
    found = [passage.extraction for passage in passages if passage.extraction]
    ids = {document.id for document in documents}
    kept = [
        row
        for row, bridge in enumerate(held.bridges)
        if all(passage.rpartition("#")[0] in ids for passage in bridge.passage_ids)
    ]
    return SegmentData(
        documents=documents,
        bridges=[held.bridges[row] for row in kept],
        passage_vectors=held.passage_vectors[: len(passages)],
        fact_vectors=held.fact_vectors[: sum(len(each.facts) for each in found)],
        triple_vectors=held.triple_vectors[: sum(len(each.triples) for each in found)],
        bridge_vectors=held.bridge_vectors[kept],
        normalise=held.normalise,
    )


# --- records -------------------------------------------------------------------------------------------------------


def _copy_document(document: StoredDocument, number: int) -> StoredDocument:
    if number == 0:
        return document
    passages: Sequence[StoredPassage] = [_copy_passage(passage, number) for passage in document.passages]
    title = _named(document.title, number) if document.title else ""
    return replace(document, id=f"{document.id}~{number}", title=title, passages=passages)


def _copy_passage(passage: StoredPassage, number: int) -> StoredPassage:
    if passage.extraction is None:
        return passage
    facts = tuple(
        ExtractedFact(fact.text, tuple(_named(name, number) for name in fact.entities))
        for fact in passage.extraction.facts
    )
    return replace(passage, extraction=Extraction(facts, passage.extraction.triples))


def _copy_bridge(bridge: Bridge, number: int) -> Bridge:
    if number == 0:
        return bridge
    passages = tuple(_moved(passage, number) for passage in bridge.passage_ids)
    return replace(bridge, entity=_named(bridge.entity, number), passage_ids=passages)


def _moved(passage_id: str, number: int) -> str:
    document, _, place = passage_id.rpartition("#")
    return f"{document}~{number}#{place}"


def _named(name: str, number: int) -> str:
    return f"{name} {number}"


# --- vectors -------------------------------------------------------------------------------------------------------


def _spread(real: NDArray[np.int8], copies: int, last: NDArray[np.int8] | None, seed: int) -> NDArray[np.int8]:
    """The real vectors, then for each copy others around them."""
    dice = np.random.default_rng(seed)
    parts = [real if number == 0 else _around(real, dice) for number in range(copies)]
    if last is not None:
        parts.append(last if copies == 0 else _around(last, dice))
    return np.concatenate(parts) if parts else real[:0]


def _around(real: NDArray[np.int8], dice: np.random.Generator) -> NDArray[np.int8]:
    return np.concatenate([*_blocks(real, dice), real[:0]])


def _blocks(real: NDArray[np.int8], dice: np.random.Generator) -> Iterator[NDArray[np.int8]]:
    for start in range(0, len(real), _BLOCK):
        vectors = real[start : start + _BLOCK].astype(np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        noise = dice.standard_normal(vectors.shape, np.float32) * np.float32(_SPREAD / np.sqrt(vectors.shape[1]))
        yield quantise(vectors + noise)
