"""All that the README's results are made of, by one command that may be stopped and started again at any time.

`python -m minirag.evaluation.measuring DATA FOLDER` measures the data sets `2wiki`, `hotpotqa`, `musique` and
`2wiki_llm_triples` in DATA, as far as they are there, and keeps everything in FOLDER: an index of each and how long it
took, a file for each run, the bench, and the growth; with `--encoder`, the runs of encoders that the shipped one is
compared with, too. `python -m minirag.evaluation.readme README.md FOLDER` then writes the README's section.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import click

from minirag.errors import OutputError
from minirag.evaluation.bench import describe_machine, run_bench
from minirag.evaluation.checking import read_checked
from minirag.evaluation.datasets import Dataset, load_dataset
from minirag.evaluation.encoders import measure_encoder
from minirag.evaluation.runs import build_index, evaluate, save_run
from minirag.evaluation.scaling import SIZES, run_scaling
from minirag.evaluation.variants import Variant, sweep
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.output import check_folder, write_text
from minirag.telling import Script

PARTS_OF_IT = ("quality", "encoders", "speed", "growth")
DATASETS = ("2wiki", "hotpotqa", "musique")
WITH_TRIPLES = "2wiki_llm_triples"
BUILDING = "building.json"

# Each with its name in the tables.
READ: tuple[tuple[str, Variant], ...] = (
    ("BM25 (`naive`, `--mode lexical`)", Variant("naive", {"mode": "lexical"})),
    ("`naive`: passages", Variant("naive")),
    ("both (`naive`, `--mode hybrid`)", Variant("naive", {"mode": "hybrid"})),
    ("`indexrag`", Variant("indexrag")),
    ("`ircot` over passages (`--over naive`)", Variant("ircot", {"over": "naive"})),
    ("`ircot` over facts", Variant("ircot")),
    ("**`kirag`**", Variant("kirag")),
)
PARTS: tuple[tuple[str, Variant], ...] = (
    ("one step (`--steps 1`)", Variant("kirag", {"steps": 1})),
    ("three steps (`--steps 3`)", Variant("kirag", {"steps": 3})),
    ("without names from the facts (`--without followed`)", Variant("kirag", {"without": ("followed",)})),
    ("without names from the question (`--without asked`)", Variant("kirag", {"without": ("asked",)})),
    ("without both", Variant("kirag", {"without": ("asked", "followed")})),
    ("without BM25 (`--without lexical`)", Variant("kirag", {"without": ("lexical",)})),
    ("without the facts' similarity (`--without facts`)", Variant("kirag", {"without": ("facts",)})),
    ("chains of rule-made triples (`--units triple`)", Variant("kirag", {"units": "triple"})),
    ("chains of passages (`--units passage`)", Variant("kirag", {"units": "passage"})),
    ("query: question and last unit, three steps", Variant("kirag", {"query": "last", "steps": 3})),
    ("the paper's ranking, sentences (`--no-bridges`)", Variant("kirag", {"bridges": False})),
    ("the paper's ranking, triples", Variant("kirag", {"bridges": False, "units": "triple"})),
)
TRIPLES: tuple[tuple[str, Variant], ...] = (
    ("`naive`", Variant("naive")),
    ("`kirag` by facts", Variant("kirag")),
    ("`kirag` by triples (`--units triple`)", Variant("kirag", {"units": "triple"})),
    ("by triples, the paper's ranking (`--no-bridges`)", Variant("kirag", {"bridges": False, "units": "triple"})),
)
SWEEPS_READ = (("indexrag", "k_b", (0, 1, 2, 5)),)
SWEEPS = (("kirag", "pool", (3, 5, 20)), ("kirag", "candidates", (5, 10, 40)))


def measure_quality(data: Path, folder: Path, *, limit: int | None = None, progress: bool = True) -> None:
    """Every data set by every strategy and variant.

    Args:
        data: Has the data sets' folders; those that are not there are passed over.
        folder: Gets indexes and runs.
        limit: How many questions of each.
        progress: Show bars.
    """
    for name in (*DATASETS, WITH_TRIPLES):
        if (data / name).exists():
            dataset, path = load_dataset(data / name), folder / f"{name}.usearch"
            _build(dataset, path, folder, progress=progress)
            for variant, read in _variants(name):
                _measure(dataset, path, variant, folder, read=read, limit=limit, progress=progress)


def _build(dataset: Dataset, path: Path, folder: Path, *, progress: bool) -> None:
    """The index, and how long it took, where it was made in one go."""
    began = perf_counter()
    built = build_index(dataset, path, model=OFFLINE, progress=progress)
    seconds = perf_counter() - began
    if len(built.added) == len(dataset.documents):
        output = folder / BUILDING
        earlier = read_building(output) if output.exists() else {}
        write_text(output, json.dumps({"building": {**earlier, dataset.name: seconds}}, indent=1) + "\n")


def read_building(path: Path) -> dict[str, float]:
    """Seconds that building an index took, by data set, as `measure_quality` leaves them.

    Raises:
        InputError: If the file cannot be read or is not of that form.
    """
    found: dict[str, dict[str, float]] = read_checked(path, dict[str, dict[str, float]], f"is no {BUILDING}")
    return found.get("building", {})


def _variants(name: str) -> Iterator[tuple[Variant, bool]]:
    """What is asked of a data set, and whether answers are read."""
    if name == WITH_TRIPLES:
        yield from ((variant, False) for _, variant in TRIPLES)
        return
    yield from ((variant, True) for _, variant in READ)
    yield from ((variant, False) for _, variant in PARTS)
    for sweeps, read in ((SWEEPS_READ, True), (SWEEPS, False)):
        for strategy, option, values in sweeps:
            yield from ((variant, read) for variant in sweep([Variant(strategy)], option, values))


def _measure(
    dataset: Dataset, path: Path, variant: Variant, folder: Path, *, read: bool, limit: int | None, progress: bool
) -> None:
    with Index(path, mode="r", model=OFFLINE) as index:
        run = evaluate(
            dataset,
            index,
            strategy=variant.strategy,
            k=variant.k,
            read=read,
            limit=limit,
            resume=folder,
            progress=progress,
            **variant.options,
        )
    save_run(run, folder)


def measure_speed(data: Path, folder: Path, *, quick: bool = False, progress: bool = True) -> None:
    """The bench on the first data set that is there; not again where its file is."""
    output = folder / "bench.json"
    if not output.exists():
        found = run_bench(_first(data), quick=quick, progress=progress).to_dict()
        write_text(output, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def measure_encoders(
    data: Path, folder: Path, encoders: Sequence[Path], *, limit: int | None = None, progress: bool = True
) -> None:
    """Retrieval by other encoders, over copies of the indexes.

    Args:
        data: As for `measure_quality`; likewise the others.
        folder: See there.
        encoders: Their folders.
        limit: See there.
        progress: See there.
    """
    for name in DATASETS:
        if (data / name).exists():
            dataset, path = load_dataset(data / name), folder / f"{name}.usearch"
            _build(dataset, path, folder, progress=progress)
            for encoder in encoders:
                measure_encoder(dataset, path, encoder, folder, limit=limit, progress=progress)


def measure_growth(data: Path, folder: Path, sizes: Sequence[int], *, progress: bool = True) -> None:
    """The growth from the same data set, over its index."""
    source = _first(data)
    index = folder / f"{source.name}.usearch"
    dataset = load_dataset(source)
    _build(dataset, index, folder, progress=progress)
    machine = describe_machine()
    run_scaling(dataset, folder / "growth.json", index=index, sizes=sizes, progress=progress, machine=machine)


def _first(data: Path) -> Path:
    found = next((data / name for name in DATASETS if (data / name).exists()), None)
    if found is None:
        raise click.UsageError(f"{data} holds none of the data sets {', '.join(DATASETS)}")
    return found


@click.command(cls=Script)
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS_OF_IT), help="Only these.")
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another encoder to compare with; may be given several times.",
)
@click.option("--limit", type=click.IntRange(min=1), help="So many questions of each data set.")
@click.option("--quick", is_flag=True, help="The bench repeats next to nothing.")
@click.option(
    "--most", type=click.IntRange(min=1), default=max(SIZES), show_default=True, help="Largest size, in units."
)
def main(
    data: Path,
    folder: Path,
    *,
    parts: tuple[str, ...],
    encoders: tuple[Path, ...],
    limit: int | None,
    quick: bool,
    most: int,
) -> None:
    """Measure everything, or go on with it."""
    if "encoders" in parts and not encoders:
        raise click.UsageError("--part encoders needs the --encoder folders that are to be compared")
    try:
        check_folder(folder)
    except OutputError as error:
        raise click.UsageError(f"FOLDER {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    wanted = parts or PARTS_OF_IT
    if "quality" in wanted:
        measure_quality(data, folder, limit=limit)
    if "encoders" in wanted and encoders:
        measure_encoders(data, folder, encoders, limit=limit)
    if "speed" in wanted:
        measure_speed(data, folder, quick=quick)
    if "growth" in wanted:
        measure_growth(data, folder, [size for size in SIZES if size <= most])
    click.echo(f"python -m minirag.evaluation.readme README.md {folder}")


if __name__ == "__main__":
    main(prog_name="python -m minirag.evaluation.measuring")
