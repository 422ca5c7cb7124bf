"""The order of answering: retrieve, read, cite the passages behind what was read, account for the cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from minirag import telemetry
from minirag.doubting import find_doubts
from minirag.errors import TimeLimitError
from minirag.filtering import Where, parse_filter
from minirag.index import Index
from minirag.models import OFFLINE, AnyModel
from minirag.prompting import check_prompts_of_asking
from minirag.ranking import check_k
from minirag.reading import OpenIndex
from minirag.reasoner import ReadsAloud, who_does
from minirag.records import (
    Answer,
    Budget,
    Citation,
    ContextItem,
    Evidence,
    Hit,
    Ledger,
    Prompts,
    Reading,
    Search,
    Trace,
    counting,
)
from minirag.retrieving import find_passage
from minirag.strategies import STRATEGIES, check_options, default_strategy, tasks_of
from minirag.wording import describe_usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot

AnyIndex: TypeAlias = "OpenIndex | str | PathLike[str]"
_log = logging.getLogger(__name__)

NOT_FOUND = "The index holds nothing that answers this."


class Way(NamedTuple):
    """How to find what is asked; see `ask`."""

    strategy: str | None
    k: int | None
    model: AnyModel | None
    models: Mapping[str, AnyModel] | None
    where: Where | None
    prompts: Prompts | None
    options: Mapping[str, Any]


async def retrieve_alone(question: str, index: AnyIndex, way: Way, *, ledger: Ledger | None = None) -> Evidence:
    """What `ask` would show to the reader; with a ledger, what it takes is part of its run.

    Raises:
        BudgetExceededError: When a call might cost more than is left of the ledger's budget.
    """
    with nullcontext() if ledger is None else counting(ledger), _opened(index, way) as opened:
        reasoner = opened.reasoner(way.model, ledger or Ledger(), models=way.models, prompts=way.prompts)
        if ledger is not None:
            _check_prices(opened, reasoner, way, ledger)
        return await _retrieve(question, opened, reasoner, way)


class Limits(NamedTuple):
    """What an answer may take: dollars, or a budget that it shares, and seconds; None for as much as it takes."""

    max_cost: float | Budget | None
    time_limit: float | None


async def ask_in_time(
    question: str, index: AnyIndex, way: Way, limits: Limits, tell: Callable[[str], None] | None = None
) -> Answer:
    """Answer a question within its limits; `tell` is told the text while it is written, by models that do that.

    Raises:
        TimeLimitError: When the time is up.
        BudgetExceededError: When a call might cost more than is left.
    """
    seconds = limits.time_limit
    if seconds is not None and not seconds > 0:
        raise ValueError(f"time_limit must be above 0 seconds, not {seconds}")
    try:
        async with asyncio.timeout(seconds) as limit:
            ledger = Ledger(max_cost=limits.max_cost, keeps_calls=True)
            return await ask_counted(question, index, way, ledger, tell)
    except TimeoutError as error:
        if seconds is None or not limit.expired():
            raise
        raise TimeLimitError(seconds) from error


async def ask_counted(
    question: str,
    index: AnyIndex,
    way: Way,
    ledger: Ledger,
    tell: Callable[[str], None] | None = None,
    on_retrieved: Callable[[Evidence], None] = lambda _: None,
) -> Answer:
    """Answer a question as a ledger's run, within its budget; `tell` as of `ask_in_time`.

    `on_retrieved` is given what was retrieved before it is read: reading may fail.

    Raises:
        BudgetExceededError: When a call might cost more than is left.
    """
    named = {"gen_ai.workflow.name": "minirag.ask"}
    with counting(ledger), telemetry.span("invoke_workflow", "minirag.ask", named), _opened(index, way) as opened:
        reasoner = opened.reasoner(way.model, ledger, models=way.models, prompts=way.prompts)
        _check_prices(opened, reasoner, way, ledger, reads=True)
        snapshot = opened.snapshot
        evidence = await _retrieve(question, opened, reasoner, way)
        retrieved = ledger.now()
        on_retrieved(evidence)
        reading = await _read(question, evidence, reasoner, tell)
        strategy = _strategy(way, reasoner)
        usage = ledger.total(seconds=ledger.now())
        searches = _searches(question, evidence, retrieved)
        trace = Trace(strategy, usage.seconds, retrieved, searches, tuple(ledger.calls), _notes(opened, reasoner))
        citations = _cite((snapshot, opened.snapshot), [evidence.hits[item] for item in reading.items])
        _log.info("answered by %s with %s: %s", strategy, reasoner.model, describe_usage(usage))
        return Answer(
            text=reading.text if reading.text.strip() else NOT_FOUND,
            found=reading.found,
            citations=citations,
            evidence=evidence.hits,
            used=reading.items,
            chain=evidence.chain,
            steps=evidence.steps,
            usage=usage,
            model=reasoner.model,
            strategy=strategy,
            question=question,
            ranking=evidence.ranking,
            trace=trace,
            doubts=find_doubts(reading, evidence.hits, citations, question=question),
        )


def _notes(index: OpenIndex, reasoner: Reasoner) -> tuple[str, ...]:
    """That rules answered from what an LLM had built: few mean that."""
    if who_does(reasoner, "read").model != OFFLINE or not index.built_by:
        return ()
    return (f"answered offline; the index was built by {index.built_by}: name a model for answers by an LLM",)


def _searches(question: str, evidence: Evidence, seconds: float) -> tuple[Search, ...]:
    """Those of the strategy's steps; a strategy without steps searches once."""
    steps = tuple(Search(step.query, step.seconds, len(step.retrieved)) for step in evidence.steps)
    return steps or (Search(question, seconds, len(evidence.hits)),)


