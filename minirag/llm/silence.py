"""Saying that a provider does not answer, while calls wait and try again: a bar that stands still says nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic

_log = logging.getLogger(__name__)
_FIRST = 15.0  # seconds without an answer until it is said; then after twice as long each time


class Silence:
    """Watches the calls of one model.

    Attributes:
        first: Seconds without an answer until it is said.
    """

    def __init__(self, model: str, *, first: float = _FIRST) -> None:
        """Nobody waits yet."""
        self._model, self.first = model, first
        self._waiting = count()
        self._until: dict[int, tuple[float, str]] = {}  # call → when it tries again or gives up, and which of the two
        self._heard = 0.0
        self._reason = ""
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def watch(self, seconds: float, what: str) -> Iterator[None]:
        """While a request is open for at most so many seconds ("given up"), or a call waits ("tried again")."""
        number = next(self._waiting)
        now = monotonic()
        if not self._until:
            self._heard = max(self._heard, now) if self._timer else now
        self._until[number] = (now + seconds, what)
        if self._timer is None:
            self._start(self.first)
        try:
            yield
        finally:
            del self._until[number]

    def answered(self) -> None:
        """The provider gave an answer."""
        self._heard, self._reason = monotonic(), ""

    def failed(self, reason: str) -> None:
        """It gave none, or one of no use; `reason` in words of minirag's own, as it is logged."""
        self._reason = reason

    def _start(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        quiet = monotonic() - self._heard
        self._timer = None
        if not self._until:
            return
        if quiet < self.first:
            self._start(self.first - quiet)
            return
        at, what = min(self._until.values())
        _log.warning(
            "%s has not answered for %.0f s%s; calls waiting: %d, the next is %s in %.0f s",
            self._model,
            quiet,
            f" ({self._reason})" if self._reason else "",
            len(self._until),
            what,
            max(0.0, at - monotonic()),
        )
        self._start(quiet)
