"""Vectors for all that an index holds and is asked: which text the encoder sees, and which the aligner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.encoder import aligner_of
from minirag.naming.names import normalise_name
from minirag.splitting import embedded_text
from minirag.storage.segment import StoredDocument
from minirag.storage.segment_data import SegmentData
from minirag.storage.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.encoder import Encoder
    from minirag.records import Bridge, Kind


def texts_of(documents: Sequence[StoredDocument], bridges: Sequence[Bridge]) -> list[list[str]]:
    """What is encoded of passages, facts, triples and bridging facts: four lists, in the order of the records."""
    passages = [(passage, document.title) for document in documents for passage in document.passages]
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
        EncoderError: If one of the two cannot be loaded or run.
    """
    passages, facts, triples, bridging = texts_of(documents, bridges)
    of_triples = quantise(aligner.encode(triples, progress=progress))
    others = quantise(encoder.encode([*passages, *facts, *bridging], progress=progress))
    of_passages, of_facts, of_bridges = np.split(others, np.cumsum([len(passages), len(facts)]))
    return segment_data(documents, bridges, [of_passages, of_facts, of_triples, of_bridges])


def segment_data(
    documents: Sequence[StoredDocument], bridges: Sequence[Bridge], vectors: Sequence[NDArray[np.int8]]
) -> SegmentData:
    """Records with the vectors of their passages, facts, triples and bridging facts."""
    of_passages, of_facts, of_triples, of_bridges = vectors
    return SegmentData(list(documents), list(bridges), of_passages, of_facts, of_triples, of_bridges, normalise_name)


def describe_encoders(encoder: Encoder, given: str | Path | Encoder | None) -> dict[str, Any]:
    """What the header remembers of an index's encoder, as it was given, and of the aligner beside it."""
    source = str(given) if isinstance(given, str | Path) else None
    return {
        "encoder": {**describe_aligner(encoder), "source": source},
        "aligner": describe_aligner(aligner_of(encoder)),
    }


def describe_aligner(encoder: Encoder) -> dict[str, Any]:
    """What the header remembers of an index's aligner."""
    return {"name": encoder.name, "fingerprint": encoder.fingerprint, "dimensions": encoder.dimensions}


class Query:
    """A text that is searched for. Each of its vectors is computed when it is first needed."""

    def __init__(self, text: str, *, encoder: Encoder, aligner: Encoder) -> None:
        """Keep the text and the index's two models, which may be one."""
        self.text = text
        self._encoder = encoder
        self._aligner = aligner

    @cached_property
    def vector(self) -> NDArray[np.float32]:
        """By the encoder, to be compared with passages, facts and bridging facts: `(dim,)`, of unit length."""
        vector: NDArray[np.float32] = self._encoder.encode([self.text], role="query")[0]
        return vector

    @cached_property
    def _for_triples(self) -> NDArray[np.float32]:
        if self._aligner is self._encoder:
            return self.vector
        vector: NDArray[np.float32] = self._aligner.encode([self.text], role="query")[0]
        return vector

    def vector_for(self, kind: Kind) -> NDArray[np.float32]:
        """To be compared with units of a kind: by the aligner for triples, else `vector`."""
        return self._for_triples if kind == "triple" else self.vector
