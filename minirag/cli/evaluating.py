"""`minirag eval`: data sets through strategies, scored, and runs as tables and pages."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minirag.cli.choices import DOLLARS, Choice, Place
from minirag.cli.concluding import Outputs
from minirag.cli.options import (
    FILE,
    cost_options,
    encoder_option,
    k_option,
    model_arguments,
    model_options,
    note_offline,
    options_by_strategy,
    quiet_option,
    shows_bars,
    strategy_for,
    strategy_options,
)
from minirag.cli.places import index_files, require_folder, require_index_place
from minirag.cli.printing import echo_failures, echo_note, end_with
from minirag.cli.running import command
from minirag.cli.sweeps import parse_sweep, sweep_option
from minirag.errors import BudgetExceededError, MiniragError, OutputError
from minirag.index import Index
from minirag.records import Budget, Failure
from minirag.storage.discarding import leaving_nothing_empty
from minirag.strategies import STRATEGIES
from minirag.wording import cut_name, dollars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minirag.evaluation.costing import Forecast
    from minirag.evaluation.datasets import Dataset
    from minirag.evaluation.results import Run
    from minirag.evaluation.variants import Variant

_RUNS = Path("minirag-runs")
_RUN_FILE = "*-" + "[0-9a-f]" * 8 + ".json"  # as `save_run` names them


@command(
    "eval",
    epilog="\b\nExample:\n  minirag eval data/2wiki --index 2wiki.usearch \\\n"
    "    --strategy naive --strategy indexrag --limit 300\n"
    "  minirag eval minirag-runs --report report.html",
)
@click.argument("sources", nargs=-1, required=True, metavar="DATASETS...", type=Place(path_type=Path))
@click.option(
    "--index",
    "path",
    metavar="FILE",
    type=Place(path_type=Path),
    help="The index file, which gets the corpus if it lacks it; for several data sets a folder with a file for each.",
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=Choice(list(STRATEGIES)),
    help="How to retrieve; may be given several times [indexrag with a model, kirag offline].",
)
@model_options
@cost_options
@encoder_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask N of the questions, drawn by the seed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another one draws other questions.")
@k_option
@strategy_options
@sweep_option
@click.option("--no-read", is_flag=True, help="Retrieve only: no answers, and no calls for them.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), metavar="N", help="Questions answered side by side [8; offline 1]."
)
@click.option(
    "--scoring",
    type=Choice(["minirag", "kirag", "indexrag"]),
    default="minirag",
    show_default=True,
    help="Or as the released code of a paper does, to compare with its tables.",
)
@click.option(
    "--runs",
    "--resume",
    "folder",
    metavar="FOLDER",
    type=Place(file_okay=False, path_type=Path),
    default=_RUNS,
    show_default=True,
    help="Each run is a file there, and a stopped one goes on where it was.",
)
@click.option(
    "--json",
    "output",
    metavar="FILE",
    type=FILE,
    help="Write all runs there, question by question; - for standard output, the tables then go to standard error.",
)
@click.option("--report", metavar="FILE", type=FILE, help="Write a page with plots there, and a .md beside it.")
@click.option("--ask-above", type=DOLLARS, default=1.0, show_default=True, metavar="DOLLARS", help="Ask first.")
@click.option("-y", "--yes", is_flag=True, help="Never ask, whatever it costs.")
@quiet_option
def evaluate(
    sources: tuple[Path, ...],
    *,
    path: Path | None,
    strategies: tuple[str, ...],
    model: str | None,
    api_base: str | None,
    price: tuple[float, float] | None,
    encoder: str | None,
    max_cost: float | None,
    output: Path | None,
    report: Path | None,
    quiet: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Ask the questions of data sets and score retrieval and answers.

    A data set is a folder with questions.json and corpus.json, or a file of questions: as HotpotQA, 2WikiMultiHopQA,
    MuSiQue, DPR and Bamboogle publish them, or your own {question, answers, gold_ids}. Prints recall@k, exact match,
    F1, time and cost, and what differs by more than chance. Given files of runs, or a folder of them, instead, nothing
    is asked again. --max-cost is for indexing and all runs together; the same command goes on from where it stopped.
    """
    from minirag.evaluation.datasets import load_dataset
    from minirag.evaluation.measured_files import find_measured, read_measured

    outputs = Outputs(output, report)
    outputs.require()
    files = find_measured(sources)
    if files is not None:
        outputs.require_apart(dict.fromkeys(files, "what is read"))
        measured, scalings = read_measured(files)
        outputs.conclude(measured, scalings=scalings)
        return
    if path is None:
        raise click.UsageError("Missing option '--index'.")
    require_folder(given["folder"], "--runs")
    arguments = {**model_arguments(model, api_base, price), "encoder": encoder}
    settings = {name: given.pop(name) for name in ("limit", "seed", "concurrency", "scoring", "folder")}
    asking = {name: given.pop(name) for name in ("ask_above", "yes")} | {"max_cost": max_cost}
    settings["read"] = not given.pop("no_read")
    variants = _variants(strategies or [strategy_for(model)], given)
    datasets = [load_dataset(source) for source in sources]
    places = _places(datasets, path)
    outputs.require_apart(_kept(sources, places, settings["folder"]))
    if not quiet:
        note_offline(model, "evaluating")
    asked = list(zip(datasets, places, strict=True))
    runs: list[Run] = []
    failures: list[Failure] = []
    try:
        for run, failed in _evaluate_all(asked, variants, arguments, settings, asking, quiet=quiet):
            runs += [] if run is None else [run]
            failures += failed
    except MiniragError:
        _save_what_is_whole(outputs, runs)
        echo_failures(failures)
        raise
    outputs.conclude(runs)
    end_with(failures)


