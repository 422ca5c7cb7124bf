"""What an evaluation would cost, before a cent is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirag.evaluation.datasets import Dataset
from minirag.evaluation.metrics import mean
from minirag.evaluation.variants import Variant
from minirag.index import Index
from minirag.models import ASKING, OFFLINE, Models
from minirag.reasoner.prompts import messages_for
from minirag.records import Thinking, Usage
from minirag.splitting import count_tokens

if TYPE_CHECKING:
    from minirag.llm import Price

_SAMPLE = 50  # documents whose length is measured
_FACT, _WORDS = 40, 60  # tokens of a fact with its title, and of a reply
_CANDIDATES = 25  # statements that one step of KiRAG shows
_STEPS = 5  # of KiRAG and IRCoT, unless told otherwise


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one part of an evaluation would take.

    Attributes:
        what: Which part, in words.
        calls: To the model; of questions at most so many.
        tokens: Sent and received, roughly.
        cost: Dollars; None where the model's price is unknown.
    """

    what: str
    calls: int
    tokens: int
    cost: float | None


def forecast(
    dataset: Dataset,
    path: str | Path,
    variants: Sequence[Variant],
    *,
    model: str | None,
    models: Mapping[str, str] | None = None,
    encoder: str | Path | None = None,
    limit: int | None = None,
    read: bool = True,
    progress: bool = True,
    **llm_options: Any,  # noqa: ANN401
) -> tuple[Forecast, ...]:
    """What indexing the corpus and asking the questions would take; nothing is called or written.

    Args:
        dataset: What is asked, and what is indexed of it where the index lacks it.
        path: The index file, or where it is to be.
        variants: The strategies with their options.
        model: A LiteLLM name; offline all of it is free. None where only `models` names any.
        models: By task, in the place of `model`.
        encoder: As for `Index`.
        limit: How many of the questions.
        read: Whether answers are read.
        progress: Show a bar.
        llm_options: As for `Index`.
    """
    if model == OFFLINE and not models:
        return ()
    prices = _prices(model, models, llm_options)
    with tempfile.TemporaryDirectory() as scratch:
        place = path if Path(path).exists() else Path(scratch) / "empty.usearch"
        found = []
        with Index(place, model=model, models=models, encoder=encoder, **llm_options) as index:
            if dataset.documents:
                estimate = index.estimate(dataset.documents, progress=progress)
                what = f"indexing {estimate.documents:,} documents of {dataset.name}"
                tokens = estimate.prompt_tokens + estimate.completion_tokens
                found.append(Forecast(what, estimate.calls, tokens, estimate.cost))
            count = partial(count_tokens, index.encoder.tokenizer)
    questions = len(dataset.questions) if limit is None else min(limit, len(dataset.questions))
    length = round(mean(count(document.text) for document in dataset.documents[:_SAMPLE])) or 4 * _FACT
    for variant in variants:
        asked = _asked(variant, count, passage=min(length, 256), read=read)
        found.append(_priced(f"{questions:,} questions by {variant.name}", questions, asked, prices))
    return tuple(each for each in found if each.calls)


def _prices(
    model: str | None, models: Mapping[str, str] | None, llm_options: Mapping[str, Any]
) -> dict[Thinking, Price | None]:
    """Of each task that a model does while questions are asked; None where it is unknown."""
    by_task = Models(model, llm_options, models)
    try:
        named = [task for task in ASKING if by_task.name(None, task=task) != OFFLINE]
        return {task: by_task.price(None, task=task) for task in named}
    finally:
        by_task.close()


def _priced(
    what: str, questions: int, asked: Mapping[Thinking, tuple[int, int]], prices: Mapping[Thinking, Price | None]
) -> Forecast:
    """What so many questions take, each of so many calls of each task that send so many tokens."""
    calls, tokens, costs = 0, 0, list[float | None]()
    for task, (times, sent) in asked.items():
        if task in prices:
            price = prices[task]
            usage = Usage(prompt_tokens=questions * sent, completion_tokens=questions * times * _WORDS)
            calls += questions * times
            tokens += usage.prompt_tokens + usage.completion_tokens
            costs.append(None if price is None else price.cost(usage))
    known = [cost for cost in costs if cost is not None]
    return Forecast(what, calls, tokens, sum(known) if len(known) == len(costs) else None)


def _asked(
    variant: Variant, count: Callable[[str], int], *, passage: int, read: bool
) -> dict[Thinking, tuple[int, int]]:
    """By task the calls of one question at most, and the tokens that they send."""
    options: Mapping[str, Any] = variant.options
    steps = options.get("steps") or _STEPS
    calls: dict[Thinking, int] = {}
    if variant.strategy == "kirag" and options.get("constructor") is not False:
        calls["extend"] = steps
    elif variant.strategy == "ircot":
        calls["think"] = steps - 1
    if read:
        calls["read"] = 1
    by_passages = variant.strategy in ("naive", "kirag") or options.get("over") == "naive"
    shown = (variant.k or (5 if variant.strategy == "kirag" else 10)) * (passage if by_passages else _FACT)
    context: dict[Thinking, int] = {"extend": _CANDIDATES * _FACT, "think": shown, "read": shown}
    return {task: (times, times * (_constant(task, count) + context[task])) for task, times in calls.items()}


def _constant(task: Thinking, count: Callable[[str], int]) -> int:
    """Tokens of the task's instructions."""
    return sum(count(str(message["content"])) for message in messages_for(task, {}))
