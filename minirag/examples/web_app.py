"""A web service that answers from an index, streaming.

MINIRAG_INDEX=notes.usearch MINIRAG_MODEL=openai/gpt-4o-mini uvicorn minirag.examples.web_app:app
curl -N 'http://127.0.0.1:8000/ask?question=Where+was+the+director+of+Aylwin+born%3F'

It needs `pip install "minirag[examples]"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from minirag import Index, MiniragError, astream

Question = Annotated[str, Query(min_length=1, max_length=1_000)]


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[None]:
    """One index for all requests: reading is safe from any number of threads and tasks."""
    with Index(os.environ["MINIRAG_INDEX"], mode="r", model=os.environ.get("MINIRAG_MODEL", "offline")) as index:
        app.state.index = index
        yield


app = FastAPI(title="minirag", lifespan=opened)


@app.get("/ask")
async def answer(question: Question, request: Request) -> StreamingResponse:
    """Server-sent events: `text` for each piece of the answer, then `answer` with all of it, or `error`."""
    if not question.strip():
        raise HTTPException(422, "the question is blank")
    return StreamingResponse(events(question, request.app.state.index), media_type="text/event-stream")


@app.get("/search")
def search(question: Question, request: Request, k: Annotated[int, Query(ge=1, le=100)] = 10) -> list[dict[str, Any]]:
    """What is most similar, without any model."""
    hits = request.app.state.index.search(question, k=k)
    return [{"text": hit.text, "score": hit.score, "documents": hit.document_ids} for hit in hits]


async def events(question: str, index: Index) -> AsyncIterator[str]:
    """The answer as it comes. The newest commit of the file is read, so another process may index meanwhile."""
    try:
        index.refresh()
        async with astream(question, index) as pieces:
            async for piece in pieces:
                yield event("text", piece)
    except MiniragError as error:
        yield event("error", str(error))
        return
    found = pieces.answer
    sources = [
        {"document": citation.document_id, "title": citation.title, "location": citation.location}
        for citation in found.citations
    ]
    yield event("answer", {"text": found.text, "found": found.found, "sources": sources, "cost": found.usage.cost})


def event(name: str, data: object) -> str:
    """One server-sent event: JSON has no line breaks, which would end it."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
