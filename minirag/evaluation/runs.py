"""Runs: every question of a data set through one strategy, scored."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from tqdm import tqdm

from minirag import loop
from minirag.answering import aask, aretrieve
from minirag.errors import IndexFileError, InputError, LLMSetupError, MiniragError
from minirag.evaluation.datasets import Dataset, Question
from minirag.evaluation.metrics import accuracy, answer_rank, exact_match, f1, gold_ranks
from minirag.evaluation.results import DEPTHS, QuestionResult, Run
from minirag.evaluation.resuming import ResultLog
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.records import AddReport, Answer

LIBRARIES = ("minirag", "numpy", "onnxruntime", "tokenizers", "usearch", "openai", "litellm")
# Strategies that retrieve without a model: what they retrieve can be timed apart, at no cost.
ONE_SHOT = frozenset({"naive", "indexrag"})


def build_index(
    dataset: Dataset,
    path: str | Path,
    *,
    model: str | None = None,
    encoder: str | Path | None = None,
    progress: bool = True,
    **llm_options: Any,  # noqa: ANN401
) -> AddReport:
    """Create the index of a data set, or add to it what it lacks; nothing happens where it is whole.

    Args:
        dataset: Its corpus is indexed. Without one, the index must be there.
        path: The index file.
        model: As for `Index`; likewise `encoder` and `llm_options`.
        encoder: See there.
        progress: Show a bar.
        llm_options: See there.

    Raises:
        InputError: If the data set has no corpus and there is no such file.
        IndexFileError: As `Index` and `Index.add` raise it.
        LLMSetupError: When the model cannot be called at all.
    """
    if not dataset.documents:
        if not Path(path).exists():
            raise InputError(f"{dataset.name} has no corpus, and there is no index {path} to ask its questions of")
        return AddReport()
    with Index(path, model=model, encoder=encoder, **llm_options) as index:
        return index.add(dataset.documents, triples=dataset.triples or None, progress=progress)


def evaluate(
    dataset: Dataset,
    index: Index,
    *,
    strategy: str = "indexrag",
    model: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    k: int | None = None,
    read: bool = True,
    concurrency: int | None = None,
    resume: str | Path | None = None,
    progress: bool = True,
    **options: Any,  # noqa: ANN401
) -> Run:
    """Ask an index the questions of a data set and score what comes back.

    A question that fails counts as wrong and is in `Run.failed`. Retrieval is timed first, one question after the
    other; reading then goes on side by side. Where the strategy retrieves by a model, retrieval has no time of its own.

    Args:
        dataset: The questions. Their gold documents must be in the index.
        index: Open.
        strategy: As for `ask`.
        model: Likewise; None for the index's own.
        limit: How many questions, see `Dataset.sample`; None for all.
        seed: Which ones.
        k: How many pieces the reader sees; None for the strategy's own. Recall is measured on the whole ranking.
        read: False only retrieves, which scores no answers and, offline, costs nothing.
        concurrency: How many questions are read side by side, at least 1; None is 8 with a model, 1 offline.
        resume: A file that keeps results as they come. If it is there, what it holds is not asked again.
        progress: Show a bar, where standard error is a terminal.
        options: Of the strategy.

    Raises:
        ValueError: On a limit, k or concurrency below 1, an unknown strategy, or a wrong option of it.
        InputError: If a gold document is not in the index, or `resume` is not a file of this very run.
        LLMSetupError: If the model cannot be called at all; what was answered before is in `resume`.
        IndexFileError: If the index cannot be read.
    """
    questions = dataset.sample(limit, seed=seed).questions
    _check_gold(questions, dataset.absent, index)
    name = model or index.model
    if concurrency is None:
        concurrency = 1 if name == OFFLINE else 8
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    info = index.info()
    asking = _Asking(index, strategy, name, k, read, options)
    conditions = asking.describe() | {"dataset": dataset.name, "encoder": info.encoder, "index_bytes": info.bytes}
    versions = library_versions()
    kept = conditions | {"minirag": versions.get("minirag")}
    with nullcontext() if resume is None else ResultLog(resume, conditions=kept, questions=questions) as log:
        results = asking.ask_all(questions, log=log, concurrency=concurrency, progress=progress)
    return Run(
        dataset=dataset.name,
        strategy=strategy,
        model=name,
        results=results,
        index_bytes=info.bytes,
        passages=info.passages,
        settings=conditions | {"limit": limit, "seed": seed, "concurrency": concurrency, "index_model": info.model},
        versions=versions,
    )


def library_versions() -> dict[str, str]:
    """Of Python, minirag and the libraries that do the work, as far as they are installed."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class _Asking:
    """How a run asks its questions."""

    index: Index
    strategy: str
    model: str
    k: int | None
    read: bool
    options: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """What the results depend on, but for the index and the questions."""
        return {
            "strategy": self.strategy,
            "model": self.model,
            "k": self.k,
            "read": self.read,
            "options": self.options,
        }

    def ask_all(
        self, questions: Sequence[Question], *, log: ResultLog | None, concurrency: int, progress: bool
    ) -> tuple[QuestionResult, ...]:
        """Ask every question that the log does not hold yet; results in the order of the questions."""
        done = {} if log is None else dict(log.done)
        pending = [question for question in questions if question.id not in done]
        with tqdm(total=len(questions), desc=self.strategy, disable=None if progress else True) as bar:
            bar.update(len(done))

            def keep(result: QuestionResult) -> None:
                done[result.id] = result
                bar.update()
                if log is not None:
                    log.append(result)

            if pending:
                loop.run(self._ask_all(pending, concurrency, keep))
        return tuple(done[question.id] for question in questions)

    async def _ask_all(
        self, questions: Sequence[Question], concurrency: int, keep: Callable[[QuestionResult], None]
    ) -> None:
        if not self.read:
            async for result in self._retrieve_all(questions):
                keep(result)
            return
        timed: dict[str, float | None] = {}
        if self.strategy in ONE_SHOT or self.model == OFFLINE:
            timed = {result.id: result.retrieval_seconds async for result in self._retrieve_all(questions)}

        async def answer(question: Question) -> None:
            result = await self._guard(question, self._answer(question))
            keep(replace(result, retrieval_seconds=timed.get(question.id)))

        await _side_by_side(answer, questions, concurrency)

    async def _retrieve_all(self, questions: Sequence[Question]) -> AsyncIterator[QuestionResult]:
        """Retrieve alone, one question after the other, timed."""
        await self._guard(questions[0], self._retrieve(questions[0]))  # the first one loads the encoder
        for question in questions:
            yield await self._guard(question, self._retrieve(question))

    async def _retrieve(self, question: Question) -> QuestionResult:
        began = perf_counter()
        evidence = await aretrieve(
            question.text, self.index, strategy=self.strategy, k=self.k, model=self.model, **self.options
        )
        seconds = perf_counter() - began
        return replace(self._rank(question, evidence.ranking), retrieval_seconds=seconds)

    async def _answer(self, question: Question) -> QuestionResult:
        began = perf_counter()
        answer = await aask(
            question.text, self.index, strategy=self.strategy, k=self.k, model=self.model, **self.options
        )
        seconds = perf_counter() - began
        return replace(_score(self._rank(question, answer.ranking), question, answer), seconds=seconds)

    def _rank(self, question: Question, ranking: Iterable[tuple[str, float]]) -> QuestionResult:
        passages = [self.index.passage(passage_id) for passage_id, _ in ranking]
        documents = list(dict.fromkeys(passage.document_id for passage in passages))
        deepest = max(DEPTHS)
        return QuestionResult(
            id=question.id,
            type=question.type,
            ranks=gold_ranks(documents, question.gold_ids),
            answer_rank=answer_rank([passage.text for passage in passages[:deepest]], question.answers),
            documents=tuple(documents[:deepest]),
        )

    async def _guard(self, question: Question, work: Awaitable[QuestionResult]) -> QuestionResult:
        """The result, or that there is none and why; what would befall every question ends the run."""
        try:
            return await work
        except (LLMSetupError, IndexFileError):
            raise
        except MiniragError as error:
            wrong = 0.0 if self.read else None
            return QuestionResult(
                id=question.id,
                type=question.type,
                ranks=(None,) * len(question.gold_ids),
                em=wrong,
                f1=wrong,
                accuracy=wrong,
                error=f"{type(error).__name__}: {error}",
            )


def _score(result: QuestionResult, question: Question, answer: Answer) -> QuestionResult:
    """With the answer and its scores; one that says that nothing was found is wrong, whatever words it uses."""
    scores = [metric(answer.text, question.answers) if answer.found else 0.0 for metric in (exact_match, f1, accuracy)]
    em, overlap, contained = scores
    return replace(
        result,
        answer=answer.text,
        found=answer.found,
        em=em,
        f1=overlap,
        accuracy=contained,
        usage=answer.usage,
    )


async def _side_by_side(
    work: Callable[[Question], Awaitable[None]], questions: Iterable[Question], concurrency: int
) -> None:
    """Work through the questions, so many at a time; when one raises, the others are cancelled."""
    queue: Iterator[Question] = iter(questions)

    async def worker() -> None:
        for question in queue:
            await work(question)

    workers = [asyncio.create_task(worker()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _check_gold(questions: Iterable[Question], absent: frozenset[str], index: Index) -> None:
    for question in questions:
        missing = [gold_id for gold_id in question.gold_ids if gold_id not in absent and gold_id not in index]
        if missing:
            raise InputError(
                f"{index.path}: has no document {missing[0]!r}, which question {question.id!r} needs. "
                "Index the data set's corpus first"
            )
