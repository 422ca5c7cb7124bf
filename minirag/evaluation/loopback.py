"""A chat-completions server on 127.0.0.1 that does what it is told to, faults included: for tests and the bench.

    with Loopback([status(429, headers={"Retry-After": "1"}), "Hello"]) as server:
        llm = LLM("openai/any", api_base=server.api_base)

The script is a list, one entry a request in the order of arrival, or a function from a `Request` to an entry. An entry
is a `Served`, or short for one: a string is the message's text, a dict is sent as its JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from minirag.evaluation.event_streams import completion_events, write_events
from minirag.evaluation.honest import honest_reply, honest_vector


@dataclass(frozen=True)
class Request:
    """What arrived: the path, the parsed body, and the headers with lower-case names."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def prompt(self) -> str:
        """The first user message: the question itself, also when a repair of the reply is asked for."""
        return next(str(m["content"]) for m in self.body["messages"] if m["role"] == "user")

    @property
    def system(self) -> str:
        """The system message, "" if there is none."""
        return next((str(m["content"]) for m in self.body["messages"] if m["role"] == "system"), "")

    @property
    def mode(self) -> str:
        """How the form of the reply is asked for: "json_schema", "tool", "json_object", or "text"."""
        if "tools" in self.body:
            return "tool"
        return str(self.body.get("response_format", {}).get("type", "text"))


@dataclass(frozen=True)
class Served:
    """One answer of the server.

    Attributes:
        text: The message's content.
        code: The HTTP status; other than 200 sends `error` as the body.
        error: The provider's error object.
        headers: Added to the response's.
        delay: Seconds before the first byte.
        finish_reason: As providers write it.
        refusal: The message's refusal, which replaces its content.
        body: Sent instead of a chat completion: bytes as they are, anything else as JSON.
        cut_after: Close the connection after so many bytes of the body.
        usage: The usage object; None leaves it out.
        streams: Whether a request for a stream gets one; else it gets the whole body.
        pieces: Sent one after the other instead of a chat completion: a stream in a provider's own form, whose
            `Content-Type` stands in `headers`.
        piece_delay: Seconds before each piece of a stream.
        cut_after_pieces: Close the connection after so many pieces of a stream.
    """

    text: str | None = None
    code: int = 200
    error: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    finish_reason: str = "stop"
    refusal: str | None = None
    body: Any = None
    cut_after: int | None = None
    usage: Mapping[str, Any] | None = field(
        default_factory=lambda: {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 40},
        }
    )
    streams: bool = True
    pieces: Sequence[bytes] | None = None
    piece_delay: float = 0.0
    cut_after_pieces: int | None = None


Entry = Served | str | dict[str, Any]
Script = Sequence[Entry] | Callable[[Request], Entry]


def honest(request: Request) -> Served:
    """Answer minirag's own prompts from the request alone: the same request always gets the same answer."""
    reply = honest_reply(request.prompt)
    text = json.dumps(reply, ensure_ascii=False)
    sent, received = len(json.dumps(request.body["messages"])) // 4, len(text) // 4
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return Served(text=text, usage=usage)


