"""chromadb: a persistent collection, with minirag's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import chromadb
from chromadb.config import Settings

from minirag.evaluation.peers.runners import Setup, Ways, titled
from minirag.records import Document


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """One collection of vectors and texts."""
    client = chromadb.PersistentClient(str(setup.folder), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("passages", embedding_function=None)
    batch = client.get_max_batch_size()
    for start in range(0, len(documents), batch):
        part = documents[start : start + batch]
        collection.add(
            ids=[document.id for document in part],
            embeddings=setup.encode(part).tolist(),
            documents=[titled(document) for document in part],
        )

    def retrieve(question: str, k: int) -> list[str]:
        found = collection.query(query_embeddings=[setup.encode_question(question).tolist()], n_results=k)
        return list(found["ids"][0])

    return {"": retrieve}
