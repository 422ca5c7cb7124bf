"""Runs: every question of a data set through one strategy, scored."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.evaluation.asking import Asking
from minirag.evaluation.datasets import Dataset, Question, describe_question
from minirag.evaluation.results import Run, write_runs
from minirag.evaluation.resuming import ResultLog, find_answered, log_in, name_run
from minirag.evaluation.scoring import DEFAULT, Scoring, scorer
from minirag.evaluation.variants import Variant
from minirag.index import Index
from minirag.records import AddReport, Budget, IndexInfo
from minirag.storage.store import is_there
from minirag.strategies import default_strategy
from minirag.version import __version__

# The settings that say what was asked and how, and not of which state of the index.
ASKED = (
    *("dataset", "encoder", "encoder_fingerprint", "strategy", "model", "models", "prompts", "k", "read", "options"),
    *("limit", "seed", "scoring"),
)
LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "usearch", "openai", "litellm")


def build_index(
    dataset: Dataset,
    path: str | Path,
    *,
    model: str | None = None,
    encoder: str | Path | None = None,
    progress: bool = True,
    max_cost: float | Budget | None = None,
    **llm_options: Any,  # noqa: ANN401
) -> AddReport:
    """Create the index of a data set, or add to it what it lacks; nothing happens where it is whole.

    Args:
        dataset: Its corpus is indexed. Without one, the index must be there.
        path: The index file.
        model: As for `Index`; likewise `encoder` and `llm_options`.
        encoder: See there.
        progress: Show a bar.
        max_cost: As for `Index.add`.
        llm_options: As for `Index`.

    Raises:
        InputError: If the data set has no corpus and there is no such file, or `max_cost` is given for a model of
            unknown price.
        BudgetExceededError: As `Index.add` raises it.
        IndexFileError: As `Index` and `Index.add` raise it.
        LLMSetupError: When the model cannot be called at all.
    """
    if not dataset.documents:
        if not is_there(Path(path)):
            raise InputError(f"{dataset.name} has no corpus, and there is no index {path} to ask its questions of")
        return AddReport()
    with Index(path, model=model, encoder=encoder, **llm_options) as index:
        return index.add(dataset.documents, triples=dataset.triples or None, progress=progress, max_cost=max_cost)


def evaluate(
    dataset: Dataset,
    index: Index,
    *,
    strategy: str | None = None,
    model: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    k: int | None = None,
    read: bool = True,
    concurrency: int | None = None,
    scoring: Scoring = DEFAULT,
    resume: str | Path | None = None,
    progress: bool = True,
    max_cost: float | Budget | None = None,
    **options: Any,  # noqa: ANN401
) -> Run:
    """Ask an index the questions of a data set and score what comes back.

    A question that fails counts as wrong and is in `Run.failed`; if it could only not be read, what was retrieved
    for it counts as ever. Retrieval is timed first, one question after the other; reading then goes on side by side.
    Where the strategy retrieves by a model, retrieval has no time of its own.

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
        scoring: How answers are scored; see `minirag.evaluation.scoring`.
        resume: A file that keeps results as they come, or a folder that has such a file for each run. What it holds is
            not asked again.
        progress: Show a bar, where standard error is a terminal.
        max_cost: Dollars that all questions together may take, or a budget that indexing and several runs share; None
            for no limit. Near its end fewer questions are asked side by side, and none is begun that it would not
            suffice for.
        options: Of the strategy.

    Raises:
        ValueError: On a limit, k or concurrency below 1, an unknown strategy or scoring, or a wrong option of it.
        InputError: If a gold document is not in the index, `resume` is not a file of this very run or another
            process writes it, the index lacks what the strategy needs, or `max_cost` is given for a model of unknown
            price.
        BudgetExceededError: When the next call might cost more than `max_cost` leaves; what was answered before is in
            `resume`, and `error.report` tells how much that is.
        LLMSetupError: If the model cannot be called at all; what was answered before is in `resume`.
        IndexFileError: If the index cannot be read, or was built with another encoder than is to be had.
        EncoderError: If its encoder cannot be loaded.
        OutputError: If `resume` cannot be written, from the start or any more; what it holds is kept.
    """
    questions = dataset.sample(limit, seed=seed).questions
    _check_gold(questions, dataset.absent, index)
    scorer(scoring)
    index.require_encoder()
    info = index.info()
    strategy = strategy or default_strategy(model or index.model)
    asking = Asking(index, strategy, model, k, read, options, scoring, Budget.of(max_cost))
    if concurrency is None:
        concurrency = 1 if asking.is_offline else 8
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    conditions = asking.describe() | {"dataset": dataset.name, **describe_encoder(index, info)}
    kept = conditions | _describe_state(index, info)
    path = None if resume is None else log_in(resume, kept)
    with nullcontext() if path is None else ResultLog(path, conditions=kept, questions=questions) as log:
        results = asking.ask_all(questions, log=log, concurrency=concurrency, progress=progress)
    drawn = {"limit": limit, "seed": seed, "concurrency": concurrency, "scoring": scoring}
    return Run(
        dataset=dataset.name,
        strategy=strategy,
        model=asking.reader,
        results=results,
        index_bytes=info.bytes,
        passages=info.passages,
        settings=conditions | drawn | {"index_model": info.model, "index": _describe_index(index, info)},
        versions=library_versions(),
    )


def count_unanswered(
    dataset: Dataset,
    index: Index,
    variant: Variant,
    *,
    resume: str | Path,
    limit: int | None = None,
    seed: int = 0,
    read: bool = True,
) -> int:
    """How many questions `evaluate` would ask with these arguments, as `resume` has no results of them.

    Args:
        dataset: As for `evaluate`; likewise all others, but for `variant`.
        index: Open, as it will be when they are asked.
        variant: The strategy with its options.
        resume: See `evaluate`.
        limit: See `evaluate`.
        seed: See `evaluate`.
        read: See `evaluate`.

    Raises:
        InputError: If the file of results is none.
    """
    questions, info = dataset.sample(limit, seed=seed).questions, index.info()
    asking = Asking(index, variant.strategy, None, variant.k, read, variant.options, DEFAULT)
    conditions = asking.describe() | {"dataset": dataset.name, **describe_encoder(index, info)}
    path = log_in(resume, conditions | _describe_state(index, info))
    return len(questions) - len(find_answered(path, questions))


def _describe_state(index: Index, info: IndexInfo) -> dict[str, Any]:
    """What results depend on beside what is asked and how: what the index holds, and the version."""
    version = library_versions().get("minirag")
    return {"index_model": info.model, "index_content": index.snapshot.digest, "minirag": version}


def describe_encoder(index: Index, info: IndexInfo) -> dict[str, str]:
    """Its name, and by what vectors are the same: the fingerprint, with that of triples' where they have another."""
    prints = dict.fromkeys((index.encoder.fingerprint, index.aligner.fingerprint))
    return {"encoder": info.encoder, "encoder_fingerprint": "+".join(prints)}