def _save_what_is_whole(outputs: Outputs, runs: Sequence[Run]) -> None:
    """Show and write the runs that came to their ends before what ends the command now, which the user must hear of."""
    if not runs:
        return
    try:
        outputs.conclude(runs)
    except OutputError as error:
        echo_note(str(error))


def _variants(strategies: Sequence[str], options: dict[str, Any]) -> list[Variant]:
    """What is asked: every strategy with those of the options that it takes, swept."""
    from minirag.evaluation.variants import Variant, sweep

    sweeps, k = options.pop("sweeps"), options.pop("k")
    variants = [Variant(name, taken, k) for name, taken in options_by_strategy(strategies, options).items()]
    for name, values in map(parse_sweep, sweeps):
        variants = sweep(variants, name, values)
    return [variant for number, variant in enumerate(variants) if variant not in variants[:number]]


def _evaluate_all(
    asked: Sequence[tuple[Dataset, Path]],
    variants: Sequence[Variant],
    arguments: Mapping[str, Any],
    settings: Mapping[str, Any],
    asking: Mapping[str, Any],
    *,
    quiet: bool,
) -> Iterator[tuple[Run | None, Sequence[Failure]]]:
    """Index each data set and ask its questions: gives what failed of the indexing, then each run when it is done."""
    from minirag.evaluation.runs import build_index, check_indexed

    bars = shows_bars(quiet=quiet)
    expected = [
        each
        for dataset, place in asked
        for each in _forecast(dataset, place, variants, arguments, settings, progress=bars)
    ]
    if asking["max_cost"] is not None:
        _require_prices(expected)
    _confirm(expected, **asking)
    budget = Budget.of(asking["max_cost"])
    for dataset, place in asked:
        _note_absent(dataset, quiet=quiet)
        try:
            with leaving_nothing_empty(place):
                built = build_index(dataset, place, progress=bars, max_cost=budget, **arguments)
        except BudgetExceededError as error:
            yield None, error.report.failed if error.report is not None else ()
            raise
        yield None, built.failed
        with Index(place, mode="r", **arguments) as opened:
            check_indexed(dataset.sample(settings["limit"], seed=settings["seed"]), opened, built)
            for variant in variants:
                run = _evaluate_one(dataset, opened, variant, {**settings, "max_cost": budget}, progress=bars)
                yield run, run.failed


