"""LangChain: a retriever for chains, and a tool for agents. Needs the extra `langchain`.

>>> retriever = MiniragRetriever(index="notes.usearch", k=4)
>>> tool = MiniragTool(index="notes.usearch", model="openai/gpt-4o-mini")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from minirag.adapters.extras import missing

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        AsyncCallbackManagerForToolRun,
        CallbackManagerForRetrieverRun,
        CallbackManagerForToolRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import ArgsSchema, BaseTool, ToolException
except ImportError as error:
    raise missing("langchain", error) from error

from pydantic import BaseModel, Field, PrivateAttr

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
from minirag.adapters.telling import tell
from minirag.errors import MiniragError
from minirag.filtering import Where
from minirag.reading import OpenIndex
from minirag.records import Answer

_DESCRIPTION = (
    "Answers a question from the indexed documents, also one that takes several of them, and quotes the passages that "
    "say so. Ask one whole question, in plain words."
)


class MiniragRetriever(BaseRetriever):
    """Retrieves passages by one of minirag's strategies.

    Documents have the passage's id, the metadata of the document that it is from, and in their metadata also `title`,
    `document_id`, `passage_id`, `kind`, `start`, `end`, `source` (the document's id, unless its metadata has one) and
    `score`. `invoke(question, k=3)` overrides
    a field for one call, and `where=` narrows it. `langchain_core.load` takes it apart and puts it
    together; an open index then goes by its path and the name of its model, without the options of the model.

    Attributes:
        index: An open index, or the path of one: opened when first needed, and read at its newest commit.
        model: Another model than the index's; only `ircot`, and `kirag` unless `constructor=False`, call it.
        strategy: As for `minirag.ask`.
        k: How many documents at most; None for 5 passages, or for as much evidence as the strategy's reader sees.
        texts: "passages" gives whole passages as the strategy ranks them; "evidence" what `ask` would show to its
            reader, which for IndexRAG are facts and bridging facts.
        where: Only documents whose metadata pass: `{"tenant": "a", "year": {"$gte": 2000}}`; see `minirag.filtering`.
        options: Of the strategy, such as `{"constructor": False}`.
    """

    index: OpenIndex | str | Path
    model: str | None = None
    strategy: Strategy | None = None
    k: int | None = None
    texts: Texts = "passages"
    where: dict[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _source: Source = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401
        """Check the options."""
        super().model_post_init(context)
        self._source = Source(self.index, self.model)
        self._way()

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It is: a path and some options."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """What stands for the index elsewhere."""
        return self._source.describe(self.where)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        where: Where | None = None,
    ) -> list[Document]:
        return [_to_document(found) for found in find(query, self._source, self._way(k, where))]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        where: Where | None = None,
    ) -> list[Document]:
        return [_to_document(found) for found in await afind(query, self._source, self._way(k, where))]

    def _way(self, k: int | None = None, where: Where | None = None) -> Way:
        both = narrowed(self.where, where)
        return Way(self.strategy, self.k if k is None else k, self.texts, both, self.options)


class Question(BaseModel):
    """What the tool takes."""

    question: str = Field(description="One whole question, in plain words.")


class MiniragTool(BaseTool):
    """Answers questions: a tool for agents, and a runnable for chains.

    Gives the answer with the passages that it cites as text, and the `minirag.Answer` as the artifact of the tool's
    message. What goes wrong is a `ToolException`, which `handle_tool_error=True` shows to the agent.

    Attributes:
        index: As for the retriever.
        model: The model that answers; None for the index's.
        strategy: As for `minirag.ask`; likewise `k`, `where` and `options`.
    """

    name: str = "ask_documents"
    description: str = _DESCRIPTION
    args_schema: ArgsSchema | None = Question
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
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

    def _run(
        self,
        question: str,
        run_manager: CallbackManagerForToolRun | None = None,  # noqa: ARG002
    ) -> tuple[str, Answer]:
        try:
            answer, _ = answer_with_texts(question, self._source, self._way())
        except (MiniragError, ValueError) as error:
            raise ToolException(str(error)) from error
        return tell(answer), answer

    async def _arun(
        self,
        question: str,
        run_manager: AsyncCallbackManagerForToolRun | None = None,  # noqa: ARG002
    ) -> tuple[str, Answer]:
        try:
            answer, _ = await aanswer_with_texts(question, self._source, self._way())
        except (MiniragError, ValueError) as error:
            raise ToolException(str(error)) from error
        return tell(answer), answer

    def _way(self) -> Way:
        return Way(self.strategy, self.k, where=self.where, options=self.options)


def _to_document(found: Found) -> Document:
    named = found.metadata.get("document_id") or ", ".join(found.metadata["document_ids"])
    metadata = {"source": named, **found.metadata, "score": found.score}
    return Document(page_content=found.text, id=found.id, metadata=metadata)
