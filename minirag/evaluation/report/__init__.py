"""Runs as a report: Markdown tables, and a page with plots and the papers' own figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minirag.errors import InputError
from minirag.evaluation.results import Run
from minirag.evaluation.scaling import Scaling

TITLE = "minirag, measured"


def write_report(runs: Sequence[Run], path: str | Path, *, scalings: Sequence[Scaling] = ()) -> tuple[Path, Path]:
    """Write the page, and Markdown beside it.

    Args:
        runs: In the order of the tables; the first of a data set is what the others are compared with.
        path: The page, by convention `*.html`; the other file has the same name with `.md`.
        scalings: How indexes grow, for plots of their own.

    Returns:
        Both files, the page first.

    Raises:
        InputError: If there is nothing to report.
        OutputError: If a file cannot be written.
    """
    from minirag.evaluation.report.content import sections_of
    from minirag.evaluation.report.markdown import to_markdown
    from minirag.evaluation.report.page import to_page
    from minirag.pages import write_page

    if not runs and not scalings:
        raise InputError("there are no runs to report. Measure some: minirag eval DATASET --index FILE")
    page = Path(path) if Path(path).suffix != ".md" else Path(path).with_suffix(".html")
    text = page.with_suffix(".md")
    sections = sections_of(runs, scalings)
    write_page(page, to_page(TITLE, sections))
    write_page(text, to_markdown(TITLE, sections))
    return page, text
