"""`stream`: an answer whose text comes while the model writes it, and whole, with its citations, at the end."""

from __future__ import annotations

import asyncio
import queue
import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Self

from minirag import loop

if TYPE_CHECKING:
    from types import TracebackType

    from minirag.records import Answer

Tell = Callable[[str], None]
Asking = Callable[[Tell], Coroutine[Any, Any, "Answer"]]
_WORDS = re.compile(r"\S+\s*|\s+")
_UNSPACED = 8  # characters of a piece, where a text has no spaces
_NOT_YET = "the answer is whole only once its text has been iterated over to the end"


class AnswerStream:
    """Pieces of an answer's text, in order; an iterator and a context manager.

    Asking begins with the first piece that is asked for. What goes wrong is raised there, as `ask` would raise it.
    Closing it early, by `close`, by leaving `with`, or by letting go of it, cancels the call.
    """

    def __init__(self, asking: Asking) -> None:
        """Nothing happens yet; `asking` is told how to tell a piece."""
        self._asking = asking
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._started: loop.Started[Answer] | None = None
        self._answer: Answer | None = None
        self._has_ended = False

    @property
    def answer(self) -> Answer:
        """The whole answer, once all pieces were taken. Its `text` is what the pieces make, joined.

        A reply that had to be repaired is the exception, and one that gives an answer and then another: what was told
        is then the first, and `text`, the last, is what counts.

        Raises:
            RuntimeError: Before that.
        """
        if self._answer is None:
            raise RuntimeError(_NOT_YET)
        return self._answer

    def __iter__(self) -> Self:
        """Itself."""
        return self

    def __next__(self) -> str:
        """The next piece."""
        if self._has_ended:
            raise StopIteration
        try:
            piece = self._take(self._start())
        except BaseException:
            self.close()
            raise
        if piece is not None:
            return piece
        self._has_ended = True
        self._answer = self._start().future.result()
        raise StopIteration

    def close(self) -> None:
        """Cancel what still runs."""
        self._has_ended = True
        if self._started is not None:
            self._started.cancel()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __del__(self) -> None:
        """Cancel what nobody will hear."""
        if self._started is not None:
            self._started.abandon()

    def _start(self) -> loop.Started[Answer]:
        if self._started is None:
            pieces = self._pieces
            work = _telling_all(self._asking, pieces.put)
            loop.check_thread(work)
            self._started = loop.Started(work)
            self._started.future.add_done_callback(lambda _: pieces.put(None))
        return self._started

    def _take(self, started: loop.Started[Answer]) -> str | None:
        while True:
            try:
                return self._pieces.get(timeout=loop.POLL)
            except queue.Empty:  # Windows lets Ctrl-C through only between two waits
                started.check_alive()


class AsyncAnswerStream:
    """`AnswerStream`, to be iterated over by `async for`, on any loop; an asynchronous context manager."""

    def __init__(self, asking: Asking) -> None:
        """Nothing happens yet; `asking` is told how to tell a piece."""
        self._asking = asking
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._started: loop.Started[Answer] | None = None
        self._answer: Answer | None = None
        self._has_ended = False

    @property
    def answer(self) -> Answer:
        """See `AnswerStream.answer`.

        Raises:
            RuntimeError: Before all pieces were taken.
        """
        if self._answer is None:
            raise RuntimeError(_NOT_YET)
        return self._answer

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> str:
        """The next piece."""
        if self._has_ended:
            raise StopAsyncIteration
        started = self._start()
        try:
            piece = await self._pieces.get()
        except BaseException:  # the reader was cancelled
            self._has_ended = True
            started.abandon()
            raise
        if piece is not None:
            return piece
        self._has_ended = True
        self._answer = await asyncio.wrap_future(started.future)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Cancel what still runs."""
        self._has_ended = True
        if self._started is not None:
            await asyncio.to_thread(self._started.cancel)

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    def __del__(self) -> None:
        """Cancel what nobody will hear."""
        if self._started is not None:
            self._started.abandon()

    def _start(self) -> loop.Started[Answer]:
        if self._started is None:
            pieces, reader = self._pieces, asyncio.get_running_loop()

            def tell(piece: str | None) -> None:
                if not reader.is_closed():
                    reader.call_soon_threadsafe(pieces.put_nowait, piece)

            self._started = loop.Started(_telling_all(self._asking, tell))
            self._started.future.add_done_callback(lambda _: tell(None))
        return self._started


async def _telling_all(asking: Asking, tell: Tell) -> Answer:
    """Ask, and in the end tell what the model's pieces left out of the answer's text; all of it where it gave none."""
    told: list[str] = []

    def keep(piece: str) -> None:
        told.append(piece)
        tell(piece)

    answer = await asking(keep)
    begun = "".join(told)
    if answer.text.startswith(begun):
        for piece in split_words(answer.text[len(begun) :]):
            tell(piece)
    return answer


def split_words(text: str) -> list[str]:
    """A text in pieces that make it whole again: words with the blanks behind them, long ones divided."""
    words = _WORDS.findall(text)
    sizes = [len(word) if word.isascii() else _UNSPACED for word in words]
    return [word[at : at + size] for word, size in zip(words, sizes, strict=True) for at in range(0, len(word), size)]
