"""nano-graphrag: its Python API with its defaults, and its local search."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import tiktoken
import tiktoken.registry

from minirag.evaluation.peers.runners import Setup, Ways, titled
from minirag.records import Document

_BYTES_PER_TOKEN = 4
_SOURCES = re.compile(r"-----Sources-----\s*```csv\n(.*)\n```", flags=re.DOTALL)


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """Insert all documents."""
    os.environ["OPENAI_BASE_URL"] = setup.api_base
    _count_bytes()
    from nano_graphrag import GraphRAG, QueryParam
    from nano_graphrag._utils import wrap_embedding_func_with_attrs

    @wrap_embedding_func_with_attrs(embedding_dim=setup.encoder.dimensions, max_token_size=setup.encoder.max_tokens)
    async def embed(texts: list[str]) -> Any:  # noqa: ANN401
        return setup.encoder.encode(texts)

    rag = GraphRAG(
        working_dir=str(setup.folder),
        embedding_func=embed,
        chunk_token_size=1200 * _BYTES_PER_TOKEN,
        chunk_overlap_token_size=100 * _BYTES_PER_TOKEN,
        entity_summary_to_max_tokens=500 * _BYTES_PER_TOKEN,
        best_model_max_token_size=32768 * _BYTES_PER_TOKEN,
    )
    rag.insert([titled(document) for document in documents])
    param = QueryParam(
        mode="local",
        only_need_context=True,
        local_max_token_for_text_unit=4000 * _BYTES_PER_TOKEN,
        local_max_token_for_local_context=4800 * _BYTES_PER_TOKEN,
        local_max_token_for_community_report=3200 * _BYTES_PER_TOKEN,
    )

    def retrieve(question: str, k: int) -> list[str]:
        sources = _SOURCES.search(rag.query(question, param) or "")
        return _in_order(sources[1] if sources else "", documents)[:k]

    return {"local": retrieve}


def _in_order(sources: str, documents: Sequence[Document]) -> list[str]:
    """The documents whose texts stand in what was retrieved, in its order; it names them by nothing else."""
    places = {document.id: sources.find(titled(document).strip().strip("'\"")) for document in documents}
    return sorted((found for found, place in places.items() if place >= 0), key=lambda found: places[found])


def _count_bytes() -> None:
    """Let a byte be a token, with limits four times as large: the encoding that it takes would be downloaded."""
    of_bytes = {bytes([number]): number for number in range(256)}
    encoding = tiktoken.Encoding("o200k_base", pat_str=r"(?s:.)", mergeable_ranks=of_bytes, special_tokens={})
    tiktoken.registry.ENCODINGS["o200k_base"] = encoding
