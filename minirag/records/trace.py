"""How an answer came about: its searches and its calls, with their times."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from minirag.records.cost import Call


@dataclass(frozen=True, slots=True)
class Search:
    """One search.

    Attributes:
        query: What was searched with.
        seconds: What it took, the encoding of the query included.
        hits: How many it found.
    """

    query: str
    seconds: float
    hits: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What an answer was made by.

    Attributes:
        strategy: How it was retrieved.
        seconds: In all.
        retrieval_seconds: Of them, before reading: the searches, and the calls that a strategy made between them.
        searches: In order.
        calls: To models, in the order in which they ended; none offline.
        notes: What one should know of it: that it was answered offline from what an LLM had built.
    """

    strategy: str = ""
    seconds: float = 0.0
    retrieval_seconds: float = 0.0
    searches: tuple[Search, ...] = ()
    calls: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "calls": [call.to_dict() for call in self.calls]}

    def to_json(self, *, indent: int | None = None) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)