def _describe_index(index: Index, info: IndexInfo) -> dict[str, Any]:
    """What the index holds, in numbers and as a digest, and what building it took over its life."""
    usage = info.usage
    held = {name: getattr(info, name) for name in ("documents", "passages", "facts", "bridges", "triples")}
    return held | {
        "content": index.snapshot.digest,
        "calls": usage.calls,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost": usage.cost,
        "seconds": usage.seconds,
    }


def save_run(run: Run, folder: str | Path) -> Path:
    """Write one run as a file of its own in a folder; one that asked the same in the same way is replaced.

    Raises:
        OutputError: If it cannot be written.
    """
    path = Path(folder) / f"{name_run({key: run.settings[key] for key in ASKED if key in run.settings})}.json"
    write_runs([run], path)
    return path


def library_versions() -> dict[str, str]:
    """Of Python, minirag as it runs, and the libraries that do the work, as far as they are installed."""
    found = {"python": platform.python_version(), "minirag": __version__}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _check_gold(questions: Iterable[Question], absent: frozenset[str], index: Index) -> None:
    for question in questions:
        missing = [gold_id for gold_id in question.gold_ids if gold_id not in absent and gold_id not in index]
        if missing:
            raise InputError(
                f"{index.path}: has no document {missing[0]!r}, which {describe_question(question)} needs. "
                "Index the data set's corpus first"
            )


def check_indexed(dataset: Dataset, index: Index, built: AddReport) -> None:
    """Check that no document which a question needs is missing as it could not be indexed.

    Args:
        dataset: Of the questions that will be asked; see `Dataset.sample`.
        index: Open.
        built: What `build_index` did.

    Raises:
        InputError: If one is; the message has the reason.
    """
    reasons = {failure.id: failure.reason for failure in built.failed}
    for question in dataset.questions:
        for gold_id in (gold for gold in question.gold_ids if gold in reasons and gold not in index):
            raise InputError(
                f"{dataset.name}: document {gold_id!r}, which {describe_question(question)} needs, could not be "
                f"indexed: {reasons[gold_id]}"
            )