class Loopback:
    """The server, on a thread of its own; a context manager.

    Attributes:
        requests: All that arrived, in order.
        most_parallel: The largest number of requests that were open at once.
        abandoned: How many answers nobody read to their end, as the client had gone.
    """

    def __init__(self, script: Script = honest, *, port: int = 0, log: Path | None = None) -> None:
        """Bind the port (0 picks a free one); `log` gets one JSON line a request."""
        self.requests: list[Request] = []
        self.most_parallel = 0
        self.abandoned = 0
        self._open = 0
        self._script = script
        self._log = log
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._http = _Server(("127.0.0.1", port), _handler_for(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def api_base(self) -> str:
        """What to pass as `api_base`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and close every connection that a client kept open."""
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _shut(connection)
        self._http.server_close()

    def tasks(self) -> list[str]:
        """Which of minirag's tasks each chat request was about."""
        return [
            json.loads(r.prompt.split("\n", 1)[0])["task"]
            for r in self.requests
            if "messages" in r.body and r.prompt.startswith("{")
        ]

    def opened(self, connection: socket.socket) -> None:
        """Keep a connection, to close it at the end."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget it."""
        with self._lock:
            self._connections.discard(connection)

    def serve(self, request: Request) -> Served:
        """The answer to a request, which is recorded."""
        with self._lock:
            place = len(self.requests)
            self.requests.append(request)
            if self._log:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps({"path": request.path, "body": request.body}) + "\n")
        if request.path.endswith("/embeddings"):
            entry: Entry = _embeddings(request)
            if not callable(self._script) and place < len(self._script):
                entry = self._script[place]
        elif callable(self._script):
            entry = self._script(request)
        elif place < len(self._script):
            entry = self._script[place]
        else:
            message = f"the script has {len(self._script)} entries and this is request {place + 1}"
            entry = Served(code=418, error={"message": message})
        return _served(entry)

    def abandon(self) -> None:
        """Note that an answer's reader went away."""
        with self._lock:
            self.abandoned += 1

    def count(self, change: int) -> None:
        """Note that a request was opened (1) or done (-1)."""
        with self._lock:
            self._open += change
            self.most_parallel = max(self.most_parallel, self._open)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A client that went away is no news; anything else is a fault of the test and must be seen."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _handler_for(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            loopback.opened(self.request)
            super().setup()

        def finish(self) -> None:
            super().finish()
            loopback.closed(self.request)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            content = self.rfile.read(length)
            if len(content) < length:
                raise ConnectionResetError("the client was cancelled while it sent")
            request = Request(self.path, json.loads(content), {k.lower(): v for k, v in self.headers.items()})
            loopback.count(1)
            try:
                served = loopback.serve(request)
                time.sleep(served.delay)
            finally:
                loopback.count(-1)
            self._send(request, served)

        def _send(self, request: Request, served: Served) -> None:
            try:
                whole = _write(self.wfile, request, served)
            except OSError:
                loopback.abandon()
                raise
            self.close_connection = self.close_connection or not whole

        def log_message(self, *_: Any) -> None:  # noqa: ANN401
            """Say nothing on standard error."""

    return Handler


def _write(file: BufferedIOBase, request: Request, served: Served) -> bool:
    """Send an answer, as a stream or at once; gives whether it was sent to its end."""
    if served.pieces is not None:
        return _write_pieces(file, served.pieces, served)
    if _is_streamed(request, served):
        wants_usage = request.body.get("stream_options", {}).get("include_usage")
        events = completion_events(
            request.body["model"],
            served.text or "",
            tool=request.body["tools"][0]["function"]["name"] if request.mode == "tool" else None,
            refusal=served.refusal,
            finish_reason=served.finish_reason,
            usage=served.usage if wants_usage else None,
        )
        return _write_pieces(file, events, served)
    body = _body(request, served)
    head = [f"HTTP/1.1 {served.code} Scripted", "Content-Type: application/json"]
    head += [f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in served.headers.items())]
    file.write("\r\n".join(head).encode() + b"\r\n\r\n" + body[: served.cut_after])
    return served.cut_after is None


def _write_pieces(file: BufferedIOBase, pieces: Iterable[bytes], served: Served) -> bool:
    delay, cut_after = served.piece_delay, served.cut_after_pieces
    return write_events(file, pieces, headers=served.headers, delay=delay, cut_after=cut_after)


def _is_streamed(request: Request, served: Served) -> bool:
    is_message = served.code == 200 and served.body is None and served.cut_after is None
    return is_message and served.streams and bool(request.body.get("stream"))


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already


def _served(entry: Entry) -> Served:
    if isinstance(entry, str):
        return Served(text=entry)
    return Served(text=json.dumps(entry)) if isinstance(entry, dict) else entry


def _body(request: Request, served: Served) -> bytes:
    if isinstance(served.body, bytes):
        return served.body
    if served.body is not None:
        return json.dumps(served.body).encode()
    if served.code != 200:
        return json.dumps({"error": {"type": "scripted", "param": None, "code": None, **served.error}}).encode()
    message = {"role": "assistant", "content": served.text, "refusal": served.refusal}
    completion: dict[str, Any] = {"id": "0", "object": "chat.completion", "created": 0, "model": request.body["model"]}
    completion["choices"] = [{"index": 0, "message": message, "finish_reason": served.finish_reason}]
    if served.usage is not None:
        completion["usage"] = served.usage
    return json.dumps(completion).encode()


def _embeddings(request: Request) -> Served:
    texts = request.body["input"]
    data = [{"object": "embedding", "index": i, "embedding": honest_vector(text)} for i, text in enumerate(texts)]
    usage = {"prompt_tokens": sum(len(text) for text in texts) // 4, "total_tokens": sum(len(t) for t in texts) // 4}
    return Served(body={"object": "list", "data": data, "model": request.body["model"], "usage": usage})
