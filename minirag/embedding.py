"""Vectors for all that an index holds: which text the encoder sees, and which the aligner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder import HostedEncoder, encode_texts
from minirag.errors import EncoderError, TextsRefusedError
from minirag.naming.names import normalise_name
from minirag.splitting import embedded_text
from minirag.storage.segment import StoredDocument
from minirag.storage.segment_data import SegmentData, titled_passages
from minirag.storage.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.encoder import Encoder
    from minirag.records import Bridge
    from minirag.storage.kept_vectors import KeptVectors


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


def find_refused(documents: Iterable[StoredDocument], error: TextsRefusedError) -> dict[str, TextsRefusedError]:
    """The ids of the documents that a refused text is of, and which are."""
    found = {document.id: error.among(chain.from_iterable(texts_of([document], []))) for document in documents}
    return {document_id: reason for document_id, reason in found.items() if reason is not None}


def embed(
    documents: Sequence[StoredDocument],
    bridges: Sequence[Bridge],
    *,
    encoder: Encoder,
    aligner: Encoder,
    kept: KeptVectors | None = None,
    progress: Callable[[int], None] | None = None,
) -> SegmentData:
    """Encode all of them: the others together by the encoder, then triples by the aligner.

    Args:
        documents: As they are to be written.
        bridges: Likewise.
        encoder: The index's.
        aligner: The index's.
        kept: Gets what a provider is paid for, at once, and has what an earlier run paid for; None keeps nothing.
        progress: Told how many texts were encoded.

    Raises:
        EncoderError: If one of the two cannot be loaded or run, or gives what is no vectors.
        TextsRefusedError: If a hosted one does not take some of the texts; all others of its are kept.
    """
    passages, facts, triples, bridging = texts_of(documents, bridges)
    others = _encode(encoder, [*passages, *facts, *bridging], kept, progress)
    of_triples = quantise(encode_texts(aligner, triples, progress=progress))
    of_passages, of_facts, of_bridges = np.split(others, np.cumsum([len(passages), len(facts)]))
    return segment_data(documents, bridges, [of_passages, of_facts, of_triples, of_bridges])


def _encode(
    encoder: Encoder, texts: Sequence[str], kept: KeptVectors | None, progress: Callable[[int], None] | None
) -> NDArray[np.int8]:
    """Each text is sent to a provider once, however often it comes, and not at all if its vector is kept."""
    if kept is None or not isinstance(encoder, HostedEncoder) or not texts:
        return quantise(encode_texts(encoder, texts, progress=progress))
    of_encoder = encoder.fingerprint
    known = {text: kept.get(of_encoder, text) for text in dict.fromkeys(texts)}
    rows = {text: row for text, row in known.items() if row is not None}
    missing = [text for text in known if text not in rows]

    def receive(places: Sequence[int], vectors: NDArray[np.float32]) -> None:
        quantised = quantise(vectors)
        batch = [missing[place] for place in places]
        kept.put(of_encoder, batch, quantised)
        rows.update(zip(batch, quantised, strict=True))

    if progress is not None:
        progress(len(texts) - len(missing))
    if missing:
        encoder.encode_each(missing, receive, progress=progress)
    lengths = {len(row) for row in rows.values()}
    if len(lengths) > 1:  # what is kept is of before the provider changed its model
        kept.forget()
        raise EncoderError(f"{encoder.name} gave vectors of different lengths: {sorted(lengths)}. Run it again")
    return np.stack([rows[text] for text in texts])


def segment_data(
    documents: Sequence[StoredDocument], bridges: Sequence[Bridge], vectors: Sequence[NDArray[np.int8]]
) -> SegmentData:
    """Records with the vectors of their passages, facts, triples and bridging facts."""
    of_passages, of_facts, of_triples, of_bridges = vectors
    return SegmentData(list(documents), list(bridges), of_passages, of_facts, of_triples, of_bridges, normalise_name)
