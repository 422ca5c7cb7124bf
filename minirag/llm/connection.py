"""What a model has open: a place to wait for its provider, and a way to it. Each process has its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from minirag.llm.sending import Sender
from minirag.llm.transport import Transport


@dataclass(slots=True)
class _Opened:
    sender: Sender
    transport: Transport | None = None


class Connection:
    """Who sends a model's requests, and by which client; opened when first needed, and again after it was closed.

    A forked child opens its own. From a socket that it shares with its parent each would read answers to the other, and
    a place at the gate that was taken when it was forked is never given back in the child.
    """

    def __init__(self, open_sender: Callable[[], Sender], open_transport: Callable[[], Transport]) -> None:
        """Nothing is opened yet."""
        self._open_sender, self._open_transport = open_sender, open_transport
        self._opened: dict[int, _Opened] = {}  # by process; what a parent has stays untouched in a child

    @property
    def sender(self) -> Sender:
        """Who sends requests from this process."""
        return self._here().sender

    @property
    def transport(self) -> Transport:
        """By what they are sent."""
        here = self._here()
        if here.transport is None:
            here.transport = self._open_transport()
        return here.transport

    async def close(self) -> None:
        """Close what this process has opened; the next request opens it again."""
        here = self._here()
        transport, here.transport = here.transport, None
        if transport is not None:
            await transport.close()

    def _here(self) -> _Opened:
        process = os.getpid()
        if process not in self._opened:
            self._opened[process] = _Opened(self._open_sender())
        return self._opened[process]
