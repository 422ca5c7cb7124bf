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
from tests import provider_streams
from tests.loopback import Loopback, Request, Served

SENT, RECEIVED, CACHED = 100, 10, 40  # tokens that each reply claims; Ollama tells nothing of its cache


@dataclass(frozen=True)
class Provider:
    """One protocol.

    Attributes:
        model: A LiteLLM name that is served by it.
        prompt: The user's message of a request.
        reply: The body that carries a text, as the request wants it.
        stream: The same reply in pieces, as this provider streams it.
        run_out: A reply's body, changed to say that the model ran out of tokens.
        broken: The piece that tells of an error, "overloaded", after a stream has begun with status 200.
        error: The body that says why a status is not 200.
        key: The key that came with a request, "" if none.
        options: For `LLM`, besides address and key.
        cached: Tokens that each reply claims to have been cached.
        stream_type: The content type of streams.
    """

    model: str
    prompt: Callable[[Request], str]
    reply: Callable[[Request, str], dict[str, Any]]
    stream: Callable[[Request, str, Mapping[str, Any]], list[bytes]]
    run_out: Callable[[dict[str, Any]], dict[str, Any]]
    broken: bytes
    error: Callable[[int, str], dict[str, Any]]
    key: Callable[[Request], str]
    options: Mapping[str, Any] = field(default_factory=dict)
    cached: int = CACHED
    stream_type: str = "text/event-stream"

    def honest(self, request: Request) -> Served:
        """Minirag's own prompts answered by rules."""
        text = json.dumps(honest_reply(self.prompt(request)), ensure_ascii=False)
        return self.serve(request, text)

    def serve(self, request: Request, text: str) -> Served:
        """A text as this provider sends it, in pieces where they are asked for."""
        whole = self.reply(request, text)
        return self._streamed(request, text, whole) if is_streamed(request) else Served(body=whole)

    def cut_off(self, request: Request, text: str, *, after: int) -> Served:
        """The same in pieces, but the model ran out of tokens after so many characters."""
        return self._streamed(request, text[:after], self.run_out(self.reply(request, text)))

    def _streamed(self, request: Request, text: str, whole: Mapping[str, Any]) -> Served:
        return Served(pieces=self.stream(request, text, whole), headers={"Content-Type": self.stream_type})

    def refuse(self, code: int, message: str, *, headers: Mapping[str, str] | None = None) -> Served:
        """A status as this provider explains it."""
        return Served(code=code, body=self.error(code, message), headers=headers or {})


def address(server: Loopback) -> str:
    """The server itself: these protocols bring their own paths."""
    return server.api_base.removesuffix("/v1")


def is_streamed(request: Request) -> bool:
    """Whether a reply in pieces is asked for, in the body or, by Gemini and Bedrock, in the path."""
    return bool(request.body.get("stream")) or "stream" in request.path


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


def _of_bedrock(request: Request, text: str) -> dict[str, Any]:
    tools = request.body.get("toolConfig", {}).get("tools")
    part: dict[str, Any] = {"text": text}
    if tools:
        name = tools[0]["toolSpec"]["name"]
        part = {"toolUse": {"toolUseId": "tooluse_1", "name": name, "input": json.loads(text)}}
    return {
        "output": {"message": {"role": "assistant", "content": [part]}},
        "stopReason": "tool_use" if tools else "end_turn",
        "usage": {
            "inputTokens": SENT - CACHED,
            "outputTokens": RECEIVED,
            "totalTokens": SENT + RECEIVED,
            "cacheReadInputTokens": CACHED,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 1},
    }


def _of_ollama(request: Request, text: str) -> dict[str, Any]:
    return {
        "model": request.body["model"],
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": True,
        "done_reason": "stop",
        "total_duration": 1,
        "prompt_eval_count": SENT,
        "eval_count": RECEIVED,
    }


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


PROVIDERS = {
    "anthropic": Provider(
        "anthropic/claude-3-5-haiku-20241022",
        _content,
        _of_anthropic,
        provider_streams.of_anthropic,
        lambda reply: {**reply, "stop_reason": "max_tokens"},
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}\n\n',
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
        provider_streams.of_gemini,
        lambda reply: {**reply, "candidates": [{**reply["candidates"][0], "finishReason": "MAX_TOKENS"}]},
        b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\r\n\r\n',
        lambda code, message: {"error": {"code": code, "message": message, "status": "UNAVAILABLE"}},
        lambda request: request.headers.get("x-goog-api-key", "") or request.path.partition("key=")[2],
    ),
    "azure": Provider(
        "azure/gpt-4o-mini",
        _content,
        _of_azure,
        provider_streams.of_azure,
        lambda reply: {**reply, "choices": [{**reply["choices"][0], "finish_reason": "length"}]},
        b'data: {"error": {"code": "500", "message": "overloaded"}}\n\n',
        lambda code, message: {"error": {"code": str(code), "message": message}},
        lambda request: request.headers.get("api-key", ""),
        {"api_version": "2024-10-21"},
    ),
    "bedrock": Provider(
        "bedrock/anthropic.claude-3-5-haiku-20241022-v1:0",
        _content,
        _of_bedrock,
        provider_streams.of_bedrock,
        lambda reply: {**reply, "stopReason": "max_tokens"},
        provider_streams.amazon_event("throttlingException", {"message": "overloaded"}, kind="exception"),
        lambda _, message: {"message": message},
        _bearer,
        {"aws_region_name": "eu-west-1"},
        stream_type="application/vnd.amazon.eventstream",
    ),
    "ollama_chat": Provider(
        "ollama_chat/llama3.1",
        _content,
        _of_ollama,
        provider_streams.of_ollama,
        lambda reply: {**reply, "done_reason": "length"},
        b'{"error": "the model runner is overloaded"}\n',
        lambda _, message: {"error": message},
        _bearer,
        cached=0,
        stream_type="application/x-ndjson",
    ),
    "ollama": Provider(
        "ollama/llama3.1",
        _content,
        _of_ollama,
        provider_streams.of_ollama,
        lambda reply: {**reply, "done_reason": "length"},
        b'{"error": "the model runner is overloaded"}\n',
        lambda _, message: {"error": message},
        _bearer,
        cached=0,
        stream_type="application/x-ndjson",
    ),
}
