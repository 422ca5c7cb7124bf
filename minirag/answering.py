"""`ask` and its kin: what a user calls to have a question answered."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from minirag import loop
from minirag.asking import AnyIndex, Limits, Way, ask_in_time, check_question, retrieve_alone
from minirag.filtering import Where
from minirag.models import VARIABLE, AnyModel
from minirag.reading import OpenIndex
from minirag.records import Answer, Evidence, Prompts
from minirag.streaming import AnswerStream, AsyncAnswerStream

_WARNING = (
    "answered offline, by rules that quote the documents{though}. Give a model (Index(..., "
    "model='openai/gpt-4o-mini') or MINIRAG_MODEL) for answers by an LLM, or model='offline' to silence this"
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
    check_question(question)
    _warn_offline(index, model or models)
    way, limits = Way(strategy, k, model, models, where, prompts, options), Limits(max_cost, time_limit)
    return loop.run(ask_in_time(question, index, way, limits))


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
    check_question(question)
    _warn_offline(index, model or models)
    way, limits = Way(strategy, k, model, models, where, prompts, options), Limits(max_cost, time_limit)
    return await loop.await_(ask_in_time(question, index, way, limits))


def stream(
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
) -> AnswerStream:
    """Ask, and get the text of the answer while the model writes it, piece by piece.

    Iterate over what it gives. Its `answer` is the whole answer, with its citations, once all pieces were taken.
    Arguments and errors are those of `ask`; errors are raised by the iteration. Once a piece was given, a call that
    breaks off is not tried again. Offline, and with models that do not stream, the text comes in words at the end.
    """
    check_question(question)
    _warn_offline(index, model or models)
    way, limits = Way(strategy, k, model, models, where, prompts, options), Limits(max_cost, time_limit)
    return AnswerStream(lambda tell: ask_in_time(question, index, way, limits, tell))


def astream(
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
) -> AsyncAnswerStream:
    """`stream`, for `async for`; it is called without `await`."""
    check_question(question)
    _warn_offline(index, model or models)
    way, limits = Way(strategy, k, model, models, where, prompts, options), Limits(max_cost, time_limit)
    return AsyncAnswerStream(lambda tell: ask_in_time(question, index, way, limits, tell))


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
    return loop.run(retrieve_alone(question, index, Way(strategy, k, model, models, where, prompts, options)))


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
    return await loop.await_(retrieve_alone(question, index, Way(strategy, k, model, models, where, prompts, options)))


def _warn_offline(index: AnyIndex, model: object) -> None:
    """Say, at the caller's line, that nobody chose the weaker engine."""
    chosen = index.model_is_chosen if isinstance(index, OpenIndex) else bool(os.environ.get(VARIABLE))
    if not model and not chosen:
        built_by = index.built_by if isinstance(index, OpenIndex) else ""
        though = f", though the index was built by {built_by}" if built_by else ""
        warnings.warn(_WARNING.format(though=though), stacklevel=3)
