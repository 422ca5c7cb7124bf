"""The report as Markdown: its tables, for a terminal, a pull request or a README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minirag.evaluation.report.content import Section
from minirag.evaluation.results import format_table


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """Headings, paragraphs and tables; the plots are on the page."""
    return "\n\n".join([f"# {title}", *(part for section in sections for part in _parts(section))]) + "\n"


def _parts(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.text:
        yield section.text
    for table in section.tables:
        yield f"{table.caption}:"
        yield format_table(table.head, table.rows, left=table.left)
