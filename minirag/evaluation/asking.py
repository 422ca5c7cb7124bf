"""Asking: one question after the other or side by side, timed, scored, and kept as it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

from tqdm import tqdm

from minirag import loop
from minirag.asking import Way, ask_counted, retrieve_alone
from minirag.encoder import is_hosted
from minirag.errors import BudgetExceededError, IndexFileError, InputError, LLMSetupError, MiniragError
from minirag.evaluation.affording import Affording, Answered
from minirag.evaluation.datasets import Question
from minirag.evaluation.metrics import answer_rank, gold_ranks
from minirag.evaluation.results import DEPTHS, QuestionResult
from minirag.evaluation.resuming import ResultLog
from minirag.evaluation.scoring import Scoring, scorer
from minirag.index import Index
from minirag.models import ASKING, OFFLINE
from minirag.records import Budget, Evidence, Ledger, Thinking, Usage

# Strategies that retrieve without a model: what they retrieve can be timed apart, at no cost.
ONE_SHOT = frozenset({"naive", "indexrag"})


class _Retrieved(NamedTuple):
    """What was retrieved for a question that is still to be read, and in how many seconds."""

    evidence: Evidence
    seconds: float


@dataclass(frozen=True, slots=True)
class Asking:
    """How a run asks its questions.

    Attributes:
        index: Open.
        strategy: As for `ask`; likewise `model`, `k` and `options`.
        model: See there.
        k: See there.
        read: Whether answers are read, or evidence is only retrieved.
        options: See there.
        scoring: How answers are scored.
        budget: What all questions together may take; None for no limit.
    """

    index: Index
    strategy: str
    model: str | None
    k: int | None
    read: bool
    options: Mapping[str, Any]
    scoring: Scoring
    budget: Budget | None = None

    @property
    def reader(self) -> str:
        """The name of the model that reads."""
        return self.model or self.index.model

    def describe(self) -> dict[str, Any]:
        """What the results depend on, but for the index and the questions."""
        return {
            "strategy": self.strategy,
            "model": self.reader,
            "k": self.k,
            "read": self.read,
            "options": dict(self.options),
            **self._others(),
            **({"prompts": prompts} if (prompts := self.index.prompts.to_dict()) else {}),
        }

    def _others(self) -> dict[str, dict[Thinking, str]]:
        """The models of other tasks, where the index has others for them."""
        named = {} if self.model else {task: self.index.model_of(task) for task in ASKING}
        others = {task: name for task, name in named.items() if name != self.reader}
        return {"models": others} if others else {}

    def ask_all(
        self, questions: Sequence[Question], *, log: ResultLog | None, concurrency: int, progress: bool
    ) -> tuple[QuestionResult, ...]:
        """Ask every question that the log does not hold yet; results in the order of the questions.

        What the log holds is scored afresh: it may have been scored by other rules.

        Raises:
            BudgetExceededError: When the next call might cost more than is left; its `report` is an `Answered`.
        """
        held = {} if log is None else log.done
        done = {q.id: self._score_anew(held[q.id], q) for q in questions if q.id in held}
        affording = Affording(self.budget, log)
        pending = affording.ordered([question for question in questions if question.id not in done])
        spent: list[Usage] = []
        began = perf_counter()
        with tqdm(total=len(questions), desc=self.strategy, disable=None if progress else True) as bar:
            bar.update(len(done))

            def keep(result: QuestionResult) -> None:
                done[result.id] = result
                spent.append(result.usage)
                bar.update()
                if log is not None:
                    log.append(result)

            try:
                if pending:
                    loop.run(self._ask_all(pending, concurrency, affording, keep))
            except BudgetExceededError as error:
                usage = replace(sum(spent, error.usage or Usage()), seconds=perf_counter() - began)
                takes = affording.describe()
                error.end_run(usage, Answered(self.strategy, len(done), len(questions), log is not None, usage, takes))
                raise
        return tuple(done[question.id] for question in questions)

    async def _ask_all(
        self,
        questions: Sequence[Question],
        concurrency: int,
        affording: Affording,
        keep: Callable[[QuestionResult], None],
    ) -> None:
        if not self.read:
            async for result in self._retrieve_all(questions, affording):
                keep(result)
            return
        timed: dict[str, float | None] = {}
        if self._retrieves_free:
            timed = {result.id: result.retrieval_seconds async for result in self._retrieve_all(questions, affording)}

        stops: list[BudgetExceededError] = []

        async def answer(question: Question) -> None:
            if stops:  # no further one begins; those that were begun come to their ends
                return
            try:
                async with affording.question(question) as ledger:
                    if stops:
                        return
                    retrieved: list[_Retrieved] = []
                    work = self._answer(question, ledger, retrieved)
                    result = await self._guard(question, work, ledger, retrieved)
            except BudgetExceededError as error:
                stops.append(error)
            else:
                keep(replace(result, retrieval_seconds=timed.get(question.id, result.retrieval_seconds)))

        await _side_by_side(answer, questions, concurrency)
        if stops:
            stops[0].usage = sum((stop.usage for stop in stops if stop.usage is not None), Usage())
            raise stops[0]

    @property
    def is_offline(self) -> bool:
        """Whether no model is called."""
        return self.reader == OFFLINE and not self._others()

    @property
    def _retrieves_alike(self) -> bool:
        """Whether retrieval asks no model, and so has a time of its own."""
        return self.strategy in ONE_SHOT or self.is_offline

    @property
    def _retrieves_free(self) -> bool:
        """Whether retrieval costs nothing either, and so can be timed apart."""
        return self._retrieves_alike and not is_hosted(self.index.encoder)

    @property
    def _way(self) -> Way:
        return Way(self.strategy, self.k, self.model, None, None, None, self.options)

    async def _retrieve_all(self, questions: Sequence[Question], affording: Affording) -> AsyncIterator[QuestionResult]:
        """Retrieve alone, one question after the other, timed."""
        if self._retrieves_free:  # the first one loads the encoder
            await self._guard(questions[0], self._retrieve(questions[0], Ledger()), Ledger())
        for question in questions:
            async with affording.question(question) as ledger:
                result = await self._guard(question, self._retrieve(question, ledger), ledger)
            yield result

    async def _retrieve(self, question: Question, ledger: Ledger) -> QuestionResult:
        began = perf_counter()
        evidence = await retrieve_alone(question.text, self.index, self._way, ledger=ledger)
        seconds = perf_counter() - began
        usage = ledger.total(seconds=seconds) if ledger.by_task else Usage()
        return replace(self._rank(question, evidence.ranking), retrieval_seconds=seconds, usage=usage)

    async def _answer(self, question: Question, ledger: Ledger, retrieved: list[_Retrieved]) -> QuestionResult:
        """Retrieve and read; `retrieved` gets what was retrieved as soon as it is there."""
        began = perf_counter()

        def keep(evidence: Evidence) -> None:
            retrieved.append(_Retrieved(evidence, ledger.now()))

        answer = await ask_counted(question.text, self.index, self._way, ledger, on_retrieved=keep)
        seconds = perf_counter() - began
        answered = replace(
            self._rank(question, answer.ranking),
            answer=answer.text,
            found=answer.found,
            usage=answer.usage,
            seconds=seconds,
            retrieval_seconds=answer.trace.retrieval_seconds if self._retrieves_alike else None,
        )
        return self._score(answered, question)

    def _rank(self, question: Question, ranking: Iterable[tuple[str, float]]) -> QuestionResult:
        passages = [self.index.passage(passage_id) for passage_id, _ in ranking]
        documents = list(dict.fromkeys(passage.document_id for passage in passages))
        deepest = max(DEPTHS)
        looked_at = tuple(passage.id for passage in passages[:deepest])
        return QuestionResult(
            id=question.id,
            type=question.type,
            ranks=gold_ranks(documents, question.gold_ids),
            answer_rank=self._answer_rank(looked_at, question),
            documents=tuple(documents[:deepest]),
            passages=looked_at,
        )

    def _answer_rank(self, passages: Iterable[str], question: Question) -> int | None:
        found = map(self.index.passage, passages)
        if scorer(self.scoring).reads_titles:
            texts = (f"title: {self.index.document(each.document_id).title} text: {each.text}" for each in found)
        else:
            texts = (each.text for each in found)
        return answer_rank(texts, question.answers)

    def _score_anew(self, result: QuestionResult, question: Question) -> QuestionResult:
        """What was kept, by the rules of this run."""
        if result.passages:
            result = replace(result, answer_rank=self._answer_rank(result.passages, question))
        return self._score(result, question)

    def _score(self, result: QuestionResult, question: Question) -> QuestionResult:
        """With the answer's scores; one that says that nothing was found is wrong, whatever words it uses."""
        if result.answer is None:
            return result
        rules = scorer(self.scoring)
        em, overlap, contained = (
            metric(result.answer, question.answers) if result.found else 0.0
            for metric in (rules.exact_match, rules.f1, rules.accuracy)
        )
        return replace(result, em=em, f1=overlap, accuracy=contained)

    async def _guard(
        self,
        question: Question,
        work: Awaitable[QuestionResult],
        ledger: Ledger,
        retrieved: Sequence[_Retrieved] = (),
    ) -> QuestionResult:
        """The result, or that it failed, why, and what it took; what would befall every question ends the run.

        Of a question that was retrieved for and could not be read, the retrieval counts as it does for the others.
        """
        try:
            return await work
        except (LLMSetupError, IndexFileError, InputError, BudgetExceededError):
            raise
        except MiniragError as error:
            wrong = 0.0 if self.read else None
            return replace(
                self._rank_failed(question, retrieved),
                em=wrong,
                f1=wrong,
                accuracy=wrong,
                usage=ledger.total(seconds=ledger.now()),
                error=f"{type(error).__name__}: {error}",
            )

    def _rank_failed(self, question: Question, retrieved: Sequence[_Retrieved]) -> QuestionResult:
        if not retrieved:
            return QuestionResult(question.id, question.type, (None,) * len(question.gold_ids))
        evidence, seconds = retrieved[-1]
        ranked = self._rank(question, evidence.ranking)
        return replace(ranked, retrieval_seconds=seconds) if self._retrieves_alike else ranked


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
