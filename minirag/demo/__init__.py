"""A small world to try minirag on: 24 articles about an invented coast, and questions that take two or three of them.

Everything in it was made up and written for minirag, so no model can know the answers from elsewhere. The articles
share people, ships and houses, speak of "she" and "the vessel" as articles do, and have a few namesakes in them: a ship
and an engine that are named after persons. The folder is also a data set: `minirag eval` takes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from minirag.records import Document

__all__ = ["DemoQuestion", "load_documents", "load_questions"]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """One question about the demo's articles.

    Attributes:
        id: Unique.
        text: The question.
        answers: Every accepted answer; empty where the articles do not hold it.
        gold_ids: The documents that it takes, in the order of the reasoning; empty likewise.
        type: "bridge", "comparison" or "unanswerable".
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold_ids: tuple[str, ...]
    type: str


def load_documents() -> tuple[Document, ...]:
    """The 24 articles."""
    lines = _read("corpus.jsonl").splitlines()
    return tuple(Document(**json.loads(line)) for line in lines)


def load_questions() -> tuple[DemoQuestion, ...]:
    """Ten questions that take two or three articles each, then one that none of them answers."""
    return (*_questions("questions.json"), *_questions("unanswerable.json"))


def _questions(name: str) -> Iterator[DemoQuestion]:
    entries: list[dict[str, Any]] = json.loads(_read(name))
    for entry in entries:
        answers, gold_ids = tuple(entry["answers"]), tuple(entry["gold_passage_ids"])
        yield DemoQuestion(entry["id"], entry["question"], answers, gold_ids, entry["type"])


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
