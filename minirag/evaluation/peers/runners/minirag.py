"""minirag itself, as a user calls it."""

from __future__ import annotations

from collections.abc import Sequence

from minirag.answering import retrieve as retrieve_evidence
from minirag.evaluation.peers.runners import MODEL, Retrieve, Setup, Ways
from minirag.index import Index
from minirag.records import Document

_STRATEGIES = ("naive", "indexrag", "kirag")


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """One index file: by rules, or by the LLM where there is one."""
    path, encoder = setup.folder / "index.usearch", setup.encoder
    if setup.api_base:
        index = Index(path, model=f"openai/{MODEL}", encoder=encoder, api_base=setup.api_base, api_key="none")
    else:
        index = Index(path, model="offline", encoder=encoder)
    index.add(documents, progress=False)
    return {strategy: _retrieve_by(strategy, index) for strategy in _STRATEGIES}


def _retrieve_by(strategy: str, index: Index) -> Retrieve:
    def retrieve(question: str, k: int) -> list[str]:
        ranking = retrieve_evidence(question, index, strategy=strategy).ranking
        found = dict.fromkeys(index.passage(passage_id).document_id for passage_id, _ in ranking)
        return list(found)[:k]

    return retrieve
