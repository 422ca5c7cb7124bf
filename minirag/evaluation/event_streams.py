"""Chat completions as server-sent events, for the loopback server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedIOBase
from typing import Any

_PIECE = 5  # characters


def completion_events(
    model: str,
    text: str,
    *,
    tool: str | None,
    refusal: str | None,
    finish_reason: str,
    usage: Mapping[str, Any] | None,
) -> Iterator[bytes]:
    """A message in pieces of a few characters, then how it ended, what it took, and the end mark.

    With the name of a tool, the text is what that is called with.
    """
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    if tool is not None:
        calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
        calls.insert(0, {"index": 0, "id": "0", "type": "function", "function": {"name": tool, "arguments": ""}})
        deltas = [{"role": "assistant", "content": None}, *({"tool_calls": [call]} for call in calls)]
    if refusal is not None:
        deltas = [{"role": "assistant", "refusal": refusal}]
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": d, "finish_reason": None}] for d in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish_reason}])
    head = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": model}
    chunks: list[dict[str, Any]] = [{**head, "choices": choice} for choice in choices]
    if usage is not None:
        chunks.append({**head, "choices": [], "usage": usage})
    for chunk in [*map(json.dumps, chunks), "[DONE]"]:
        yield f"data: {chunk}\n\n".encode()


def write_events(
    file: BufferedIOBase, events: Iterable[bytes], *, headers: Mapping[str, str], delay: float, cut_after: int | None
) -> bool:
    """Write a response of events, chunked.

    Args:
        file: The connection.
        events: One chunk each.
        headers: Further ones; a `Content-Type` among them takes the place of that of events.
        delay: Seconds before each event.
        cut_after: Stop in the middle, after so many events.

    Returns:
        Whether it was written to its end.
    """
    head = ["HTTP/1.1 200 Scripted", "Transfer-Encoding: chunked"]
    head += [f"{name}: {value}" for name, value in {"Content-Type": "text/event-stream", **headers}.items()]
    file.write("\r\n".join(head).encode() + b"\r\n\r\n")
    for number, event in enumerate(events):
        if number == cut_after:
            return False
        time.sleep(delay)
        file.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
    file.write(b"0\r\n\r\n")
    return True