def _evaluate_one(
    dataset: Dataset, opened: Index, variant: Variant, settings: Mapping[str, Any], *, progress: bool
) -> Run:
    """One run, which is in its file afterwards."""
    from minirag.evaluation.runs import evaluate as evaluate_one
    from minirag.evaluation.runs import save_run

    chosen = dict(settings)
    folder = chosen.pop("folder")
    folder.mkdir(parents=True, exist_ok=True)
    run = evaluate_one(
        dataset,
        opened,
        strategy=variant.strategy,
        k=variant.k,
        resume=folder,
        progress=progress,
        **chosen,
        **variant.options,
    )
    save_run(run, folder)
    return run


def _note_absent(dataset: Dataset, *, quiet: bool) -> None:
    if dataset.absent and not quiet:
        echo_note(
            f"{dataset.name}: {len(dataset.absent):,} gold articles are in no context; they count as not found. Add a "
            "corpus.json that holds them for the full setting"
        )


# --- cost ----------------------------------------------------------------------------------------------------------


def _forecast(
    dataset: Dataset,
    place: Path,
    variants: Sequence[Variant],
    arguments: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    progress: bool,
) -> Iterable[Forecast]:
    from minirag.evaluation.costing import forecast

    limits = {name: settings[name] for name in ("limit", "seed", "read")}
    return forecast(dataset, place, variants, resume=settings["folder"], progress=progress, **limits, **arguments)


def _require_prices(expected: Sequence[Forecast]) -> None:
    """Say that a budget cannot be kept before anything else is asked.

    Raises:
        InputError: If the price of a model that would be called is unknown.
    """
    from minirag.llm.sending import unknown_price

    for name in (name for each in expected for name in each.unpriced):
        raise unknown_price(name)


def _confirm(expected: Sequence[Forecast], *, ask_above: float, yes: bool, max_cost: float | None) -> None:
    """Say what it would cost, and ask where that is much or unknown."""
    if not expected:
        return
    for each in expected:
        cost = "price unknown" if each.cost is None else dollars(each.cost)
        click.echo(f"{each.what}: at most {each.calls:,} calls, some {each.tokens:,} tokens, {cost}", err=True)
    costs = [each.cost for each in expected if each.cost is not None]
    known = sum(costs) if len(costs) == len(expected) else inf
    most = known if max_cost is None else min(known, max_cost)
    if yes or most <= ask_above:
        return
    told = "The price is unknown" if most == inf else f"{dollars(most)} in all"
    click.confirm(f"{told}. Go on?", abort=True, err=True)


# --- places --------------------------------------------------------------------------------------------------------


def _places(datasets: Sequence[Dataset], path: Path) -> list[Path]:
    """Where the index of each data set lies."""
    if len(datasets) == 1:
        require_index_place(path, "--index")
        if path.is_dir():
            raise click.UsageError(f"--index {path} is a folder; give a file for a single data set")
        return [path]
    places = [path / f"{cut_name(dataset.name, most=200)}.usearch" for dataset in datasets]
    if len(set(places)) < len(places):
        raise click.UsageError("two of the data sets have the same name, and would share an index")
    require_folder(path, "--index")
    path.mkdir(parents=True, exist_ok=True)
    return places


def _kept(sources: Sequence[Path], places: Sequence[Path], folder: Path) -> dict[Path, str]:
    """The files that no output may overwrite, and what each of them is."""
    from minirag.evaluation.datasets import files_of

    kept = {file: "a file of the data set" for source in sources for file in files_of(source)}
    for place in places:
        kept |= index_files(place)
    runs = [file for kind in ("*.jsonl", _RUN_FILE) for file in folder.glob(kind)]
    return kept | dict.fromkeys(runs, "what a run left")
