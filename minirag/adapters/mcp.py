"""An MCP server over one index, for agents: `minirag mcp notes.usearch`. Needs the extra `mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from typing import Annotated, Any

from minirag.adapters.extras import missing

try:
    from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
    from mcp_types import CallToolResult, TextContent, ToolAnnotations
except ImportError as error:
    raise missing("mcp", error) from error

from pydantic import Field

from minirag.adapters.finding import Way
from minirag.adapters.mcp_results import AddResult, AskResult, DocumentList, DocumentName, DocumentText, SearchResult
from minirag.adapters.telling import tell
from minirag.answering import aask, aretrieve
from minirag.errors import MiniragError
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.reading import OpenIndex
from minirag.records import Document, Kind

_BEAT = 5.0  # seconds: agents give up on a tool that says nothing for half a minute or longer
_INSTRUCTIONS = (
    "Answers from an index of documents{about}. For a question, call ask: it finds answers that take several documents "
    "and cites the passages. To reason over the evidence yourself, call search, and read_document for a whole document."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
_Where = Annotated[
    dict[str, Any] | None,
    Field(
        description='Only documents whose metadata pass: {"year": {"$gte": 2000}, "tenant": "a"}. Operators: $eq $ne '
        "$in $nin $gt $gte $lt $lte $contains $exists, and $and $or $not around them."
    ),
]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to be added."""

    text: Annotated[str, Field(description="Plain text of any length.")]
    title: Annotated[str, Field(description="What the text is about; facts are resolved with it.")] = ""
    id: Annotated[
        str | None,
        Field(description="The same id again replaces the document. Without one it is named by its content."),
    ] = None
    metadata: Annotated[dict[str, Any] | None, Field(description="JSON values to keep with it.")] = None


def build_server(
    index: Index, *, way: Way | None = None, writable: bool = False, about: str = "", version: str = ""
) -> MCPServer:
    """A server that offers what an index can do; `run()` it.

    Args:
        index: Open; it is refreshed before each call, so that what others commit is seen.
        way: How `ask` retrieves. Its filter holds for all that is read: the other documents are not there.
        writable: Whether to offer `add`, too; the index must then be open for writing, and nothing be filtered.
        about: What the documents are, for agents to choose by: "minutes of the board, 2019 to 2024".
        version: Of the server.

    Raises:
        ValueError: If it were to write what it must not see.
    """
    if writable and way is not None and way.where:
        raise ValueError("a filtered server cannot be writable: it could replace documents that it must not see")
    described = _INSTRUCTIONS.format(about=f": {about}" if about else "")
    server = MCPServer("minirag", title="minirag", instructions=described, version=version, log_level="WARNING")
    tools = _Tools(index, way or Way())
    for tool, title in (
        (tools.ask, "Ask the documents"),
        (tools.search, "Search the documents"),
        (tools.list_documents, "List the documents"),
        (tools.read_document, "Read a document"),
    ):
        server.add_tool(tool, title=title, description=_described(tool.__doc__, about), annotations=_READS)
    if writable:
        server.add_tool(tools.add, title="Add documents", annotations=_ADDS)
    server.resource(
        "minirag://documents/{+document_id}",
        name="document",
        description="The text of a document by its id.",
        mime_type="text/plain",
        security=ResourceSecurity(exempt_params={"document_id"}),  # ids may look like paths; none is opened
    )(tools.text_of)
    return server


def _described(text: str | None, about: str) -> str:
    return f"{text}\n\nThe documents: {about}" if about else str(text)


