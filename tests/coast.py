"""The demo's articles in an index, with metadata, for tests that look in from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minirag import Index
from minirag.demo import load_documents

QUESTION = "Where was the engineer who designed the Hallow Head Lighthouse born?"
ANSWER = "Aldermoor"
LIGHTHOUSE, ENGINEER = "hallow-head-lighthouse", "lucasta-farrow"


def build_coast(path: Path) -> Path:
    """Index the articles; each has its initial and the name of the set as metadata."""
    documents = [replace(each, metadata={"initial": each.title[0], "set": "coast"}) for each in load_documents()]
    with Index(path, model="offline") as index:
        index.add(documents, progress=False)
    return path
