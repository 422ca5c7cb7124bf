"""minirag answers questions that no single passage answers, from one file: `Index` and `ask`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minirag.answering import aask, ask, astream, stream
    from minirag.errors import MiniragError
    from minirag.importing import import_index
    from minirag.index import Index
    from minirag.records import (
        AddReport,
        Answer,
        Citation,
        Document,
        Hit,
        PromptExample,
        Prompts,
        Settings,
        TaskPrompt,
        Usage,
    )
    from minirag.reembedding import reembed

__version__ = "0.4.0"

__all__ = [
    "AddReport",
    "Answer",
    "Citation",
    "Document",
    "Hit",
    "Index",
    "MiniragError",
    "PromptExample",
    "Prompts",
    "Settings",
    "TaskPrompt",
    "Usage",
    "aask",
    "ask",
    "astream",
    "import_index",
    "reembed",
    "stream",
]

_HOMES = {
    "Index": "index",
    "MiniragError": "errors",
    "aask": "answering",
    "ask": "answering",
    "import_index": "importing",
    "reembed": "reembedding",
    "astream": "answering",
    "stream": "answering",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first used, so that `import minirag` itself costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'minirag' has no attribute {name!r}")
    value: object = getattr(import_module(f"minirag.{_HOMES.get(name, 'records')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
