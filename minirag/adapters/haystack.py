"""Haystack: a retriever and an answering component. Needs the extra `haystack`.

>>> pipeline.add_component("retriever", MiniragRetriever("notes.usearch", top_k=4))
>>> pipeline.add_component("answerer", MiniragAnswerer("notes.usearch", model="openai/gpt-4o-mini"))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Self

from minirag.adapters.extras import missing

try:
    from haystack import Document, GeneratedAnswer, component, default_from_dict, default_to_dict
except ImportError as error:
    raise missing("haystack", error) from error

from minirag.adapters.filters import from_haystack
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


@component
class MiniragRetriever:
    """Retrieves passages by one of minirag's strategies.

    Documents have the passage's id, its score, and as meta the metadata of the document that it is from with `title`,
    `document_id`, `passage_id`, `kind`, `start` and `end`. Pipelines that are saved hold the path of the index and the
    name of its model, not the options of the model; `Pipeline.load(..., allowed_modules=["minirag.adapters.haystack"])`
    loads them.
    """

    def __init__(
        self,
        index: OpenIndex | str | PathLike[str],
        *,
        model: str | None = None,
        strategy: Strategy | None = None,
        top_k: int | None = None,
        texts: Texts = "passages",
        where: Where | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Choose where and how.

        Args:
            index: An open index, or the path of one: opened when first needed, and read at its newest commit.
            model: Another model than the index's; only `ircot`, and `kirag` unless `constructor=False`, call it.
            strategy: As for `minirag.ask`.
            top_k: How many documents at most; None for 5 passages, or for as much evidence as the strategy's reader
                sees.
            texts: "passages" gives whole passages as the strategy ranks them; "evidence" what `ask` would show to its
                reader, which for IndexRAG are facts and bridging facts.
            where: Only documents whose metadata pass: `{"tenant": "a", "year": {"$gte": 2000}}`; see
                `minirag.filtering`.
            options: Of the strategy, such as `{"constructor": False}`.

        Raises:
            ValueError: On a top_k below 1, unknown texts, a malformed filter, or a strategy or option that is unknown.
        """
        self._source = Source(index, model)
        self._way = Way(strategy, top_k, texts, where, dict(options or {}))

    def warm_up(self) -> None:
        """Open the index, which the first question does otherwise."""
        self._source.open()

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve.

        Args:
            query: The question.
            filters: For this call, in Haystack's language; they narrow the component's `where`.
            top_k: For this call, instead of the component's own.

        Returns:
            `documents`, best first.
        """
        way = _narrowed(self._way, filters, top_k)
        return {"documents": [_to_document(found) for found in find(query, self._source, way)]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """`run`, to be awaited."""
        way = _narrowed(self._way, filters, top_k)
        return {"documents": [_to_document(found) for found in await afind(query, self._source, way)]}

    def to_dict(self) -> dict[str, Any]:
        """What the same component is made from elsewhere."""
        return _save(self, self._source, self._way, texts=self._way.texts)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that `to_dict` describes."""
        loaded: Self = default_from_dict(cls, data)
        return loaded


@component
class MiniragAnswerer:
    """Answers questions by minirag's own reader: retrieval, prompt and generator in one.

    The answer's documents are the passages that it cites, in the order of their numbers; its meta are `found`,
    `model`, `strategy` and `usage`.
    """

    def __init__(
        self,
        index: OpenIndex | str | PathLike[str],
        *,
        model: str | None = None,
        strategy: Strategy | None = None,
        top_k: int | None = None,
        where: Where | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Choose where and how.

        Args:
            index: As for the retriever.
            model: The model that answers; None for the index's.
            strategy: As for `minirag.ask`.
            top_k: How much evidence the reader sees; None for the strategy's own, 10 facts or 5 passages.
            where: As for the retriever.
            options: Of the strategy.

        Raises:
            ValueError: On a top_k below 1, or a strategy or option that is not there.
        """
        self._source = Source(index, model)
        self._way = Way(strategy, top_k, where=where, options=dict(options or {}))

    def warm_up(self) -> None:
        """Open the index, which the first question does otherwise."""
        self._source.open()

    @component.output_types(answers=list[GeneratedAnswer], replies=list[str])
    def run(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer.

        Args:
            query: The question.
            filters: For this call, in Haystack's language; they narrow the component's `where`.

        Returns:
            `answers` with the one answer, and `replies` with its text, as generators give it.
        """
        return _to_outputs(*answer_with_texts(query, self._source, _narrowed(self._way, filters)))

    @component.output_types(answers=list[GeneratedAnswer], replies=list[str])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        """`run`, to be awaited."""
        return _to_outputs(*await aanswer_with_texts(query, self._source, _narrowed(self._way, filters)))

    def to_dict(self) -> dict[str, Any]:
        """What the same component is made from elsewhere."""
        return _save(self, self._source, self._way)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that `to_dict` describes."""
        loaded: Self = default_from_dict(cls, data)
        return loaded


def _narrowed(way: Way, filters: Mapping[str, Any] | None, top_k: int | None = None) -> Way:
    return replace(way, k=way.k if top_k is None else top_k, where=narrowed(way.where, from_haystack(filters)))


def _save(built: object, source: Source, way: Way, **more: object) -> dict[str, Any]:
    chosen = {"strategy": way.strategy, "top_k": way.k, "options": dict(way.options)}
    saved: dict[str, Any] = default_to_dict(built, **source.describe(way.where), **chosen, **more)
    return saved


def _to_outputs(answer: Answer, cited: list[Found]) -> dict[str, Any]:
    about = {"found": answer.found, "model": answer.model, "strategy": answer.strategy, "usage": answer.usage.to_dict()}
    documents = [_to_document(found) for found in cited]
    given = GeneratedAnswer(data=answer.text, query=answer.question, documents=documents, meta=about)
    return {"answers": [given], "replies": [answer.text]}


def _to_document(found: Found) -> Document:
    return Document(id=found.id, content=found.text, score=found.score, meta=found.metadata)
