"""`minirag repair`: what is whole of a damaged index, into a new file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from minirag.cli.options import FILE, json_option, quiet_option, shows_bars
from minirag.cli.places import require_index, require_index_place
from minirag.cli.printing import echo_json
from minirag.cli.running import command
from minirag.repairing import repair as repair_file


@command(epilog="\b\nExample:\n  minirag repair notes.usearch mended.usearch")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@json_option
@quiet_option
def repair(*, old: Path, new: Path, as_json: bool, quiet: bool) -> None:
    """Save all that is whole of the damaged index OLD into the new file NEW.

    OLD stays as it is. Lost vectors are computed afresh; lost facts and bridging facts are derived afresh when
    documents are next added to NEW.
    """
    require_index(old)
    require_index_place(new, "NEW")
    report = repair_file(old, new, progress=shows_bars(quiet=quiet))
    if as_json:
        echo_json(asdict(report))
    elif not quiet:
        click.echo(str(report))
