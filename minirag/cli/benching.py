"""`minirag bench`: the project's own promises, measured."""

from __future__ import annotations

import json
from pathlib import Path

import click

from minirag.cli.options import FILE, quiet_option, require_folder, shows_bars
from minirag.cli.running import FAILED, command


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

    require_folder(output, "--json")
    measured = run_bench(folder, quick=quick, progress=shows_bars(quiet=quiet))
    if output is not None:
        output.write_text(json.dumps(measured.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    click.echo(measured.table())
    click.echo()
    click.echo(table(measured.runs))
    if not (measured.holds or quick):
        click.get_current_context().exit(FAILED)
