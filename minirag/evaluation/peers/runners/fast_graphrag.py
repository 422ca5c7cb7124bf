"""fast-graphrag: its Python API with its defaults, but ten passages where it would keep eight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fast_graphrag import GraphRAG, QueryParam
from fast_graphrag._llm import OpenAILLMService
from fast_graphrag._llm._base import BaseEmbeddingService
from fast_graphrag._policies._ranking import RankingPolicy_TopK

from minirag.encoder import OnnxEncoder
from minirag.evaluation.peers.runners import MODEL, Setup, Ways, titled
from minirag.records import Document

_PASSAGES = 10


@dataclass
class SharedEncoder(BaseEmbeddingService):
    """minirag's encoder in fast-graphrag's form."""

    onnx: OnnxEncoder | None = None

    async def encode(self, texts: list[str], model: str | None = None) -> Any:  # noqa: ANN401, ARG002
        """Vectors in the order of the texts."""
        onnx = self.onnx or OnnxEncoder()
        return onnx.encode(texts)


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """Insert all documents."""
    rag = GraphRAG(
        working_dir=str(setup.folder),
        domain="Find who and what the documents are about, and how they are related.",
        example_queries="Where was the director of the film born?\nWhich of the two was founded first?",
        entity_types=["person", "place", "organization", "work", "event"],
        config=GraphRAG.Config(
            llm_service=OpenAILLMService(model=MODEL, base_url=setup.api_base, api_key="none"),
            embedding_service=SharedEncoder(embedding_dim=setup.encoder.dimensions, onnx=setup.encoder),
            chunk_ranking_policy=RankingPolicy_TopK(RankingPolicy_TopK.Config(top_k=_PASSAGES)),
        ),
    )
    metadata = [{"id": document.id} for document in documents]
    rag.insert([titled(document) for document in documents], metadata=metadata, show_progress=False)

    def retrieve(question: str, k: int) -> list[str]:
        chunks = rag.query(question, QueryParam(only_context=True)).context.chunks
        return list(dict.fromkeys(chunk.metadata["id"] for chunk, _ in chunks))[:k]

    return {"": retrieve}
