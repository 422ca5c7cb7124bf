"""LightRAG: its Python API, with its default storages in files, and its default way of retrieving."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar

from lightrag import LightRAG, QueryParam
from lightrag.llm.openai import openai_complete_if_cache
from lightrag.utils import EmbeddingFunc, Tokenizer

from minirag.evaluation.peers.runners import MODEL, Setup, Ways, titled
from minirag.records import Document

T = TypeVar("T")


class FourLetters:
    """Four letters make a token: the tokenizer that LightRAG takes by default would be downloaded."""

    def __init__(self) -> None:
        """No token is known yet."""
        self._pieces: list[str] = []
        self._numbers: dict[str, int] = {}

    def __deepcopy__(self, memo: object) -> Self:
        """The same: what one has encoded, a copy could not decode."""
        return self

    def encode(self, content: str) -> list[int]:
        """Numbers of the pieces, new ones kept."""
        return [self._number(content[start : start + 4]) for start in range(0, len(content), 4)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The pieces again."""
        return "".join(self._pieces[token] for token in tokens)

    def _number(self, piece: str) -> int:
        if piece not in self._numbers:
            self._pieces.append(piece)
            self._numbers[piece] = len(self._pieces) - 1
        return self._numbers[piece]


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """Insert all documents."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def run(coroutine: Coroutine[Any, Any, T]) -> T:
        return loop.run_until_complete(coroutine)

    async def complete(prompt: str, **options: Any) -> str:  # noqa: ANN401
        answer = await openai_complete_if_cache(MODEL, prompt, base_url=setup.api_base, api_key="none", **options)
        return str(answer)

    async def embed(texts: list[str]) -> Any:  # noqa: ANN401
        return setup.encoder.encode(texts)

    dimensions, length = setup.encoder.dimensions, setup.encoder.max_tokens
    rag = LightRAG(
        working_dir=str(setup.folder),
        llm_model_func=complete,
        llm_model_name=MODEL,
        embedding_func=EmbeddingFunc(embedding_dim=dimensions, max_token_size=length, func=embed),
        tokenizer=Tokenizer(MODEL, FourLetters()),
    )
    run(rag.initialize_storages())
    ids = [document.id for document in documents]
    run(rag.ainsert([titled(document) for document in documents], ids=ids, file_paths=ids))

    def retrieve(question: str, k: int) -> list[str]:
        found = run(rag.aquery_data(question, QueryParam(mode="mix", chunk_top_k=k, enable_rerank=False)))
        chunks = found.get("data", {}).get("chunks", [])
        return list(dict.fromkeys(chunk["file_path"] for chunk in chunks))[:k]

    return {"mix": retrieve}
