"""`minirag eval` and `minirag bench`: what measures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minirag.cli.options import (
    FILE,
    k_option,
    model_arguments,
    model_options,
    note_offline,
    options_by_strategy,
    quiet_option,
    shows_bars,
    strategy_options,
)
from minirag.cli.printing import end_with
from minirag.cli.running import FAILED, command
from minirag.index import Index
from minirag.strategies import STRATEGIES

if TYPE_CHECKING:
    from minirag.evaluation.datasets import Dataset
    from minirag.evaluation.results import Run
    from minirag.records import Failure


@command(
    "eval",
    epilog="\b\nExample:\n  minirag eval data/2wiki --index 2wiki.usearch \\\n"
    "    --strategy naive --strategy indexrag --limit 300 --json runs.json",
)
@click.argument("folders", nargs=-1, required=True, metavar="FOLDERS...", type=click.Path(path_type=Path))
@click.option(
    "--index",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The index file, which gets the corpus if it lacks it; for several data sets a folder with a file for each.",
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(STRATEGIES)),
    default=["indexrag"],
    show_default=True,
    help="How to retrieve; may be given several times.",
)
@model_options
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask N of the questions, drawn by the seed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another one draws other questions.")
@k_option
@strategy_options
@click.option("--no-read", is_flag=True, help="Retrieve only: no answers, and no calls for them.")
@click.option("--json", "output", metavar="FILE", type=FILE, help="Write the runs there, question by question.")
@click.option(
    "--resume",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep answers there as they come, so that a stopped run goes on where it was.",
)
@quiet_option
def evaluate(
    folders: tuple[Path, ...],
    *,
    path: Path,
    strategies: tuple[str, ...],
    model: str | None,
    api_base: str | None,
    limit: int | None,
    seed: int,
    k: int | None,
    no_read: bool,
    output: Path | None,
    resume: Path | None,
    quiet: bool,
    **options: int | str | bool | None,
) -> None:
    """Ask the questions of data sets and score retrieval and answers.

    A data set is a folder with questions.json and corpus.json, or a file of questions about what the index holds.
    Prints a table of recall@k, exact match, F1, time and cost.
    """
    from minirag.evaluation.datasets import load_dataset
    from minirag.evaluation.results import table, write_runs
    from minirag.evaluation.runs import build_index
    from minirag.evaluation.runs import evaluate as evaluate_one

    chosen = options_by_strategy(strategies, options)
    _require_folder(output)
    arguments = model_arguments(model, api_base)
    datasets = [load_dataset(folder) for folder in folders]
    if not quiet:
        note_offline(model, "evaluating")
    runs: list[Run] = []
    failures: list[Failure] = []
    for dataset, place in zip(datasets, _places(datasets, path), strict=True):
        failures += build_index(dataset, place, progress=shows_bars(quiet=quiet), **arguments).failed
        with Index(place, mode="r", **arguments) as opened:
            for strategy, more in chosen.items():
                run = evaluate_one(
                    dataset,
                    opened,
                    strategy=strategy,
                    limit=limit,
                    seed=seed,
                    k=k,
                    read=not no_read,
                    resume=None if resume is None else _log_in(resume, dataset, strategy),
                    progress=shows_bars(quiet=quiet),
                    **more,
                )
                failures += run.failed
                runs.append(run)
    if output is not None:
        write_runs(runs, output)
    click.echo(table(runs))
    end_with(failures)


@command(epilog="\b\nExample:\n  minirag bench data/2wiki --json bench.json")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Repeat next to nothing: shows that it runs, and no more.")
@click.option("--json", "output", metavar="FILE", type=FILE, help="Write all figures there.")
@quiet_option
def bench(*, folder: Path | None, quick: bool, output: Path | None, quiet: bool) -> None:
    """Measure what minirag promises of its speed, on this machine and offline.

    FOLDER is a data set with a corpus; without one, the demo is taken. Exit code 1 when a figure misses its limit.
    """
    from minirag.evaluation.bench import run_bench
    from minirag.evaluation.results import table

    _require_folder(output)
    measured = run_bench(folder, quick=quick, progress=shows_bars(quiet=quiet))
    if output is not None:
        output.write_text(json.dumps(measured.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    click.echo(measured.table())
    click.echo()
    click.echo(table(measured.runs))
    if not (measured.holds or quick):
        click.get_current_context().exit(FAILED)


def _places(datasets: Sequence[Dataset], path: Path) -> list[Path]:
    """Where the index of each data set lies."""
    if len(datasets) == 1:
        if path.is_dir():
            raise click.UsageError(f"--index {path} is a folder; give a file for a single data set")
        return [path]
    places = [path / f"{dataset.name}.usearch" for dataset in datasets]
    if len(set(places)) < len(places):
        raise click.UsageError("two of the data sets have the same name, and would share an index")
    if path.is_file():
        raise click.UsageError(f"--index {path} is a file; give a folder for several data sets")
    path.mkdir(parents=True, exist_ok=True)
    return places


def _log_in(folder: Path, dataset: Dataset, strategy: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{dataset.name}-{strategy}.jsonl"


def _require_folder(output: Path | None) -> None:
    """Find out before a long run that its results cannot be written."""
    if output is not None and not output.parent.is_dir():
        raise click.UsageError(f"--json {output}: there is no folder {output.parent}")
