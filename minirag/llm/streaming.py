"""A chat completion that arrives in pieces: told while it does, and put together as if it had not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

from minirag.llm.completions import arguments_of, first_of, note_of, thoughts_of
from minirag.llm.faults import FaultError, misshapen
from minirag.llm.partial import PartialField

_NOTES = ("custom_llm_provider", "model_id")  # of LiteLLM on each piece: who gives the reply
Pieces = Any
"""What a transport's `stream` gives: openai's or LiteLLM's stream of chunks, or the whole completion after all."""


class Listener:
    """Is told the text of one field of a reply while it arrives.

    Attributes:
        has_told: Whether something was told, after which the reply cannot be asked for again as if nothing was.
    """

    def __init__(self, field: str, tell: Callable[[str], None]) -> None:
        """`tell` is called with each piece, on the event loop; it must not wait."""
        self.has_told = False
        self._field = field
        self._tell = tell
        self._partial = PartialField(field)

    def begin(self) -> None:
        """A new reply begins."""
        self._partial = PartialField(self._field)

    def hear(self, text: str) -> None:
        """A piece of the reply."""
        told = self._partial.feed(text)
        if told:
            self.has_told = True
            self._tell(told)


class BrokenStreamError(Exception):
    """A stream that ended before the reply was whole, without an error of its own."""


async def gather(pieces: Pieces, listener: Listener) -> Any:  # noqa: ANN401
    """The completion that all pieces make, in openai's shape; the listener hears its text while it comes.

    A server that does not stream, though it was asked to, gives it as one piece.

    Raises:
        BrokenStreamError: If the pieces end without saying that the reply does.
        FaultError: If a piece has not the form of one.
    """
    listener.begin()
    whole = await _undivided(pieces)
    if whole is not None:
        return whole
    reply = _Reply()
    async with aclosing(_closeable(pieces)) as chunks:
        async for chunk in chunks:
            listener.hear(reply.add(chunk))
    if reply.finish_reason is None and reply.usage is None and reply.has_content:
        raise BrokenStreamError("the answer broke off")
    return reply.completion()


class _Reply:
    """What has arrived so far."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._counts: dict[str, Any] = {}
        self._error: Any = None
        self._model: str | None = None
        self._notes: dict[str, str] = {}
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._is_call = False
        self._refusals: list[str] = []

    @property
    def usage(self) -> SimpleNamespace | None:
        """What the pieces say of tokens, taken together; None if nothing."""
        return SimpleNamespace(**self._counts) if self._counts else None

    @property
    def has_content(self) -> bool:
        return any(self._texts) or bool(self._refusals)

    def add(self, chunk: Any) -> str:  # noqa: ANN401
        """Keep what a chunk holds, and give its text."""
        for name, value in _counts_of(getattr(chunk, "usage", None)).items():
            if value or name not in self._counts:  # some end with zeros, or count what is sent and received apart
                self._counts[name] = value
        self._error = getattr(chunk, "error", None) or self._error
        self._model = getattr(chunk, "model", None) or self._model
        for name in _NOTES:
            self._notes[name] = self._notes.get(name) or note_of(chunk, name) or ""
        choices = getattr(chunk, "choices", None)
        if not choices:
            return ""
        choice = first_of(choices)
        if not hasattr(choice, "delta"):
            raise FaultError(misshapen("a piece whose choices are none"))
        self.finish_reason = getattr(choice, "finish_reason", None) or self.finish_reason
        delta = choice.delta
        refusal = getattr(delta, "refusal", None)
        if refusal and isinstance(refusal, str):
            self._refusals.append(refusal)
        self._thoughts.append(thoughts_of(delta))
        text = _text_of(delta)
        self._texts.append(text)
        self._is_call = self._is_call or bool(text and getattr(delta, "tool_calls", None))
        return text

    def completion(self) -> SimpleNamespace:
        """In openai's shape; without choices where nothing came."""
        text, refusal = "".join(self._texts), "".join(self._refusals) or None
        thoughts = "".join(self._thoughts)
        message = SimpleNamespace(content=text, refusal=refusal, tool_calls=None, reasoning_content=thoughts)
        if self._is_call:
            message.tool_calls = [SimpleNamespace(function=SimpleNamespace(arguments=text))]
        choice = SimpleNamespace(message=message, finish_reason=self.finish_reason)
        has_choice = self.has_content or self.finish_reason is not None
        return SimpleNamespace(
            choices=[choice] if has_choice else [],
            model=self._model,
            usage=self.usage,
            error=self._error,
            _hidden_params=self._notes,
        )


def _counts_of(usage: Any) -> dict[str, Any]:  # noqa: ANN401
    """All that a chunk says of tokens by name, be it known to the client or not."""
    if isinstance(usage, dict):
        return usage
    return {**getattr(usage, "__dict__", {}), **(getattr(usage, "model_extra", None) or {})}


def _text_of(delta: Any) -> str:  # noqa: ANN401
    """What a piece adds: to the message, or to the arguments of the tool that stands for the form of the reply."""
    text = arguments_of(delta) or getattr(delta, "content", None)
    return text if isinstance(text, str) else ""


async def _undivided(pieces: Pieces) -> Any:  # noqa: ANN401
    """The completion of a server that sent it whole, or the text of a web page; None for a stream."""
    if not hasattr(pieces, "__aiter__"):
        return pieces
    response = getattr(pieces, "response", None)
    kind = response.headers.get("content-type", "") if response is not None and hasattr(response, "headers") else ""
    if response is not None and "html" in kind:
        await response.aread()
        return response.text
    if response is None or "json" not in kind:
        return None
    from openai.types.chat import ChatCompletion

    await response.aread()
    body = response.json()
    return ChatCompletion.model_construct(**body if isinstance(body, dict) else {})


async def _closeable(pieces: Pieces) -> AsyncGenerator[Any, None]:
    """The chunks; closing this closes the connection, so that a provider stops writing what nobody reads."""
    try:
        async for chunk in pieces:
            yield chunk
    finally:
        close = getattr(pieces, "aclose", None) or getattr(pieces, "close", None)  # LiteLLM's has both
        closing = close() if close is not None else None
        if isawaitable(closing):
            await closing
