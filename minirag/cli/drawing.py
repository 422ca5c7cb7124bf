"""`minirag graph`: the picture of an index."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from minirag.cli.choices import Place
from minirag.cli.options import index_either_way, quiet_option, shows_bars
from minirag.cli.places import require_file, require_index
from minirag.cli.running import command
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.sharing import MOST_NODES


@command(epilog="\b\nExample:\n  minirag graph notes.usearch -o graph.html")
@index_either_way
@click.option(
    "-o",
    "--output",
    type=Place(dir_okay=False, path_type=Path, allow_dash=True),
    default="graph.html",
    show_default=True,
    metavar="FILE",
    help="The page; - for standard output.",
)
@click.option(
    "--max-nodes",
    type=click.IntRange(min=1),
    default=MOST_NODES,
    show_default=True,
    metavar="N",
    help="Leave out what is least connected beyond N.",
)
@quiet_option
def graph(*, path: Path, output: Path, max_nodes: int, quiet: bool) -> None:
    """Draw an index as one page: documents, the names that they share, and bridging facts.

    The page needs no server and no network. Search it, zoom and move, and click on anything for its text.
    """
    require_index(path)
    require_file(output, "--output", dash=True)
    with Index(path, mode="r", model=OFFLINE) as opened:
        target = sys.stdout.buffer if str(output) == "-" else output
        opened.draw(target, most_nodes=max_nodes, progress=shows_bars(quiet=quiet))
    if not quiet and str(output) != "-":
        click.echo(f"{output}: open it in a browser ({output.stat().st_size / 1e6:,.2f} MB)")
