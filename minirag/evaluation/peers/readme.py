"""The README's table of peers, written from what was measured, so that no figure there is typed.

`python -m minirag.evaluation.peers.readme README.md [PEERS.json]` keeps the file of `python -m
minirag.evaluation.peers --json` in this package (`measured.json`), and writes the section between the README's two
marks. Without a file the section is written from the one that is kept; a test does the same.
"""

from __future__ import annotations

from pathlib import Path

import click

from minirag.errors import InputError
from minirag.evaluation.peers.catalog import PEERS
from minirag.evaluation.peers.results import Comparison
from minirag.evaluation.sections import Marks, write_both
from minirag.telling import Script

KEPT = Path(__file__).with_name("measured.json")
BEGIN = "<!-- peers: begin. Written by `python -m minirag.evaluation.peers.readme`, do not edit -->"
END = "<!-- peers: end -->"
MARKS = Marks(BEGIN, END)


def render(compared: Comparison) -> str:
    """The section's Markdown, without the marks."""
    machine = compared.machine
    return (
        f"What one would pick instead, on parts of {compared.dataset} that hold all gold passages of their questions, "
        f"on {machine['cores']} cores of an {machine['processor']} (`python -m minirag.evaluation.peers "
        f"{compared.dataset} --json peers.json`). Vectors are those of {compared.encoder} everywhere. The LLM is a "
        "scripted one without delay: its calls and prompts are the peers' own, its replies are made by rules, so that "
        "recall with it says less than the other columns. Calls and tokens (four letters each) are for 1,000 passages, "
        "memory is the most that the process held, the size of the installation is that with all dependencies. "
        "Times are of one run each: small differences say nothing.\n\n"
        f"{compared.table()}"
    )


def replace_section(readme: str, section: str) -> str:
    """The README with another section between its marks.

    Raises:
        InputError: If it does not have each mark once.
    """
    return MARKS.replace(readme, section)


def _read_new(source: Path, *, partial: bool) -> Comparison:
    compared = Comparison.read(source)
    measured = {result.peer for result in compared.results}
    missing = [peer.name for peer in PEERS if peer.name not in measured]
    if missing and not partial:
        raise InputError(
            f"{source}: lacks what the section needs: {', '.join(missing)}. Measure it "
            "(python -m minirag.evaluation.peers), or leave it out by --partial"
        )
    return compared


@click.command(cls=Script)
@click.argument("readme", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("source", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--summary", type=click.Path(dir_okay=False, path_type=Path), default=KEPT, help="Where it is kept.")
@click.option("--partial", is_flag=True, help="Write what was measured, though peers are missing.")
def main(readme: Path, source: Path | None, *, summary: Path, partial: bool) -> None:
    """Write the README's table of peers; what cannot be written whole leaves both files as they were."""
    text = readme.read_text(encoding="utf-8")
    MARKS.check(text)
    compared = Comparison.read(summary) if source is None else _read_new(source, partial=partial)
    try:
        section = render(compared)
    except (KeyError, TypeError) as error:
        raise InputError(f"{source or summary}: lacks figures: {error!r}") from error
    write_both(readme, MARKS.replace(text, section), summary, None if source is None else compared.to_json())


if __name__ == "__main__":
    main(prog_name="python -m minirag.evaluation.peers.readme")
