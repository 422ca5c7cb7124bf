"""What an evaluation would cost, before a cent is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minirag.encoder import is_hosted, price_of
from minirag.evaluation.datasets import Dataset
from minirag.evaluation.metrics import mean
from minirag.evaluation.runs import count_unanswered
from minirag.evaluation.variants import Variant
from minirag.index import Index, open_to_estimate
from minirag.models import INDEXING, OFFLINE, TASKS, Models
from minirag.planning import failed_documents, plan_batch, plan_retries
from minirag.reasoner import Reasoner, who_does
from minirag.reasoner.by_llm import LLMReasoner
from minirag.records import Ledger, Task, Thinking, Usage
from minirag.splitting import count_tokens

if TYPE_CHECKING:
    from minirag.encoder import Encoder
    from minirag.llm import Price

_SAMPLE = 50  # documents whose length is measured
_FACT, _WORDS = 40, 60  # tokens of a fact with its title, or of a question with its chain, and of a reply
_FRAME = 30  # of the JSON around each statement that is shown
_CANDIDATES = 25  # statements that one step of KiRAG shows
_STEPS = 5  # of KiRAG and IRCoT with a model, unless told otherwise
_STEPS_BY_RULE = 2


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one part of an evaluation would take.

    Attributes:
        what: Which part, in words.
        calls: To the model, and to a hosted encoder; of questions at most so many.
        tokens: Sent and received, roughly.
        cost: Dollars; None where the model's price is unknown.
        unpriced: The models whose prices are unknown.
    """

    what: str
    calls: int
    tokens: int
    cost: float | None
    unpriced: tuple[str, ...] = ()


def forecast(
    dataset: Dataset,
    path: str | Path,
    variants: Sequence[Variant],
    *,
    model: str | None,
    models: Mapping[str, str] | None = None,
    encoder: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    read: bool = True,
    resume: str | Path | None = None,
    progress: bool = True,
    **llm_options: Any,  # noqa: ANN401
) -> tuple[Forecast, ...]:
    """What indexing the corpus and asking the questions would take; nothing is called or written.

    Args:
        dataset: What is asked, and what is indexed of it where the index lacks it.
        path: The index file, or where it is to be.
        variants: The strategies with their options.
        model: A LiteLLM name; offline all of it is free but for what a hosted encoder takes. None where only `models`
            names any.
        models: By task, in the place of `model`.
        encoder: As for `Index`.
        limit: How many of the questions.
        seed: Which ones.
        read: Whether answers are read.
        resume: As for `evaluate`: what it holds is not asked again.
        progress: Show a bar.
        llm_options: As for `Index`.
    """
    options = {"model": model, "models": models, **llm_options}
    with open_to_estimate(path, encoder=encoder, **options) as index:
        payers = _Payers(index.encoder, Models(model, llm_options, models))
        if not payers.any:
            return ()
        found = [] if not dataset.documents else [_indexing(dataset, index, payers, progress=progress)]
        count = partial(count_tokens, index.encoder.tokenizer)
        questions = len(dataset.questions) if limit is None else min(limit, len(dataset.questions))
        kept = resume if resume is not None and _stays(index, dataset) else None
        length = round(mean(count(document.text) for document in dataset.documents[:_SAMPLE])) or 4 * _FACT
        reasoner = index.reasoner(None, Ledger())
        for variant in variants:
            constant = partial(_constant, reasoner, count)
            asked = _asked(variant, constant, passage=min(length, 256), read=read, by_model=payers.calls)
            left, told = questions, f"{questions:,}"
            if kept is not None:
                left = count_unanswered(dataset, index, variant, resume=kept, limit=limit, seed=seed, read=read)
                told = told if left == questions else f"{left:,} of {questions:,}"
            found.append(payers.price(f"{told} questions by {variant.name}", left, asked))
    return tuple(each for each in found if each.calls)


def _stays(index: Index, dataset: Dataset) -> bool:
    """Whether indexing the corpus would change nothing: results of another state of the index do not count."""
    if not dataset.documents:
        return True
    snapshot = index.snapshot
    plan = plan_batch(dataset.documents, snapshot, reextract=False)
    plan_retries(plan, snapshot, failed_documents(snapshot))
    return not (plan.documents or plan.relabelled or len(snapshot.pending))


