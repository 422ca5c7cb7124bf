"""Passages into facts, entities and triples, each reply kept as soon as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

import xxhash

from minirag.errors import BudgetExceededError, LLMError, LLMSetupError
from minirag.reasoner import Reasoner, who_does
from minirag.records import ExtractedFact, Extraction, Passage
from minirag.records.places import titled
from minirag.storage.journal import Journal

Progress = Callable[[int], None]
Item = TypeVar("Item")


def extraction_key(passage: Passage, *, title: str, reasoner: Reasoner) -> str:
    """Under which a reply is kept: the same text, title, extracting model and prompt version give the same key."""
    extractor = who_does(reasoner, "extract")
    parts = ["extract", extractor.model, extractor.version, titled(title, passage.headings), passage.text]
    return xxhash.xxh3_128_hexdigest("\x1f".join(parts).encode())


async def extract_all(
    passages: Sequence[tuple[Passage, str]],
    *,
    reasoner: Reasoner,
    journal: Journal | None,
    progress: Progress,
) -> list[Extraction | LLMError | BudgetExceededError]:
    """Extract from all passages side by side; the reasoner bounds how many calls run at once.

    Args:
        passages: Each with its document's title.
        reasoner: Does the thinking.
        journal: Where replies are looked up and kept; None where they cost nothing.
        progress: Told 1 for every passage done.

    Returns:
        In the order of the passages: what was found, why it failed, or that the run's budget ended before it.

    Raises:
        LLMSetupError: When no call can succeed; what was paid for is in the journal.
    """

    async def extract_one(passage: Passage, title: str) -> Extraction | LLMError | BudgetExceededError:
        key = extraction_key(passage, title=title, reasoner=reasoner)
        kept = journal.get(key) if journal is not None else None
        if kept is not None:
            progress(1)
            return _from_json(kept)
        try:
            extraction = await reasoner.extract(passage, title=title)
        except LLMSetupError:
            raise
        except BudgetExceededError as error:
            return error
        except LLMError as error:
            progress(1)
            return error
        if journal is not None:
            journal.put(key, _to_json(extraction), documents=[passage.document_id])
        progress(1)
        return extraction

    return await run_all([extract_one(passage, title) for passage, title in passages])


def in_batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Slices of at most `size` items, in order."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def run_all(work: Sequence[Coroutine[Any, Any, Item]]) -> list[Item]:
    """Await everything side by side; the first exception cancels the rest and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in work]
    except BaseExceptionGroup as group_error:
        first = group_error.exceptions[0]
        raise first from first.__cause__
    return [task.result() for task in tasks]


def _to_json(extraction: Extraction) -> list[Any]:
    return [[[fact.text, list(fact.entities)] for fact in extraction.facts], [list(t) for t in extraction.triples]]


def _from_json(value: list[Any]) -> Extraction:
    facts, triples = value
    return Extraction(
        tuple(ExtractedFact(text, tuple(entities)) for text, entities in facts),
        tuple((head, relation, tail) for head, relation, tail in triples),
    )
