"""minirag answers questions that no single passage answers, from one file: `Index` and `ask`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from minirag.version import __version__ as __version__

if TYPE_CHECKING:
    from minirag import adapters as adapters
    from minirag import datasets as datasets
    from minirag import encoder as encoder
    from minirag import errors as errors
    from minirag import evaluation as evaluation
    from minirag import exporting as exporting
    from minirag import llm as llm
    from minirag import records as records
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
_PACKAGES = frozenset({"adapters", "datasets", "encoder", "errors", "evaluation", "exporting", "llm", "records"})


def __getattr__(name: str) -> object:
    """Load a public name or package when it is first used, so that `import minirag` itself costs nothing."""
    if name in _PACKAGES:
        return import_module(f"minirag.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'minirag' has no attribute {name!r}")
    value: object = getattr(import_module(f"minirag.{_HOMES.get(name, 'records')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
