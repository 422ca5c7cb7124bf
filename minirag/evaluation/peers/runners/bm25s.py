"""bm25s: words, stemmed, in memory and saved."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import Stemmer

from minirag.evaluation.peers.runners import Setup, Ways, titled
from minirag.records import Document


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """Index and save."""
    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25(corpus=[document.id for document in documents])
    texts = [titled(document) for document in documents]
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    retriever.save(str(setup.folder))

    def retrieve(question: str, k: int) -> list[str]:
        words = bm25s.tokenize(question, stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = retriever.retrieve(words, k=min(k, len(documents)), show_progress=False)
        return [str(document_id) for document_id in found[0]]

    return {"": retrieve}
