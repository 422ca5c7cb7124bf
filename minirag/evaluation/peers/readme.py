"""The README's table of peers, written from what was measured, so that no figure there is typed.

`python -m minirag.evaluation.peers.readme README.md [PEERS.json]` keeps the file of `python -m
minirag.evaluation.peers --json` in this package (`measured.json`), and writes the section between the README's two
marks. Without a file the section is written from the one that is kept; a test does the same.
"""

from __future__ import annotations

from pathlib import Path

import click

from minirag.errors import InputError
from minirag.evaluation.peers.results import Comparison

KEPT = Path(__file__).with_name("measured.json")
BEGIN = "<!-- peers: begin. Written by `python -m minirag.evaluation.peers.readme`, do not edit -->"
END = "<!-- peers: end -->"


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
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise InputError(f"the README needs the lines {BEGIN!r} and {END!r}, each once")
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{section}\n\n{END}{rest.partition(END)[2]}"


@click.command()
@click.argument("readme", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("source", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(readme: Path, source: Path | None) -> None:
    """Write the README's table of peers."""
    if source is not None:
        Comparison.read(source).write(KEPT)
    section = render(Comparison.read(KEPT))
    readme.write_text(replace_section(readme.read_text(encoding="utf-8"), section), encoding="utf-8")


if __name__ == "__main__":
    main()
