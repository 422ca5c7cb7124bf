"""`minirag bench`: the project's own promises, measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

import click

from minirag.cli.choices import Place
from minirag.cli.options import FILE, quiet_option, shows_bars
from minirag.cli.places import index_files, require_apart, require_file, require_index
from minirag.cli.printing import echo_note
from minirag.cli.running import command
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.output import write_text
from minirag.telling import FAILED


@command(epilog="\b\nExample:\n  minirag bench data/2wiki --json bench.json")
@click.argument("folder", required=False, type=Place(path_type=Path))
@click.option("--quick", is_flag=True, help="Repeat next to nothing: shows that it runs; limits do not count.")
@click.option("--json", "output", metavar="FILE", type=FILE, help="Write all figures there; - for standard output.")
@click.option(
    "--scaling",
    metavar="FILE",
    type=FILE,
    help="Instead, how time, memory and size grow; kept there size by size, and gone on with.",
)
@click.option("--sizes", metavar="N,N,…", help="Of --scaling, in units [1000,10000,100000,1000000].")
@click.option("--index", "path", metavar="FILE", type=FILE, help="Of --scaling: the data set's index, if it is built.")
@quiet_option
def bench(
    *,
    folder: Path | None,
    quick: bool,
    output: Path | None,
    scaling: Path | None,
    sizes: str | None,
    path: Path | None,
    quiet: bool,
) -> None:
    """Measure what minirag promises of its speed, on this machine and offline.

    FOLDER is a data set with a corpus; without one, the demo is taken. Exit code 1 when a figure misses its limit.

    With --scaling, indexes of growing size are made from the data set, with synthetic vectors around the real ones. A
    million units took eight minutes, 4 GB of memory and 2 GB of disk on two cores.
    """
    require_file(output, "--json", dash=True)
    require_file(scaling, "--scaling")
    require_apart([("--json", output), ("--scaling", scaling)], _kept(folder, path))
    if scaling is not None:
        if output is not None:
            raise click.UsageError("--scaling FILE has all figures; leave --json out")
        if path is not None:
            require_index(path)
            with Index(path, mode="r", model=OFFLINE) as opened:
                opened.require_encoder()  # what is wrong with it is told now, and not by a child
        _scale(folder, scaling, _parse_sizes(sizes, quick=quick), index=path, progress=shows_bars(quiet=quiet))
        return
    if sizes or path:
        raise click.UsageError("--sizes and --index go with --scaling FILE")
    _bench(folder, output, quick=quick, quiet=quiet)


def _kept(folder: Path | None, index: Path | None) -> dict[Path, str]:
    """The files that are read, and what each of them is."""
    from minirag.evaluation.datasets import files_of

    kept = dict.fromkeys([] if folder is None else files_of(folder), "a file of the data set")
    return kept if index is None else kept | index_files(index)


def _bench(folder: Path | None, output: Path | None, *, quick: bool, quiet: bool) -> None:
    from minirag.evaluation.bench import run_bench
    from minirag.evaluation.results import table

    measured = run_bench(folder, quick=quick, progress=shows_bars(quiet=quiet))
    aside = output is not None and str(output) == "-"
    if output is not None:
        target = sys.stdout.buffer if aside else output
        write_text(target, json.dumps(measured.to_dict(), ensure_ascii=False, indent=1) + "\n")
    click.echo(f"{measured.table()}\n\n{table(measured.runs)}", err=aside)
    if quick and not quiet:
        echo_note("a quick run shows that all of it runs; its figures are too few for the limits to count")
    if not (measured.holds or quick):
        click.get_current_context().exit(FAILED)


def _scale(folder: Path | None, output: Path, sizes: Sequence[int], *, index: Path | None, progress: bool) -> None:
    from minirag.evaluation.bench import describe_machine
    from minirag.evaluation.datasets import load_dataset
    from minirag.evaluation.scaling import run_scaling

    with as_file(files("minirag.demo")) as demo:
        dataset = load_dataset(folder or demo)
        found = run_scaling(dataset, output, index=index, sizes=sizes, progress=progress, machine=describe_machine())
    click.echo(found.table())


def _parse_sizes(text: str | None, *, quick: bool) -> Sequence[int]:
    from minirag.evaluation.scaling import QUICK_SIZES, SIZES

    if text is None:
        return QUICK_SIZES if quick else SIZES
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.UsageError(f"--sizes {text}: give whole numbers above 0, such as 1000,10000")
    return sorted({int(part) for part in parts})
