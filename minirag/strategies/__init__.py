"""The strategies: each one function from a question and an index to evidence."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from minirag.models import OFFLINE
from minirag.records import Evidence
from minirag.strategies import indexrag, ircot, kirag, naive

Strategy = Callable[..., Coroutine[Any, Any, Evidence]]

STRATEGIES: dict[str, Strategy] = {
    "naive": naive.retrieve,
    "indexrag": indexrag.retrieve,
    "kirag": kirag.retrieve,
    "ircot": ircot.retrieve,
}


def default_strategy(model: str) -> str:
    """What is asked by when nobody says: one call with a model; offline, where calls are free, the best evidence."""
    return "kirag" if model == OFFLINE else "indexrag"
