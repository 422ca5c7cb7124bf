"""`minirag reembed`: another encoder for an index."""

from __future__ import annotations

from pathlib import Path

import click

from minirag.cli.choices import DOLLARS
from minirag.cli.options import index_either_way, price_for_option, prices_by_name, quiet_option, shows_bars
from minirag.cli.places import require_index
from minirag.cli.running import command
from minirag.reembedding import reembed as reembed_file
from minirag.wording import describe_usage


@command(epilog="\b\nExample:\n  minirag reembed notes.usearch")
@index_either_way
@click.option(
    "--encoder",
    metavar="NAME",
    help="A folder with an ONNX encoder, or a LiteLLM embedding model's name [the one that minirag ships].",
)
@click.option("--max-cost", type=DOLLARS, metavar="DOLLARS", help="What a hosted encoder may cost.")
@price_for_option
@quiet_option
def reembed(*, path: Path, encoder: str | None, max_cost: float | None, quiet: bool) -> None:
    """Change an index's encoder, also of one that an older minirag built: all vectors anew, without a model's call.

    Texts, facts, triples and bridging facts stay as they are.
    """
    require_index(path)
    bars = shows_bars(quiet=quiet)
    usage = reembed_file(path, encoder, progress=bars, max_cost=max_cost, prices=prices_by_name())
    if not quiet:
        took = describe_usage(usage) if usage.calls else f"in {usage.seconds:.0f} s"
        click.echo(f"{path}: embedded anew, {took}")