class _Tools:
    """The tools; what stands in their docstrings is what agents are told."""

    def __init__(self, index: Index, way: Way) -> None:
        self._index, self._way = index, way
        self._seen = index.filtered(way.where)

    async def ask(
        self,
        question: Annotated[str, Field(description="One whole question, in plain words.")],
        context: Context,
        where: _Where = None,
    ) -> Annotated[CallToolResult, AskResult]:
        """Answer a question from the documents, also one that takes several of them, and cite the passages."""
        with _told():
            await self._refresh()
            async with _beating(context, "answering"):
                answer = await aask(question, self._seen, where=where, **self._way.arguments)
        return _result(AskResult.of(answer), tell(answer))

    async def search(
        self,
        query: Annotated[str, Field(description="A question, or words to look for.")],
        k: Annotated[int, Field(description="How many hits at most.", ge=1, le=100)] = 5,
        kinds: Annotated[
            list[Kind] | None,
            Field(
                description="What to search for: whole passages; single facts; bridging facts, which join what several "
                "documents say of one name; triples. Without it: passages, also those that shared names lead to."
            ),
        ] = None,
        where: _Where = None,
    ) -> Annotated[CallToolResult, SearchResult]:
        """Find passages or facts in the documents, without any model. Gives their texts and the documents' ids."""
        with _told():
            await self._refresh()
            if kinds:
                hits = await asyncio.to_thread(self._seen.search, query, k=k, kinds=kinds, where=where)
            else:
                found = await aretrieve(query, self._seen, strategy="kirag", k=k, model=OFFLINE, where=where)
                hits = list(found.hits)
        return _result(SearchResult(hits=tuple(hits)))

    async def list_documents(
        self,
        containing: Annotated[str, Field(description="Only those whose id or title holds this text.")] = "",
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
    ) -> Annotated[CallToolResult, DocumentList]:
        """List the ids and titles of the documents, a page at a time."""
        with _told():
            await self._refresh()
            names = await asyncio.to_thread(_names, self._seen, containing)
        end = offset + limit
        rest = end if end < len(names) else None
        return _result(DocumentList(documents=tuple(names[offset:end]), total=len(names), next_offset=rest))

    async def read_document(
        self,
        document_id: Annotated[str, Field(description="As search, ask and list_documents give it.")],
        offset: Annotated[int, Field(description="The first character.", ge=0)] = 0,
        limit: Annotated[int, Field(description="How many characters at most.", ge=1)] = 20_000,
    ) -> Annotated[CallToolResult, DocumentText]:
        """Read the text of a document, with its title and metadata."""
        with _told():
            await self._refresh()
            document = await asyncio.to_thread(_document, self._seen, document_id)
            if document is None:
                raise ToolError(f"there is no document {document_id!r}; list_documents gives the ids")
        return _result(DocumentText.of(document, offset=offset, limit=limit))

    async def add(
        self,
        documents: Annotated[list[NewDocument], Field(description="The documents, with their texts.")],
        context: Context,
    ) -> Annotated[CallToolResult, AddResult]:
        """Add documents to the index, so that they can be searched and asked at once.

        A document with the id of another replaces it.
        """
        with _told():
            progress = _Forwarding(context)
            try:
                report = await self._index.aadd([_record(document) for document in documents], progress=progress)
            finally:
                await progress.flush()
        return _result(AddResult.of(report))

    async def text_of(self, document_id: str) -> str:
        """A document as a resource."""
        await self._refresh()
        document = await asyncio.to_thread(_document, self._seen, document_id)
        if document is None:
            raise ResourceNotFoundError(f"there is no document {document_id!r}")
        return document.text

    async def _refresh(self) -> None:
        await asyncio.to_thread(self._index.refresh)


def _result(
    result: SearchResult | AskResult | DocumentList | DocumentText | AddResult, text: str | None = None
) -> CallToolResult:
    """For programs the record, for models its text."""
    shown = TextContent(type="text", text=str(result) if text is None else text)
    return CallToolResult(content=[shown], structured_content=result.model_dump(mode="json"))


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong is for the agent to read, in one message."""
    try:
        yield
    except (MiniragError, ValueError) as error:
        raise ToolError(str(error)) from error


def _names(index: OpenIndex, containing: str) -> list[DocumentName]:
    wanted = containing.casefold()
    names = [DocumentName(id=name, title=title) for name, title in index.document_titles().items()]
    return [name for name in names if wanted in name.id.casefold() or wanted in name.title.casefold()]


def _document(index: OpenIndex, document_id: str) -> Document | None:
    try:
        return index.document(document_id)
    except KeyError:
        return None


def _record(document: NewDocument) -> dict[str, Any]:
    """As a mapping, whose text is never taken for a path."""
    return {name: value for name, value in asdict(document).items() if value is not None}


# --- progress ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _beating(context: Context, message: str) -> AsyncIterator[None]:
    """Say now and then that work goes on: nobody knows how long a model takes."""

    async def beat() -> None:
        for number in count():
            await context.report_progress(number, message=message)
            await asyncio.sleep(_BEAT)

    beats = asyncio.create_task(beat())
    try:
        await asyncio.sleep(0)
        yield
    finally:
        beats.cancel()


class _Forwarding:
    """A listener for `Index.add`, on whichever thread it is told, that tells the agent."""

    def __init__(self, context: Context) -> None:
        self._context, self._loop = context, asyncio.get_running_loop()
        self._sent = 0
        self._sending: list[Future[None]] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        message = f"{stage}: {done:,} of {total:,}"
        self._sending.append(asyncio.run_coroutine_threadsafe(self._send(message), self._loop))

    async def flush(self) -> None:
        """Wait until all is said, as nothing may be said after the result."""
        await asyncio.gather(*map(asyncio.wrap_future, self._sending))

    async def _send(self, message: str) -> None:
        self._sent += 1
        await self._context.report_progress(self._sent, message=message)
