"""`python -m minirag.evaluation.peers DATASET --json OUT`."""

from __future__ import annotations

from pathlib import Path

import click

from minirag.evaluation.datasets import load_dataset
from minirag.evaluation.peers.catalog import PEERS, find_peers
from minirag.evaluation.peers.corpus import take_part
from minirag.evaluation.peers.measuring import Bounds, compare_peers
from minirag.output import check_file, check_folder
from minirag.telling import Script

_CACHE = Path.home() / ".cache" / "minirag-peers"


@click.command(
    cls=Script, epilog="\b\nExample:\n  python -m minirag.evaluation.peers data/2wiki --peer bm25s --json peers.json"
)
@click.argument("dataset", type=click.Path(exists=True, path_type=Path))
@click.option("--peer", "names", metavar="NAME", multiple=True, help=f"Only {', '.join(p.name for p in PEERS)}.")
@click.option("--passages", type=click.IntRange(min=1), default=1000, show_default=True, help="In the corpus.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many questions.")
@click.option(
    "--llm-passages",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="In the smaller corpus, the only one for peers that call an LLM.",
)
@click.option("--seed", default=0, show_default=True, help="Another one takes other passages and questions.")
@click.option(
    "--environments",
    "cache",
    type=click.Path(file_okay=False, path_type=Path),
    default=_CACHE,
    show_default="~/.cache/minirag-peers",
    help="Where the peers' virtual environments are kept; what is missing is made with pip.",
)
@click.option("--timeout", type=click.IntRange(min=1), default=1800, show_default=True, help="Seconds for each step.")
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The figures.")
def main(
    dataset: Path,
    *,
    names: tuple[str, ...],
    passages: int,
    limit: int,
    llm_passages: int,
    seed: int,
    cache: Path,
    timeout: int,
    output: Path,
) -> None:
    """Measure what a user would pick instead of minirag, on a part of DATASET with its gold passages.

    Each peer is installed into a virtual environment of its own and run as a process. All that take vectors get them
    from minirag's encoder; all that call an LLM get a scripted one on this machine, without cost. What cannot be
    installed or run is told with its reason, and stops nothing.
    """
    check_file(output)
    check_folder(cache)
    peers, whole = find_peers(names), load_dataset(dataset)
    sizes = sorted({max(passages, llm_passages), llm_passages}, reverse=True)
    corpora = [take_part(whole, passages=size, limit=limit, seed=seed) for size in sizes]
    cache.mkdir(parents=True, exist_ok=True)
    compared = compare_peers(peers, corpora, cache.resolve(), bounds=Bounds(install=timeout, request=timeout))
    compared.write(output)
    click.echo(compared.table())


if __name__ == "__main__":
    main(prog_name="python -m minirag.evaluation.peers")