async def _read(question: str, evidence: Evidence, reasoner: Reasoner, tell: Callable[[str], None] | None) -> Reading:
    if not evidence.hits:
        return Reading(NOT_FOUND, found=False, items=())
    context, chain = _context(evidence.hits), [hit.text for hit in evidence.chain]
    reader = who_does(reasoner, "read")
    if tell is not None and isinstance(reader, ReadsAloud):
        return await reader.read_aloud(question, context, chain=chain, tell=tell)
    return await reasoner.read(question, context, chain=chain)


def check_question(question: object) -> None:
    """Refuse what is no question.

    Raises:
        ValueError: If it is no string, or blank.
    """
    if not isinstance(question, str):
        swapped = " (the question comes before the index)" if isinstance(question, OpenIndex | PathLike) else ""
        raise ValueError(f"the question must be a string, not {question!r}{swapped}")
    if not question.strip():
        raise ValueError("the question is blank")


async def _retrieve(question: str, index: OpenIndex, reasoner: Reasoner, way: Way) -> Evidence:
    check_question(question)
    if way.k is not None:
        check_k(way.k)
    strategy = _strategy(way, reasoner)
    check_options(strategy, way.options)
    chosen = way.options if way.k is None else {"k": way.k, **way.options}
    with telemetry.span("retrieval", attributes={"minirag.strategy": strategy}):
        return await STRATEGIES[strategy](question, index, reasoner, **chosen)


def _strategy(way: Way, reasoner: Reasoner) -> str:
    return way.strategy or default_strategy(reasoner.model)


def _check_prices(index: OpenIndex, reasoner: Reasoner, way: Way, ledger: Ledger, *, reads: bool = False) -> None:
    """See whether a budget can be kept by every model that may be called, before the first call.

    Raises:
        InputError: If not.
    """
    tasks = (*tasks_of(_strategy(way, reasoner), way.options), *(("read",) if reads else ()))
    index.check_prices(tasks, ledger, model=way.model, models=way.models)


@contextmanager
def _opened(index: AnyIndex, way: Way) -> Iterator[OpenIndex]:
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
