"""Providers' own protocols on loopback: what LiteLLM sends to each, and how each writes a reply and an error.

provider = PROVIDERS["anthropic"]
with provider.serve([refusal_to_answer_now, "honest"]) as server:
    llm = LLM(provider.model, api_base=provider.api_base(server), api_key="k")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minirag.evaluation.honest import honest_reply
from tests.loopback import Loopback, Request, Served

SENT, RECEIVED, CACHED = 100, 10, 40  # tokens that each reply claims; Ollama tells nothing of its cache


@dataclass(frozen=True)
class Provider:
    """One protocol.

    Attributes:
        model: A LiteLLM name that is served by it.
        prompt: The user's message of a request.
        reply: The body that carries a text, as the request wants it.
        error: The body that says why a status is not 200.
        key: The key that came with a request, "" if none.
        options: For `LLM`, besides address and key.
        cached: Tokens that each reply claims to have been cached.
    """

    model: str
    prompt: Callable[[Request], str]
    reply: Callable[[Request, str], dict[str, Any]]
    error: Callable[[int, str], dict[str, Any]]
    key: Callable[[Request], str]
    options: Mapping[str, Any] = field(default_factory=dict)
    cached: int = CACHED

    def honest(self, request: Request) -> Served:
        """Minirag's own prompts answered by rules."""
        text = json.dumps(honest_reply(self.prompt(request)), ensure_ascii=False)
        return self.serve(request, text)

    def serve(self, request: Request, text: str) -> Served:
        """A text as this provider sends it."""
        return Served(body=self.reply(request, text))

    def refuse(self, code: int, message: str, *, headers: Mapping[str, str] | None = None) -> Served:
        """A status as this provider explains it."""
        return Served(code=code, body=self.error(code, message), headers=headers or {})


def address(server: Loopback) -> str:
    """The server itself: these protocols bring their own paths."""
    return server.api_base.removesuffix("/v1")


def _content(request: Request) -> str:
    content = next(message["content"] for message in request.body["messages"] if message["role"] == "user")
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _of_anthropic(request: Request, text: str) -> dict[str, Any]:
    tools = request.body.get("tools", [])
    tool = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": json.loads(text)} if tools else None
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [tool or {"type": "text", "text": text}],
        "stop_reason": "tool_use" if tool else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": SENT - CACHED,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": CACHED,
            "output_tokens": RECEIVED,
        },
    }


def _of_gemini(request: Request, text: str) -> dict[str, Any]:
    functions = [f for tool in request.body.get("tools", []) for f in tool["function_declarations"]]
    part: dict[str, Any] = {"text": text}
    if functions:
        part = {"functionCall": {"name": functions[0]["name"], "args": json.loads(text)}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": SENT,
            "candidatesTokenCount": RECEIVED,
            "totalTokenCount": SENT + RECEIVED,
            "cachedContentTokenCount": CACHED,
        },
        "modelVersion": "gemini",
    }


def _of_azure(request: Request, text: str) -> dict[str, Any]:
    tools = request.body.get("tools")
    message: dict[str, Any] = {"role": "assistant", "content": None if tools else text}
    if tools:
        function = {"name": tools[0]["function"]["name"], "arguments": text}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o-mini-2024-07-18",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "content_filter_results": {}}],
        "usage": {
            "prompt_tokens": SENT,
            "completion_tokens": RECEIVED,
            "total_tokens": SENT + RECEIVED,
            "prompt_tokens_details": {"cached_tokens": CACHED},
        },
    }


def _of_ollama(request: Request, text: str) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": text}} if "messages" in request.body else {"response": text}
    return {
        "model": request.body["model"],
        "created_at": "2026-01-01T00:00:00Z",
        **said,
        "done": True,
        "done_reason": "stop",
        "total_duration": 1,
        "prompt_eval_count": SENT,
        "eval_count": RECEIVED,
    }


def _ollama_prompt(request: Request) -> str:
    """`/api/generate` has one text, into which LiteLLM writes the roles."""
    if "messages" in request.body:
        return _content(request)
    prompt = str(request.body["prompt"])
    return prompt[prompt.index('{"task"') :]


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


PROVIDERS = {
    "anthropic": Provider(
        "anthropic/claude-3-5-haiku-20241022",
        _content,
        _of_anthropic,
        lambda code, message: {
            "type": "error",
            "error": {"type": "authentication_error" if code == 401 else "rate_limit_error", "message": message},
        },
        lambda request: request.headers.get("x-api-key", ""),
    ),
    "gemini": Provider(
        "gemini/gemini-2.5-flash",
        lambda request: "".join(part["text"] for part in request.body["contents"][0]["parts"]),
        _of_gemini,
        lambda code, message: {"error": {"code": code, "message": message, "status": "UNAVAILABLE"}},
        lambda request: request.headers.get("x-goog-api-key", "") or request.path.partition("key=")[2],
    ),
    "azure": Provider(
        "azure/gpt-4o-mini",
        _content,
        _of_azure,
        lambda code, message: {"error": {"code": str(code), "message": message}},
        lambda request: request.headers.get("api-key", ""),
        {"api_version": "2024-10-21"},
    ),
    "ollama_chat": Provider(
        "ollama_chat/llama3.1", _content, _of_ollama, lambda _, message: {"error": message}, _bearer, cached=0
    ),
    "ollama": Provider(
        "ollama/llama3.1", _ollama_prompt, _of_ollama, lambda _, message: {"error": message}, _bearer, cached=0
    ),
}