class _Payers:
    """Who is paid for what."""

    def __init__(self, encoder: Encoder, models: Models) -> None:
        """Look up the price of each task that a provider does; None where it is unknown."""
        self._encoder = encoder
        self._names: dict[Task, str] = {task: models.name(None, task=task) for task in TASKS}
        self._names = {task: name for task, name in self._names.items() if name != OFFLINE}
        self._prices: dict[Task, Price | None] = {task: models.price(None, task=task) for task in self._names}
        models.close()
        if is_hosted(encoder):
            self._names["embed"], self._prices["embed"] = encoder.name, price_of(encoder)

    @property
    def any(self) -> bool:
        """Whether anybody is."""
        return bool(self._names)

    def calls(self, task: Task) -> bool:
        """Whether a task is done by a provider."""
        return task in self._names

    def unpriced(self, tasks: Iterable[Task]) -> tuple[str, ...]:
        """The names of those whose prices are unknown among who does the tasks."""
        names = [self._names[task] for task in tasks if task in self._names and self._prices[task] is None]
        return tuple(dict.fromkeys(names))

    def price(self, what: str, questions: int, asked: Mapping[Task, _Calls]) -> Forecast:
        """What so many questions take, each with those calls of each task."""
        calls, tokens, cost = 0, 0, 0.0
        for task in (task for task in asked if task in self._names):
            each, price = asked[task], self._prices[task]
            usage = Usage(prompt_tokens=questions * each.sent, completion_tokens=questions * each.received)
            calls += questions * each.times
            tokens += usage.prompt_tokens + usage.completion_tokens
            cost += price.cost(usage) if price is not None else 0.0
        unpriced = self.unpriced(asked)
        return Forecast(what, calls, tokens, None if unpriced else cost, unpriced)


class _Calls(NamedTuple):
    """The calls of one question for one task, and the tokens of all of them."""

    times: int
    sent: int
    received: int


def _indexing(dataset: Dataset, index: Index, payers: _Payers, *, progress: bool) -> Forecast:
    estimate = index.estimate(dataset.documents, progress=progress)
    what = f"indexing {estimate.documents:,} documents of {dataset.name}"
    tokens = estimate.prompt_tokens + estimate.completion_tokens + estimate.encoding_tokens
    tasks: list[Task] = [*INDEXING] if estimate.calls else []
    if estimate.encoding_tokens:
        tasks.append("embed")
    unpriced = payers.unpriced(tasks)
    cost = None if unpriced else estimate.cost
    return Forecast(what, estimate.calls + estimate.encoding_calls, tokens, cost, unpriced)


def _asked(
    variant: Variant,
    constant: Callable[[Thinking], int],
    *,
    passage: int,
    read: bool,
    by_model: Callable[[Task], bool],
) -> dict[Task, _Calls]:
    """By task the calls of one question at most, and what they send and receive."""
    options: Mapping[str, Any] = variant.options
    extends = variant.strategy == "kirag" and options.get("constructor") is not False
    thinks = variant.strategy == "ircot"
    thinking: Thinking = "extend" if extends else "think"
    steps = options.get("steps") or (_STEPS if (extends or thinks) and by_model(thinking) else _STEPS_BY_RULE)
    times: dict[Thinking, int] = {"extend": steps} if extends else {"think": steps - 1} if thinks else {}
    if read:
        times["read"] = 1
    by_passages = variant.strategy in ("naive", "kirag") or options.get("over") == "naive"
    shown = (variant.k or (5 if variant.strategy == "kirag" else 10)) * ((passage if by_passages else _FACT) + _FRAME)
    context: dict[Thinking, int] = {"extend": _CANDIDATES * (_FACT + _FRAME), "think": shown, "read": shown}
    calls: dict[Task, _Calls] = {
        task: _Calls(n, n * (constant(task) + context[task] + _FACT), n * _WORDS) for task, n in times.items()
    }
    searches = steps if variant.strategy in ("kirag", "ircot") else 1
    if options.get("mode") != "lexical":
        calls["embed"] = _Calls(searches, searches * _FACT * (1 + searches) // 2, 0)
    return calls


def _constant(reasoner: Reasoner, count: Callable[[str], int], task: Thinking) -> int:
    """Tokens of what every call for the task sends; 0 where a model makes none."""
    who = who_does(reasoner, task)
    return sum(map(count, who.constant_texts(task))) if isinstance(who, LLMReasoner) else 0
