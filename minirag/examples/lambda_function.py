"""An AWS Lambda function that answers from an index which lies beside it; `build_lambda.py` packs the two.

MINIRAG_MODEL names the model, `openai/…` or one of an OpenAI-compatible server (OPENAI_BASE_URL): LiteLLM is not in the
package. Give the function 1,024 MB or more: processor time comes with memory.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from minirag import Index, MiniragError, ask


@cache
def opened() -> Index:
    """Once per instance; opening maps the file without reading it, and nothing is written."""
    path = os.environ.get("MINIRAG_INDEX") or Path(__file__).with_name("notes.usearch")
    return Index(path, mode="r", model=os.environ.get("MINIRAG_MODEL", "offline"))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001  Lambda gives it
    """Answer `{"question": …}`: the event itself, or the body of a request through a function URL or API Gateway."""
    try:
        asked = json.loads(event["body"]) if "body" in event else event
        question = asked["question"]
    except (KeyError, TypeError, ValueError):
        return reply(400, {"error": 'send {"question": "…"}'})
    try:
        answer = ask(question, opened())
    except ValueError as error:
        return reply(400, {"error": str(error)})
    except MiniragError as error:
        return reply(502, {"error": str(error)})
    sources = [[citation.document_id, citation.location] for citation in answer.citations]
    return reply(200, {"answer": answer.text, "found": answer.found, "sources": sources})


def reply(status: int, body: dict[str, Any]) -> dict[str, Any]:
    """What API Gateway and function URLs take."""
    content = json.dumps(body, ensure_ascii=False)
    return {"statusCode": status, "headers": {"content-type": "application/json; charset=utf-8"}, "body": content}
