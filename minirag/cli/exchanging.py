"""`minirag export` and `import`: an index into files that others read, and back."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click
from click.core import ParameterSource

from minirag.cli.choices import Choice, Place
from minirag.cli.options import FILE, index_either_way, json_option, quiet_option, shows_bars
from minirag.cli.places import require_file, require_index, require_index_place
from minirag.cli.printing import echo_json
from minirag.cli.running import command
from minirag.exporting import FORMATS, ExportFormat
from minirag.importing import import_index
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.wording import count

_FILE_OR_DASH = Place(dir_okay=False, path_type=Path, allow_dash=True)


@command(
    epilog="\b\nExample:\n  minirag export notes.usearch -o notes.jsonl\n"
    "  minirag export notes.usearch -o notes.graphml"
)
@index_either_way
@click.option(
    "-o",
    "--output",
    type=_FILE_OR_DASH,
    default="-",
    metavar="FILE",
    help="- for standard output [the default, unless that is a terminal].",
)
@click.option(
    "--format", type=Choice(FORMATS), help="All of it, or a graph for networkx and Gephi [by the file's ending]."
)
@click.option("--no-vectors", is_flag=True, help="A much smaller JSON Lines file; importing computes them afresh.")
@quiet_option
def export(*, path: Path, output: Path, format: ExportFormat | None, no_vectors: bool, quiet: bool) -> None:
    """Write all that an index holds: documents, passages, facts, triples, bridging facts, with their sources.

    JSON Lines hold all of it and can be imported; GraphML is for graph tools.
    """
    require_index(path)
    require_file(output, "--output", dash=True)
    _spare_terminal()
    to_stdout = str(output) == "-"
    with Index(path, mode="r", model=OFFLINE) as opened:
        target = sys.stdout.buffer if to_stdout else output
        opened.export(target, format=format, vectors=not no_vectors, progress=shows_bars(quiet=quiet))
    if not quiet and not to_stdout:
        click.echo(f"{output}: {output.stat().st_size / 1e6:,.2f} MB")


def _spare_terminal() -> None:
    """Refuse to pour an export into a terminal, unless that was asked for.

    Raises:
        click.UsageError: If nobody named an output, and that would be a terminal.
    """
    source = click.get_current_context().get_parameter_source("output")
    if source is ParameterSource.DEFAULT and sys.stdout.isatty():
        raise click.UsageError("name a file by -o FILE; -o - has all of it on this terminal")


@command(
    "import",
    epilog="\b\nExample:\n  minirag import notes.jsonl copy.usearch\n  minirag import triples.csv facts.usearch",
)
@click.argument("file", type=_FILE_OR_DASH)
@click.argument("index", type=FILE)
@click.option("--encoder", metavar="NAME", help="As for index [the export's own]; another one computes all vectors.")
@json_option
@quiet_option
def import_(*, file: Path, index: Path, encoder: str | None, as_json: bool, quiet: bool) -> None:
    """Build the new file INDEX from FILE, without calling any model.

    FILE is what export wrote as JSON Lines, or triples made elsewhere: CSV or JSON Lines with head, relation and tail,
    and if you like document, title and text. - is standard input.
    """
    require_index_place(index, "INDEX")
    source = sys.stdin.buffer if str(file) == "-" else file
    report = import_index(source, index, encoder=encoder, progress=shows_bars(quiet=quiet))
    if as_json:
        echo_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{index} holds {count(report.documents, 'document')}, {count(report.facts, 'fact')}, "
            f"{count(report.triples, 'triple')}, {count(report.bridges, 'bridging fact')}"
            + ("; vectors were computed" if report.encoded else "")
        )
