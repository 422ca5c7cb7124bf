"""How providers stream in protocols of their own: a text in pieces, how it ended, and what it took."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

from minirag.evaluation.event_streams import completion_events
from tests.loopback import Request

_PIECE = 5  # characters


def of_anthropic(request: Request, text: str, whole: Mapping[str, Any]) -> list[bytes]:
    """Named events: blocks that begin, grow and end, inside a message that does so too."""
    block: dict[str, Any] = whole["content"][0]
    is_tool = block["type"] == "tool_use"
    delta = "partial_json" if is_tool else "text"
    kind = "input_json_delta" if is_tool else "text_delta"
    beginning = {**block, "input": {}} if is_tool else {**block, "text": ""}
    received = {"output_tokens": whole["usage"]["output_tokens"]}
    started = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**started, "model": request.body["model"]}},
        {"type": "content_block_start", "index": 0, "content_block": beginning},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": kind, delta: piece}}
            for piece in in_pieces(text)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": received,
        },
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\n".encode() + b"data: " + _json(event) + b"\n\n" for event in events]


def of_gemini(_: Request, text: str, whole: Mapping[str, Any]) -> list[bytes]:
    """Events that are each a whole reply, with the tokens so far; a function's call comes in one."""
    (candidate,) = whole["candidates"]
    (part,) = candidate["content"]["parts"]
    parts = [part] if "functionCall" in part else [{"text": piece} for piece in in_pieces(text)]
    replies = []
    for number, piece in enumerate(parts, 1):
        is_last = number == len(parts)
        content = {"content": {"role": "model", "parts": [piece]}, "index": 0}
        ending = {"finishReason": candidate["finishReason"]} if is_last else {}
        usage = dict(whole["usageMetadata"])
        if not is_last:
            usage |= {"candidatesTokenCount": number, "totalTokenCount": usage["promptTokenCount"] + number}
        replies.append({"candidates": [{**content, **ending}], "usageMetadata": usage, "modelVersion": "gemini"})
    return [b"data: " + _json(reply) + b"\r\n\r\n" for reply in replies]


def of_azure(request: Request, text: str, whole: Mapping[str, Any]) -> list[bytes]:
    """OpenAI's events, after one without choices that tells what a filter thinks of the prompt."""
    tools = request.body.get("tools")
    events = completion_events(
        whole["model"],
        text,
        tool=tools[0]["function"]["name"] if tools else None,
        refusal=None,
        finish_reason=whole["choices"][0]["finish_reason"],
        usage=whole["usage"] if request.body.get("stream_options", {}).get("include_usage") else None,
    )
    judged = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": []}
    return [b"data: " + _json(judged) + b"\n\n", *events]


def of_ollama(_: Request, text: str, whole: Mapping[str, Any]) -> list[bytes]:
    """Lines of JSON, the last of which has no text and all counts."""
    head = {name: whole[name] for name in ("model", "created_at")}
    says = [{"message": {"role": "assistant", "content": piece}} for piece in [*in_pieces(text), ""]]
    lines = [*({**head, **piece, "done": False} for piece in says[:-1]), {**whole, **says[-1]}]
    return [_json(line) + b"\n" for line in lines]


def of_bedrock(_: Request, text: str, whole: Mapping[str, Any]) -> list[bytes]:
    """Amazon's frames, a block of a message in each."""
    (block,) = whole["output"]["message"]["content"]
    start: dict[str, Any] = {"contentBlockIndex": 0}
    if "toolUse" in block:
        start["start"] = {"toolUse": {name: block["toolUse"][name] for name in ("toolUseId", "name")}}
        pieces: list[dict[str, Any]] = [{"toolUse": {"input": piece}} for piece in in_pieces(text)]
    else:
        pieces = [{"text": piece} for piece in in_pieces(text)]
    return [
        amazon_event("messageStart", {"role": "assistant"}),
        amazon_event("contentBlockStart", start),
        *(amazon_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": piece}) for piece in pieces),
        amazon_event("contentBlockStop", {"contentBlockIndex": 0}),
        amazon_event("messageStop", {"stopReason": whole["stopReason"]}),
        amazon_event("metadata", {"usage": whole["usage"], "metrics": whole["metrics"]}),
    ]


def amazon_event(name: str, value: Any, *, kind: str = "event") -> bytes:  # noqa: ANN401
    """A frame: its length and that of its headers, both under a checksum, headers, JSON, and a checksum of it all."""
    named = {":message-type": kind, f":{kind}-type": name, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for key, text in named.items()
    )
    payload = _json(value)
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    frame = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return frame + struct.pack(">I", crc32(frame))


def in_pieces(text: str) -> Sequence[str]:
    """A text in pieces of a few characters."""
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def torn(chunks: Iterable[bytes], size: int = 37) -> list[bytes]:
    """The same bytes, divided elsewhere, as networks do."""
    whole = b"".join(chunks)
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _json(value: Any) -> bytes:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False).encode()
