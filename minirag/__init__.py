"""minirag answers questions that no single passage answers, from one file.

from minirag import Index, ask

index = Index("notes.usearch")
index.add(["docs/"])
print(ask("Where was the director of the film Aylwin born?", index))
"""

from minirag.answering import aask, ask
from minirag.errors import MiniragError
from minirag.index import Index
from minirag.records import AddReport, Answer, Citation, Document, Hit, Settings, Usage

__version__ = "0.1.0"

__all__ = [
    "AddReport",
    "Answer",
    "Citation",
    "Document",
    "Hit",
    "Index",
    "MiniragError",
    "Settings",
    "Usage",
    "aask",
    "ask",
]
