"""Which model thinks: by name, from the environment, or offline; one client each, kept while an index is open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from minirag import loop
from minirag.records import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minirag.llm import LLM, Price
    from minirag.reasoner import Reasoner

OFFLINE = "offline"
VARIABLE = "MINIRAG_MODEL"


class Models:
    """The models that one index uses.

    Attributes:
        default: The one that thinks unless a call names another.
        chosen: Whether the user named it.
    """

    def __init__(self, model: str | None, options: Mapping[str, Any]) -> None:
        """Nothing is imported or called yet.

        Args:
            model: A LiteLLM name or "offline"; None asks `MINIRAG_MODEL`, then takes "offline".
            options: For `LLM`.

        Raises:
            ValueError: If the name is blank.
        """
        named = model if model is not None else os.environ.get(VARIABLE)
        self.chosen = bool(named)
        self.default = named if named is not None else OFFLINE
        if not self.default.strip():
            raise ValueError("model must not be blank; leave it out for the offline one")
        self._options = dict(options)
        self._clients: dict[str, LLM] = {}

    def reasoner(self, model: str | None, ledger: Ledger) -> Reasoner:
        """Who thinks under this name, counting into `ledger`."""
        name = model or self.default
        if name == OFFLINE:
            from minirag.reasoner.offline import OfflineReasoner

            return OfflineReasoner(ledger)
        from minirag.reasoner.by_llm import LLMReasoner

        return LLMReasoner(self._client(name), ledger)

    def price(self, model: str | None) -> Price | None:
        """What a model's tokens cost; None where unknown."""
        return self._client(model or self.default).price

    def _client(self, name: str) -> LLM:
        if name not in self._clients:
            from minirag.llm import LLM

            self._clients[name] = LLM(name, **self._options)
        return self._clients[name]

    def close(self) -> None:
        """Close connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            loop.run(client.close())
