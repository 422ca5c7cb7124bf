"""`ask`: pick a strategy, read what it found, cite the passages behind it, account for the cost."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minirag import loop
from minirag.index import Index
from minirag.models import VARIABLE
from minirag.ranking import check_k
from minirag.records import Answer, Citation, ContextItem, Evidence, Hit, Ledger, Reading
from minirag.retrieving import find_passage
from minirag.strategies import STRATEGIES, check_options, default_strategy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot

NOT_FOUND = "The index holds nothing that answers this."
_WARNING = (
    "answered offline, by rules that quote the documents. Give a model (Index(..., model='openai/gpt-4o-mini') or "
    "MINIRAG_MODEL) for answers by an LLM, or model='offline' to silence this"
)


def ask(
    question: str,
    index: Index | str | PathLike[str],
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Answer:
    """Answer a question from an index.

    Args:
        question: In any language.
        index: An open index, or the path of one, which is then opened for reading.
        strategy: "indexrag" (one search over facts and bridging facts), "kirag" (a chain of reasoning ranks passages),
            "ircot" (thoughts retrieve) or "naive" (passages); see `minirag.strategies`. None is "indexrag" with a
            model, which is then called once, and "kirag" offline, where calls cost nothing.
        k: How many pieces of evidence the reader sees, at least 1; None for the strategy's own, 10 facts or 5 passages.
        model: Another model than the index's.
        options: Of the strategy.

    Returns:
        The answer with its citations; `found` is False when the index does not hold it.

    Raises:
        ValueError: On a blank question, an unknown strategy, or an option out of range.
        IndexFileError: When the index cannot be opened.
        LLMError: When the model cannot be called, or its reply not be used.
    """
    _warn_offline(index, model)
    return loop.run(_ask(question, index, strategy, k, model, options))


async def aask(
    question: str,
    index: Index | str | PathLike[str],
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Answer:
    """`ask`, to be awaited."""
    _warn_offline(index, model)
    return await loop.await_(_ask(question, index, strategy, k, model, options))


def retrieve(
    question: str,
    index: Index | str | PathLike[str],
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Evidence:
    """The evidence for a question, unread: what `ask` would show to the reader. Arguments and errors as for `ask`."""
    return loop.run(_retrieve_alone(question, index, strategy, k, model, options))


async def aretrieve(
    question: str,
    index: Index | str | PathLike[str],
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Evidence:
    """`retrieve`, to be awaited."""
    return await loop.await_(_retrieve_alone(question, index, strategy, k, model, options))


def _warn_offline(index: Index | str | PathLike[str], model: str | None) -> None:
    """Say, at the caller's line, that nobody chose the weaker engine."""
    chosen = index.model_is_chosen if isinstance(index, Index) else bool(os.environ.get(VARIABLE))
    if model is None and not chosen:
        warnings.warn(_WARNING, stacklevel=3)


async def _retrieve_alone(
    question: str,
    index: Index | str | PathLike[str],
    strategy: str | None,
    k: int | None,
    model: str | None,
    options: dict[str, Any],
) -> Evidence:
    with _opened(index, model) as opened:
        reasoner = opened.reasoner(model, Ledger())
        return await _retrieve(question, opened, reasoner, strategy or default_strategy(reasoner.model), k, options)


async def _ask(
    question: str,
    index: Index | str | PathLike[str],
    strategy: str | None,
    k: int | None,
    model: str | None,
    options: dict[str, Any],
) -> Answer:
    started = time.perf_counter()
    ledger = Ledger()
    with _opened(index, model) as opened:
        reasoner = opened.reasoner(model, ledger)
        strategy = strategy or default_strategy(reasoner.model)
        snapshot = opened.snapshot
        evidence = await _retrieve(question, opened, reasoner, strategy, k, options)
        reading = Reading(NOT_FOUND, found=False, items=())
        if evidence.hits:
            chain = [hit.text for hit in evidence.chain]
            reading = await reasoner.read(question, _context(evidence.hits), chain=chain)
        return Answer(
            text=reading.text if reading.text.strip() else NOT_FOUND,
            found=reading.found,
            citations=_cite((snapshot, opened.snapshot), [evidence.hits[item] for item in reading.items]),
            evidence=evidence.hits,
            used=reading.items,
            chain=evidence.chain,
            steps=evidence.steps,
            usage=ledger.total(seconds=time.perf_counter() - started),
            model=reasoner.model,
            strategy=strategy,
            question=question,
            ranking=evidence.ranking,
        )


async def _retrieve(
    question: str, index: Index, reasoner: Reasoner, strategy: str, k: int | None, options: dict[str, Any]
) -> Evidence:
    if not isinstance(question, str):
        raise ValueError(f"the question must be a string, not {question!r}")
    if not question.strip():
        raise ValueError("the question is blank")
    if k is not None:
        check_k(k)
    check_options(strategy, options)
    chosen = options if k is None else {"k": k, **options}
    return await STRATEGIES[strategy](question, index, reasoner, **chosen)


@contextmanager
def _opened(index: Index | str | PathLike[str], model: str | None) -> Iterator[Index]:
    if isinstance(index, Index):
        yield index
    else:
        with Index(index, model=model, mode="r") as opened:
            yield opened


def _context(hits: Sequence[Hit]) -> list[ContextItem]:
    """What the reader sees: a fact or passage with the title of its document, a bridging fact with all of them."""
    return [ContextItem(hit.text, " / ".join(title for title in hit.titles if title), hit.kind) for hit in hits]


def _cite(snapshots: Sequence[Snapshot], hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The passages behind the hits, each once: citations come from the records, never from what a model wrote.

    The index may have moved on while the question was answered, so both commits are looked at.
    """
    citations: list[Citation] = []
    for passage_id in dict.fromkeys(passage for hit in hits for passage in hit.passage_ids):
        found = next((f for snapshot in snapshots if (f := find_passage(snapshot, passage_id))), None)
        if found is not None:
            passage, title = found
            number = len(citations) + 1
            citations.append(Citation(number, passage.document_id, passage.id, title, passage.text))
    return tuple(citations)
