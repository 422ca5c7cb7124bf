"""A part of a data set that is small enough for peers that pay an LLM for every passage."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from minirag.errors import InputError
from minirag.evaluation.datasets import Dataset, Question

# At least half of the passages are there to mislead: a corpus of gold passages alone flatters every system.
_MOST_GOLD = 0.5


def take_part(dataset: Dataset, *, passages: int, limit: int, seed: int = 0) -> Dataset:
    """Some questions with all of their gold passages, and other passages up to a number.

    Args:
        dataset: With a corpus and gold passages.
        passages: How many documents to keep, in the corpus's order; fewer where there are no more.
        limit: At most so many questions. Fewer where their gold passages would be more than half of the passages.
        seed: Another one gives another part.

    Raises:
        InputError: If the data set lacks a corpus or gold passages, or if the passages are too few for one question.
        ValueError: If passages or limit is below 1.
    """
    if passages < 1 or limit < 1:
        raise ValueError(f"passages and limit must be at least 1, not {passages} and {limit}")
    chosen: list[Question] = []
    gold: set[str] = set()
    most = _MOST_GOLD * min(passages, len(dataset.documents))
    for question in sorted(dataset.questions, key=lambda question: _draw(seed, question.id)):
        needed = gold.union(question.gold_ids)
        if question.gold_ids and len(needed) <= most and len(chosen) < limit:
            chosen.append(question)
            gold = needed
    if not chosen:
        raise InputError(
            f"{dataset.name}: no question with gold passages fits into {passages} passages, half of them others. "
            "Give more passages, or a data set with a corpus and gold passages"
        )
    others = (document.id for document in dataset.documents if document.id not in gold)
    kept = gold.union(sorted(others, key=lambda document_id: _draw(seed, document_id))[: passages - len(gold)])
    return replace(
        dataset,
        documents=tuple(document for document in dataset.documents if document.id in kept),
        questions=tuple(chosen),
    )


def _draw(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()
