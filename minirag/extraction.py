"""Passages into facts, entities and triples, each reply kept as soon as it is there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import xxhash

from minirag.ending import current_ending
from minirag.errors import BudgetExceededError, LLMError, LLMSetupError
from minirag.reasoner import Reasoner, extraction_version, who_does
from minirag.records import ExtractedFact, Extraction, Passage
from minirag.records.places import titled
from minirag.storage.journal import Journal

Progress = Callable[[int], None]
Item = TypeVar("Item")


def extraction_key(passage: Passage, *, title: str, reasoner: Reasoner) -> str:
    """Under which a reply is kept: the same text, title, extracting model and prompt version give the same key."""
    extractor = who_does(reasoner, "extract")
    version = extraction_version(extractor, passage)
    parts = ["extract", extractor.model, version, titled(title, passage.headings), passage.text]
    return xxhash.xxh3_128_hexdigest("\x1f".join(parts).encode("utf-8", "surrogatepass"))


Extracted = Extraction | LLMError | BudgetExceededError
"""What was found, why it failed, or that the run's budget ended before it."""


class Extractor:
    """Extracts for one run, ahead where it can: the model would idle while a batch ends, is encoded and committed.

    Passages of the same key are asked for once in a run, and all get what came of it.
    """

    def __init__(self, reasoner: Reasoner, journal: Journal | None) -> None:
        """Replies are looked up and kept in the journal; None where they cost nothing."""
        self._reasoner, self._journal = reasoner, journal
        self._ahead: dict[str, asyncio.Task[Extracted]] = {}
        self._documents: dict[str, dict[str, None]] = {}  # by key, those that a reply will tell of
        self._failed: dict[str, LLMError] = {}

    @property
    def keeps(self) -> bool:
        """Whether replies are worth keeping, as they cost something."""
        return self._journal is not None

    async def __aenter__(self) -> Self:
        """Nothing was begun yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what was begun and is not wanted any more; what came of it is in the journal."""
        left = list(self._ahead.values())
        self._ahead.clear()
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def begin(self, passages: Sequence[tuple[Passage, str]]) -> None:
        """Start on passages, each with its document's title, that a later `extract_all` will ask for."""
        if self._journal is None:
            return
        for passage, title in passages:
            key = self._key(passage, title)
            if key not in self._ahead:
                self._ahead[key] = asyncio.create_task(self._extract(key, passage, title))

    async def extract_all(self, passages: Sequence[tuple[Passage, str]], *, progress: Progress) -> list[Extracted]:
        """Extract from all passages side by side; the reasoner bounds how many calls run at once.

        Args:
            passages: Each with its document's title.
            progress: Told 1 for every passage done.

        Returns:
            In the order of the passages.

        Raises:
            LLMSetupError: When no call can succeed; what was paid for is in the journal.
        """
        keys = [self._key(passage, title) for passage, title in passages]
        alike = Counter(keys)
        distinct = dict(zip(keys, passages, strict=True))

        async def extract_one(key: str, passage: Passage, title: str) -> Extracted:
            begun = self._ahead.pop(key, None)
            found = await (self._extract(key, passage, title) if begun is None else begun)
            if not isinstance(found, BudgetExceededError):
                progress(alike[key])
            return found

        found = await run_all([extract_one(key, passage, title) for key, (passage, title) in distinct.items()])
        results = dict(zip(distinct, found, strict=True))
        return [results[key] for key in keys]

    def _key(self, passage: Passage, title: str) -> str:
        key = extraction_key(passage, title=title, reasoner=self._reasoner)
        self._documents.setdefault(key, {})[passage.document_id] = None
        return key

    async def _extract(self, key: str, passage: Passage, title: str) -> Extracted:
        kept = self._journal.get(key) if self._journal is not None else None
        if kept is not None:
            return _from_json(kept)
        if key in self._failed:
            return self._failed[key]
        try:
            extraction = await self._reasoner.extract(passage, title=title)
        except LLMSetupError as error:
            current_ending().begin(error)
            raise
        except BudgetExceededError as error:
            return error
        except LLMError as error:
            self._failed[key] = error
            return error
        except asyncio.CancelledError:
            fault = current_ending().fault  # for which what was begun ahead is not let through any more
            if fault is None:
                raise
            raise fault from fault.__cause__
        if self._journal is not None:
            self._journal.put(key, _to_json(extraction), documents=list(self._documents[key]))
        return extraction


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
