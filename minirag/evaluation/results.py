"""What a run measured, question by question, as records, as JSON and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.evaluation.checking import read_checked
from minirag.evaluation.describing import describe_run
from minirag.evaluation.metrics import all_gold_at, mean, recall_at, reciprocal_rank
from minirag.evaluation.scoring import DEFAULT, SCORINGS, Scoring, scorer
from minirag.output import Target, write_text
from minirag.records import Failure, Usage
from minirag.wording import dollars

DEPTHS = (2, 3, 5, 10)
_NO_RUNS = "is no file of runs, as `minirag eval --json` writes it"
RUN_HEAD = (
    *("data set", "strategy", "model", "questions"),
    *(f"R@{k}" for k in DEPTHS),
    *("hit@5", "EM", "F1", "Acc", "calls", "ms", "retrieval ms", "cost", "index MB", "passages"),
)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What a run made of one question.

    Attributes:
        id: The question's.
        type: The question's kind, None where the data set does not say.
        ranks: The rank, from 1, of each gold document in the retrieval, None where it was not retrieved or
            retrieving failed.
        answer_rank: The rank of the first retrieved passage that holds a gold answer, likewise.
        documents: The documents retrieved, best first, at most the deepest of `DEPTHS`.
        passages: The passages that `answer_rank` counts, as many; not in the JSON contract, but where a run goes on.
        answer: What was answered; None when the run does not read, or failed.
        found: Whether the reader found an answer; likewise.
        em: Exact match; likewise, but 0.0 when the question failed. An answer that was not found scores 0.0.
        f1: Word overlap; likewise.
        accuracy: Whether the answer contains a gold answer; likewise.
        usage: Calls, tokens and dollars.
        seconds: Wall time of retrieving and reading, without waiting for its turn; None when the run does not read,
            or failed.
        retrieval_seconds: Wall time of retrieving; None when that failed.
        error: Why the question failed, None when it did not.
    """

    id: str
    type: str | None = None
    ranks: tuple[int | None, ...] = ()
    answer_rank: int | None = None
    documents: tuple[str, ...] = ()
    passages: tuple[str, ...] = field(default=(), compare=False)
    answer: str | None = None
    found: bool | None = None
    em: float | None = None
    f1: float | None = None
    accuracy: float | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None
    retrieval_seconds: float | None = None
    error: str | None = None

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> QuestionResult:
        """The inverse of `dataclasses.asdict`, after JSON made lists of its tuples."""
        return cls(
            **{
                **entry,
                "ranks": tuple(entry["ranks"]),
                "documents": tuple(entry["documents"]),
                "passages": tuple(entry.get("passages", ())),
                "usage": Usage.from_dict(entry["usage"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy with one model over one data set.

    Attributes:
        dataset: The data set's name.
        strategy: "naive", "indexrag", …
        model: The LiteLLM name, or "offline".
        results: One per question, in the data set's order, failed ones too.
        index_bytes: Size of the index file.
        passages: How many passages the index holds.
        settings: What else the figures depend on: k, limit, seed, encoder, concurrency, options.
        versions: Of Python, minirag and the libraries that do the work.
    """

    dataset: str
    strategy: str
    model: str
    results: tuple[QuestionResult, ...]
    index_bytes: int
    passages: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The questions that could not be answered, with the reason; each counts as wrong."""
        return tuple(Failure(result.id, result.error) for result in self.results if result.error is not None)

    @property
    def usage(self) -> Usage:
        """The sum over all questions."""
        return sum((result.usage for result in self.results), Usage())

    def recall(self, k: int) -> float | None:
        """Recall@k: the mean over all questions that name gold documents; None where none does."""
        return self._mean_over_gold(lambda result: recall_at(result.ranks, k))

    def all_gold(self, k: int) -> float | None:
        """The share of the same questions whose gold documents are all in the first k."""
        return self._mean_over_gold(lambda result: all_gold_at(result.ranks, k))

    def mrr(self) -> float | None:
        """Mean reciprocal rank of the first gold document, over the same questions."""
        return self._mean_over_gold(lambda result: reciprocal_rank(result.ranks))

    def answer_hit(self, k: int) -> float:
        """The share of all questions one of whose first k passages holds a gold answer."""
        return mean(recall_at((result.answer_rank,), k) for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """One entry of the JSON contract's `runs`: the summary, and `results`, question by question."""
        entries = [asdict(result) for result in self.results]
        for entry in entries:
            del entry["passages"]
        return self.to_summary() | {"results": entries}

    def to_summary(self) -> dict[str, Any]:
        """The same without the questions; scores in 0 to 1, None where a score does not apply.

        `recall` and its like are keyed by depth as a string. `cost` is the dollars of all questions together, None
        where a price is unknown. `seconds_per_question` and `retrieval_seconds_per_question` are means of wall times,
        the first over retrieving and reading.
        """
        count, usage = len(self.results), self.usage
        return {
            "dataset": self.dataset,
            "strategy": self.strategy,
            "model": self.model,
            "questions": count,
            "recall": {str(k): self.recall(k) for k in DEPTHS},
            "all_gold": {str(k): self.all_gold(k) for k in DEPTHS},
            "mrr": self.mrr(),
            "answer_hit": {str(k): self.answer_hit(k) for k in DEPTHS},
            "em": _mean_of(result.em for result in self.results),
            "f1": _mean_of(result.f1 for result in self.results),
            "accuracy": _mean_of(result.accuracy for result in self.results),
            "not_found": sum(result.found is False for result in self.results),
            "calls_per_question": usage.calls / count,
            "prompt_tokens_per_question": usage.prompt_tokens / count,
            "completion_tokens_per_question": usage.completion_tokens / count,
            "seconds_per_question": _mean_of(result.seconds for result in self.results),
            "retrieval_seconds_per_question": _mean_of(result.retrieval_seconds for result in self.results),
            "cost": usage.cost,
            "index_bytes": self.index_bytes,
            "passages": self.passages,
            "failed": [asdict(failure) for failure in self.failed],
            "settings": dict(self.settings),
            "versions": dict(self.versions),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Run:
        """The inverse of `to_dict`."""
        kept = ("dataset", "strategy", "model", "index_bytes", "passages", "settings", "versions")
        results = tuple(QuestionResult.from_dict(result) for result in entry["results"])
        return cls(results=results, **{key: entry[key] for key in kept})

    @property
    def scoring(self) -> Scoring:
        """How it was scored."""
        scoring: Scoring = self.settings.get("scoring", DEFAULT)
        return scoring

    def counts_for_recall(self, result: QuestionResult) -> bool:
        """Whether one of its questions is among those that recall and its like are means over."""
        return bool(result.ranks) and (bool(result.documents) or not scorer(self.scoring).skips_unretrieved)

    def _mean_over_gold(self, score: Callable[[QuestionResult], float]) -> float | None:
        return _mean_of(score(result) for result in self.results if self.counts_for_recall(result))


def write_runs(runs: Sequence[Run], target: Target) -> None:
    """Write the JSON contract's file, `{"runs": [...]}`: to a path, or into an open binary file.

    Raises:
        OutputError: If the file cannot be written.
    """
    text = json.dumps({"runs": [run.to_dict() for run in runs]}, ensure_ascii=False, indent=1)
    write_text(target, text + "\n")


def read_runs(path: str | Path) -> tuple[Run, ...]:
    """Read what `write_runs` wrote.

    Raises:
        InputError: If the file cannot be read or is not of that form; the message names the field.
    """
    entries = read_checked(Path(path), dict[str, tuple[Run, ...]], _NO_RUNS).get("runs")
    if entries is None:
        raise InputError(f"{path}: {_NO_RUNS}: runs is missing")
    runs = []
    for number, entry in enumerate(entries):
        try:
            runs.append(Run.from_dict(entry))
            _check(runs[-1])
        except KeyError as error:
            raise InputError(f"{path}: {_NO_RUNS}: runs[{number}]: {error} is missing") from error
        except (TypeError, InputError) as error:
            raise InputError(f"{path}: {_NO_RUNS}: runs[{number}]: {error}") from error
    return tuple(runs)


def _check(run: Run) -> None:
    """What a run must be beyond the types of its fields."""
    settings = run.settings
    if not run.results:
        raise InputError("results is empty")
    if settings.get("scoring", DEFAULT) not in SCORINGS:
        raise InputError(f"settings.scoring is {settings['scoring']!r}, not {', '.join(SCORINGS)}")
    for name in ("options", "models", "index"):
        if not isinstance(settings.get(name) or {}, dict):
            raise InputError(f"settings.{name} is {settings[name]!r}, not an object")
    for name in ("k", "limit"):
        if not isinstance(settings.get(name), int | None):
            raise InputError(f"settings.{name} is {settings[name]!r}, not a number")
    for number, result in enumerate(run.results):
        if any(rank is not None and rank < 1 for rank in (*result.ranks, result.answer_rank)):
            raise InputError(f"results[{number}]: a rank is below 1")


def table(runs: Sequence[Run]) -> str:
    """The runs as a Markdown table: scores in percent, times in milliseconds, the index in MB of a million bytes."""
    return format_table(RUN_HEAD, [run_row(run, runs) for run in runs], left=3)


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> str:
    """A Markdown table, padded so that it reads as plain text too.

    Args:
        head: The columns' names.
        rows: Each as long as the head.
        left: How many columns, from the first, hold text; the others hold numbers and are set right.
    """
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[column]) for row in escaped)) for column in range(len(head))]
    lines = [
        [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in escaped
    ]
    rule = ["-" * width if column < left else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def run_row(run: Run, among: Sequence[Run] = ()) -> list[str]:
    """One run under `RUN_HEAD`, `among` the runs of the table."""
    scores = run.to_summary()
    return [
        *(run.dataset, describe_run(run, among), run.model, str(len(run.results))),
        *(_percent(run.recall(k)) for k in DEPTHS),
        _percent(run.answer_hit(5)),
        *(_percent(scores[key]) for key in ("em", "f1", "accuracy")),
        f"{scores['calls_per_question']:.1f}",
        _milliseconds(scores["seconds_per_question"]),
        _milliseconds(scores["retrieval_seconds_per_question"]),
        "?" if scores["cost"] is None else dollars(scores["cost"], places=2),
        f"{run.index_bytes / 1e6:.1f}",
        f"{run.passages:,}",
    ]


def _mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of those that are there; None when none is."""
    numbers = [value for value in values if value is not None]
    return mean(numbers) if numbers else None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:.1f}"
