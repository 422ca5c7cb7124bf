"""Vectors for all that an index holds: which text the encoder sees, and which the aligner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder import encode_texts
from minirag.naming.names import normalise_name
from minirag.splitting import embedded_text
from minirag.storage.segment import StoredDocument
from minirag.storage.segment_data import SegmentData, titled_passages
from minirag.storage.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.encoder import Encoder
    from minirag.records import Bridge


def texts_of(documents: Sequence[StoredDocument], bridges: Sequence[Bridge]) -> list[list[str]]:
    """What is encoded of passages, facts, triples and bridging facts: four lists, in the order of the records."""
    passages = list(titled_passages(documents))
    extractions = [passage.extraction for passage, _ in passages if passage.extraction is not None]
    return [
        [embedded_text(passage.text, title=title) for passage, title in passages],
        [fact.text for extraction in extractions for fact in extraction.facts],
        [" ".join(triple) for extraction in extractions for triple in extraction.triples],
        [bridge.text for bridge in bridges],
    ]


def embed(
    documents: Sequence[StoredDocument],
    bridges: Sequence[Bridge],
    *,
    encoder: Encoder,
    aligner: Encoder,
    progress: Callable[[int], None] | None = None,
) -> SegmentData:
    """Encode all of them: triples by the aligner, the others together by the encoder.

    Raises:
        EncoderError: If one of the two cannot be loaded or run, or gives what is no vectors.
    """
    passages, facts, triples, bridging = texts_of(documents, bridges)
    of_triples = quantise(encode_texts(aligner, triples, progress=progress))
    others = quantise(encode_texts(encoder, [*passages, *facts, *bridging], progress=progress))
    of_passages, of_facts, of_bridges = np.split(others, np.cumsum([len(passages), len(facts)]))
    return segment_data(documents, bridges, [of_passages, of_facts, of_triples, of_bridges])


def segment_data(
    documents: Sequence[StoredDocument], bridges: Sequence[Bridge], vectors: Sequence[NDArray[np.int8]]
) -> SegmentData:
    """Records with the vectors of their passages, facts, triples and bridging facts."""
    of_passages, of_facts, of_triples, of_bridges = vectors
    return SegmentData(list(documents), list(bridges), of_passages, of_facts, of_triples, of_bridges, normalise_name)
