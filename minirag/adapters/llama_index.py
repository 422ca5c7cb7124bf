"""LlamaIndex: a retriever and a query engine. Needs the extra `llama-index`.

>>> retriever = MiniragRetriever("notes.usearch", k=4)
>>> engine = MiniragQueryEngine(index="notes.usearch", model="openai/gpt-4o-mini")
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from minirag.adapters.extras import missing

try:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores import MetadataFilters
except ImportError as error:
    raise missing("llama-index", error) from error

from pydantic import Field, PrivateAttr

from minirag.adapters.filters import from_llama_index
from minirag.adapters.finding import (
    Found,
    Source,
    Strategy,
    Texts,
    Way,
    aanswer_with_texts,
    afind,
    answer_with_texts,
    find,
    narrowed,
)
from minirag.filtering import Where
from minirag.reading import OpenIndex
from minirag.records import Answer

# An LLM gets title and text; where they are from is for programs.
_TECHNICAL = ("kind", "document_id", "passage_id", "document_ids", "passage_ids", "titles", "start", "end")


class MiniragRetriever(BaseRetriever):
    """Retrieves passages by one of minirag's strategies.

    Nodes have the passage's id, its score, the metadata of its document with `title`, `document_id`, `passage_id` and
    `kind`, its place in the document, and the document as their source (`node.ref_doc_id`). Of minirag's metadata only
    the title is shown to an LLM.
    """

    def __init__(
        self,
        index: OpenIndex | str | PathLike[str],
        *,
        model: str | None = None,
        strategy: Strategy | None = None,
        k: int | None = None,
        texts: Texts = "passages",
        where: Where | None = None,
        filters: MetadataFilters | None = None,
        options: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        """Choose where and how; nothing is opened yet.

        Args:
            index: An open index, or the path of one: opened when first needed, and read at its newest commit.
            model: Another model than the index's; only `ircot`, and `kirag` unless `constructor=False`, call it.
            strategy: As for `minirag.ask`.
            k: How many nodes at most; None for 5 passages, or for as much evidence as the strategy's reader sees.
            texts: "passages" gives whole passages as the strategy ranks them; "evidence" what `ask` would show to its
                reader, which for IndexRAG are facts and bridging facts.
            where: Only documents whose metadata pass: `{"tenant": "a", "year": {"$gte": 2000}}`; see
                `minirag.filtering`.
            filters: The same in LlamaIndex's language; where both are given, both must pass.
            options: Of the strategy, such as `{"constructor": False}`.
            callback_manager: LlamaIndex's.
            verbose: Likewise.

        Raises:
            ValueError: On a k below 1, unknown texts, a malformed filter, or a strategy or option that is not there.
        """
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._source = Source(index, model)
        self._way = Way(strategy, k, texts, narrowed(where, from_llama_index(filters)), dict(options or {}))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_to_node(found) for found in find(query_bundle.query_str, self._source, self._way)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_to_node(found) for found in await afind(query_bundle.query_str, self._source, self._way)]


class MiniragQueryEngine(CustomQueryEngine):
    """Answers questions by minirag's own reader.

    The response has the cited passages as its source nodes, in the order of their numbers, and `found`, `model`,
    `strategy` and `usage` as its metadata.

    Attributes:
        index: As for the retriever.
        model: The model that answers; None for the index's.
        strategy: As for `minirag.ask`; likewise `k`, `where` and `options`.
    """

    index: OpenIndex | str | Path
    model: str | None = None
    strategy: Strategy | None = None
    k: int | None = None
    where: dict[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _source: Source = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401
        """Check the options."""
        super().model_post_init(context)
        self._source = Source(self.index, self.model)
        self._way()

    def custom_query(self, query_str: str) -> Response:
        """Answer; errors as for `minirag.ask`."""
        return _to_response(*answer_with_texts(query_str, self._source, self._way()))

    async def acustom_query(self, query_str: str) -> Response:
        """`custom_query`, to be awaited."""
        return _to_response(*await aanswer_with_texts(query_str, self._source, self._way()))

    def _way(self) -> Way:
        return Way(self.strategy, self.k, where=self.where, options=self.options)


def _to_response(answer: Answer, cited: list[Found]) -> Response:
    about = {"found": answer.found, "model": answer.model, "strategy": answer.strategy, "usage": answer.usage.to_dict()}
    return Response(answer.text, source_nodes=[_to_node(found) for found in cited], metadata=about)


def _to_node(found: Found) -> NodeWithScore:
    document = found.metadata.get("document_id")
    node = TextNode(
        id_=found.id,
        text=found.text,
        metadata=found.metadata,
        excluded_llm_metadata_keys=list(_TECHNICAL),
        excluded_embed_metadata_keys=list(_TECHNICAL),
        relationships={} if document is None else {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
        start_char_idx=found.metadata.get("start"),
        end_char_idx=found.metadata.get("end"),
    )
    return NodeWithScore(node=node, score=found.score)
