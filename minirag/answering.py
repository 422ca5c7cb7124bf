"""`ask`: pick a strategy, read what it found, cite the passages behind it, account for the cost."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from minirag import loop
from minirag.errors import TimeLimitError
from minirag.filtering import Where, parse_filter
from minirag.index import Index
from minirag.models import VARIABLE, AnyModel
from minirag.prompting import check_prompts_of_asking
from minirag.ranking import check_k
from minirag.reading import OpenIndex
from minirag.records import Answer, Citation, ContextItem, Evidence, Hit, Ledger, Prompts, Reading, counting
from minirag.retrieving import find_passage
from minirag.strategies import STRATEGIES, check_options, default_strategy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot

AnyIndex: TypeAlias = "OpenIndex | str | PathLike[str]"
NOT_FOUND = "The index holds nothing that answers this."
_WARNING = (
    "answered offline, by rules that quote the documents. Give a model (Index(..., model='openai/gpt-4o-mini') or "
    "MINIRAG_MODEL) for answers by an LLM, or model='offline' to silence this"
)


def ask(
    question: str,
    index: AnyIndex,
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: AnyModel | None = None,
    models: Mapping[str, AnyModel] | None = None,
    where: Where | None = None,
    prompts: Prompts | None = None,
    max_cost: float | None = None,
    time_limit: float | None = None,
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
        model: Another model than the index's, as `Index` takes it.
        models: Others for single tasks (read, think, extend), in the place of `model` and of the index's.
        where: Only documents whose metadata pass are there, for every step: `{"tenant": "a", "year": {"$gte": 2000}}`.
            See `minirag.filtering` for the operators.
        prompts: Of reading and thinking, for this question; they prevail over the index's own, task by task.
        max_cost: Dollars that the answer may take; None for no limit.
        time_limit: Seconds that the answer may take; retries are cut short by it. None for no limit but those of the
            calls.
        options: Of the strategy.

    Returns:
        The answer with its citations; `found` is False when the index does not hold it.

    Raises:
        ValueError: On a blank question, an unknown strategy, an option out of range, a malformed filter, or prompts
            that do not fit.
        IndexFileError: When the index cannot be opened.
        LLMError: When the model cannot be called, or its reply not be used.
        BudgetExceededError: When a call might cost more than `max_cost` leaves; it is not made.
        TimeLimitError: When the time is up. What was found until then is not returned: ask with fewer steps.
    """
    _warn_offline(index, model or models)
    way, limits = _Way(strategy, k, model, models, where, prompts, options), _Limits(max_cost, time_limit)
    return loop.run(_ask_in_time(question, index, way, limits))


async def aask(
    question: str,
    index: AnyIndex,
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: AnyModel | None = None,
    models: Mapping[str, AnyModel] | None = None,
    where: Where | None = None,
    prompts: Prompts | None = None,
    max_cost: float | None = None,
    time_limit: float | None = None,
    **options: Any,  # noqa: ANN401
) -> Answer:
    """`ask`, to be awaited."""
    _warn_offline(index, model or models)
    way, limits = _Way(strategy, k, model, models, where, prompts, options), _Limits(max_cost, time_limit)
    return await loop.await_(_ask_in_time(question, index, way, limits))


def retrieve(
    question: str,
    index: AnyIndex,
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: AnyModel | None = None,
    models: Mapping[str, AnyModel] | None = None,
    where: Where | None = None,
    prompts: Prompts | None = None,
    **options: Any,  # noqa: ANN401
) -> Evidence:
    """The evidence for a question, unread: what `ask` would show to the reader. Arguments and errors as for `ask`."""
    return loop.run(_retrieve_alone(question, index, _Way(strategy, k, model, models, where, prompts, options)))


async def aretrieve(
    question: str,
    index: AnyIndex,
    *,
    strategy: str | None = None,
    k: int | None = None,
    model: AnyModel | None = None,
    models: Mapping[str, AnyModel] | None = None,
    where: Where | None = None,
    prompts: Prompts | None = None,
    **options: Any,  # noqa: ANN401
) -> Evidence:
    """`retrieve`, to be awaited."""
    return await loop.await_(
        _retrieve_alone(question, index, _Way(strategy, k, model, models, where, prompts, options))
    )


class _Way(NamedTuple):
    """How to find what is asked; see `ask`."""

    strategy: str | None
    k: int | None
    model: AnyModel | None
    models: Mapping[str, AnyModel] | None
    where: Where | None
    prompts: Prompts | None
    options: Mapping[str, Any]


def _warn_offline(index: AnyIndex, model: object) -> None:
    """Say, at the caller's line, that nobody chose the weaker engine."""
    chosen = index.model_is_chosen if isinstance(index, OpenIndex) else bool(os.environ.get(VARIABLE))
    if not model and not chosen:
        warnings.warn(_WARNING, stacklevel=3)


async def _retrieve_alone(question: str, index: AnyIndex, way: _Way) -> Evidence:
    with _opened(index, way) as opened:
        return await _retrieve(
            question, opened, opened.reasoner(way.model, Ledger(), models=way.models, prompts=way.prompts), way
        )


class _Limits(NamedTuple):
    """What an answer may take: dollars and seconds; None for as much as it takes."""

    max_cost: float | None
    time_limit: float | None


async def _ask_in_time(question: str, index: AnyIndex, way: _Way, limits: _Limits) -> Answer:
    seconds = limits.time_limit
    if seconds is not None and seconds <= 0:
        raise ValueError(f"time_limit must be above 0 seconds, not {seconds}")
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _ask(question, index, way, max_cost=limits.max_cost)
    except TimeoutError as error:
        if seconds is None or not limit.expired():
            raise
        raise TimeLimitError(seconds) from error


async def _ask(question: str, index: AnyIndex, way: _Way, *, max_cost: float | None) -> Answer:
    ledger = Ledger(max_cost=max_cost, keeps_calls=True)
    with counting(ledger), _opened(index, way) as opened:
        reasoner = opened.reasoner(way.model, ledger, models=way.models, prompts=way.prompts)
        snapshot = opened.snapshot
        evidence = await _retrieve(question, opened, reasoner, way)
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
            usage=ledger.total(seconds=ledger.now()),
            model=reasoner.model,
            strategy=way.strategy or default_strategy(reasoner.model),
            question=question,
            ranking=evidence.ranking,
        )


async def _retrieve(question: str, index: OpenIndex, reasoner: Reasoner, way: _Way) -> Evidence:
    if not isinstance(question, str):
        raise ValueError(f"the question must be a string, not {question!r}")
    if not question.strip():
        raise ValueError("the question is blank")
    if way.k is not None:
        check_k(way.k)
    strategy = way.strategy or default_strategy(reasoner.model)
    check_options(strategy, way.options)
    chosen = way.options if way.k is None else {"k": way.k, **way.options}
    return await STRATEGIES[strategy](question, index, reasoner, **chosen)


@contextmanager
def _opened(index: AnyIndex, way: _Way) -> Iterator[OpenIndex]:
    """The index as far as the filter lets it be seen."""
    if way.prompts is not None:
        check_prompts_of_asking(way.prompts)
    if isinstance(index, OpenIndex):
        yield index.filtered(way.where)
    else:
        parse_filter(way.where)  # what is wrong with it does not wait for the file
        with Index(index, model=way.model, models=way.models, mode="r") as opened:
            yield opened.filtered(way.where)


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
            passage, title, metadata = found
            number = len(citations) + 1
            cited = passage.document_id, passage.id, title, passage.text, metadata, passage.location
            citations.append(Citation(number, *cited))
    return tuple(citations)
