"""Documents of which one names the next, so that a question about the first is answered by the last."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from minirag import Document
from tests.loopback import Entry, Request, honest
from tests.stored import open_offline

TIDE = Document(
    "tide", "The Tide Clock is a novel that appeared in 1931. It was written by Marta Ellinghaus.", "The Tide Clock"
)
MARTA = Document("marta", "Marta Ellinghaus kept bees in Kessmarsh. Her honey won a medal.", "Marta Ellinghaus")
KESSMARSH = Document("kessmarsh", "Kessmarsh has a mill and a market on Mondays.", "Kessmarsh")
LANTERN = Document(
    "lantern", "Lantern Road was directed by Piet Olander. It tells of a ferry in winter.", "Lantern Road (1954 film)"
)
PIET = Document("piet", "Piet Olander came from Sundvik. He trained as a carpenter before he made films.")
TABLES = Document(
    "tables", "Harbour offices print tables of the tide and set every clock by them and by no other.", "Tide tables"
)
NOVELS = Document(
    "novels", "A novel about the sea is read by people who never saw it. Some are long.", "Novels of the sea"
)
WRITERS = Document("writers", "A writer of novels is paid by the page, and late.", "How writers are paid")
LEDOVA = Document("ledova", "Анна Ледова жила в Карске и разводила пчёл.", "Анна Ледова")
BELY = Document("bely", "Роман «Белый маяк» написала Анна Ледова.", "Белый маяк")
HEDENG = Document("hedeng", "《白鹤灯塔》是林雪芬写的小说。", "白鹤灯塔")
XUEFEN = Document("xuefen", "林雪芬在青溪镇养蜂。", "林雪芬")

DOCUMENTS = (TIDE, TABLES, MARTA, NOVELS, LANTERN, WRITERS, KESSMARSH, PIET, BELY, HEDENG, LEDOVA, XUEFEN)
STRAYS = (
    Document("stray1", "The Tide Clock was also a play by Marta Ellinghaus, who wrote it in a week.", "The Tide Clock"),
    Document("stray2", "Marta Ellinghaus, writer of the novel The Tide Clock, painted boats.", "Marta Ellinghaus"),
)
QUESTION = "What did the writer of the novel The Tide Clock do?"


def build(path: Path, *, commits: Sequence[int] = (len(DOCUMENTS),)) -> Path:
    """An offline index; commits say how many of the documents came in each."""
    rest = iter(DOCUMENTS)
    with open_offline(path) as index:
        for count in commits:
            index.add(list(islice(rest, count)), progress=False)
    return path


def build_with_strays(path: Path) -> Path:
    """The same documents after others that tell of the same names and were deleted: their rows are still there."""
    with open_offline(path) as index:
        index.add([*STRAYS, *DOCUMENTS[:10]], progress=False)
        index.add(DOCUMENTS[10:], progress=False)
        index.delete([stray.id for stray in STRAYS], progress=False)
    return path


Reply = Callable[[Mapping[str, Any]], dict[str, Any]]


class Constructor:
    """A model that extends chains as a test tells it to, and does all else honestly.

    Attributes:
        asked: The data of each request to extend a chain.
        tasks: Of all requests.
    """

    def __init__(self, *replies: Reply) -> None:
        """One reply a step; after the last of them no candidate helps."""
        self._replies = list(replies)
        self.asked: list[dict[str, Any]] = []
        self.tasks: list[str] = []

    def __call__(self, request: Request) -> Entry:
        """Reply to a request."""
        data = json.loads(request.prompt.split("\n", 1)[0])
        self.tasks.append(data["task"])
        if data["task"] != "extend":
            return honest(request)
        self.asked.append(data)
        step = len(self.asked) - 1
        return self._replies[step](data) if step < len(self._replies) else choose()(data)


def choose(*numbers: int) -> Reply:
    """Complete the chain with the candidates of these numbers; none of them helps when there are no numbers."""
    return lambda _: {"known": False, "answer": "", "next": list(numbers)}


def choose_text(words: str) -> Reply:
    """Complete the chain with the first candidate that holds the words."""
    return lambda data: choose(next(c["n"] for c in data["candidates"] if words in c["text"]))(data)


def know(answer: str) -> Reply:
    """The chain gives the answer."""
    return lambda _: {"known": True, "answer": answer, "next": []}
