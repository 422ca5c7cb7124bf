"""What an evaluation would cost, before a cent is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from minirag.evaluation.datasets import Dataset
from minirag.evaluation.metrics import mean
from minirag.evaluation.variants import Variant
from minirag.index import Index
from minirag.models import OFFLINE, Models
from minirag.reasoner.prompts import messages_for
from minirag.records import Thinking, Usage
from minirag.splitting import count_tokens

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
    model: str,
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
        model: A LiteLLM name; offline all of it is free.
        encoder: As for `Index`.
        limit: How many of the questions.
        read: Whether answers are read.
        progress: Show a bar.
        llm_options: As for `Index`.
    """
    if model == OFFLINE:
        return ()
    models = Models(model, llm_options)
    try:
        price = models.price(None)
    finally:
        models.close()

    def priced(what: str, calls: int, sent: int, received: int) -> Forecast:
        usage = Usage(prompt_tokens=sent, completion_tokens=received)
        return Forecast(what, calls, sent + received, None if price is None else price.cost(usage))

    with tempfile.TemporaryDirectory() as scratch:
        place = path if Path(path).exists() else Path(scratch) / "empty.usearch"
        found = []
        with Index(place, model=model, encoder=encoder, **llm_options) as index:
            if dataset.documents:
                estimate = index.estimate(dataset.documents, progress=progress)
                what = f"indexing {estimate.documents:,} documents of {dataset.name}"
                found.append(priced(what, estimate.calls, estimate.prompt_tokens, estimate.completion_tokens))
            count = partial(count_tokens, index.encoder.tokenizer)
    questions = len(dataset.questions) if limit is None else min(limit, len(dataset.questions))
    length = round(mean(count(document.text) for document in dataset.documents[:_SAMPLE])) or 4 * _FACT
    for variant in variants:
        calls, sent = _asked(variant, count, passage=min(length, 256), read=read)
        asked = (questions * calls, questions * sent, questions * calls * _WORDS)
        found.append(priced(f"{questions:,} questions by {variant.name}", *asked))
    return tuple(each for each in found if each.calls)


def _asked(variant: Variant, count: Callable[[str], int], *, passage: int, read: bool) -> tuple[int, int]:
    """Calls of one question at most, and the tokens that they send."""
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
    sent = sum(times * (_constant(task, count) + context[task]) for task, times in calls.items())
    return sum(calls.values()), sent


def _constant(task: Thinking, count: Callable[[str], int]) -> int:
    """Tokens of the task's instructions."""
    return sum(count(str(message["content"])) for message in messages_for(task, {}))
