"""What `minirag eval` leaves: tables on the terminal, files of runs, a page."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minirag.cli.places import require_apart, require_file

if TYPE_CHECKING:
    from minirag.evaluation.results import Run
    from minirag.evaluation.scaling import Scaling


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the user wants what was measured, beside the terminal.

    Attributes:
        json: For all runs; - is standard output, None is nowhere.
        report: For the page, with Markdown beside it; None is nowhere.
    """

    json: Path | None
    report: Path | None

    def require(self) -> None:
        """Check that the files can be written.

        Raises:
            click.UsageError: If one cannot.
        """
        require_file(self.json, "--json", dash=True)
        for file in self._pages:
            require_file(file, "--report")

    def require_apart(self, kept: Mapping[Path, str]) -> None:
        """Check that they overwrite neither what must stay, named in words, nor each other.

        Raises:
            click.UsageError: If one would.
        """
        require_apart([("--json", self.json), *(("--report", file) for file in self._pages)], kept)

    def conclude(self, runs: Sequence[Run], *, scalings: Sequence[Scaling] = ()) -> None:
        """Write what was asked for, and print what was measured: on standard error where the other has the JSON."""
        from minirag.evaluation.results import table, write_runs
        from minirag.evaluation.significance import comparison_table

        aside = self.json is not None and str(self.json) == "-"
        if self.json is not None:
            write_runs(runs, sys.stdout.buffer if aside else self.json)
        if self.report is not None:
            from minirag.evaluation.report import write_report

            write_report(runs, self.report, scalings=scalings)
        if runs:
            click.echo(table(runs), err=aside)
        for scaling in scalings:
            click.echo(f"\n{scaling.table()}", err=aside)
        compared = comparison_table(runs)
        if compared:
            click.echo(f"\n{compared}", err=aside)

    @property
    def _pages(self) -> tuple[Path, ...]:
        """The page and the Markdown beside it, as `write_report` names them."""
        if self.report is None:
            return ()
        is_text = self.report.suffix == ".md"
        return (self.report.with_suffix(".html") if is_text else self.report, self.report.with_suffix(".md"))
