"""The report as one HTML file with plots, which opens from the disk and asks no network for anything."""

from __future__ import annotations

from collections.abc import Sequence

from minirag.evaluation.report.charts import draw
from minirag.evaluation.report.content import Section, Table
from minirag.pages import Markup, build_page, element


def to_page(title: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    links = (element("a", section.title, href=f"#part-{number}") for number, section in enumerate(sections))
    parts = (_section(number, section) for number, section in enumerate(sections))
    head = element("header", element("h1", title), element("nav", *links, aria_label="Parts"))
    return build_page(title=title, body=element("main", head, *parts, class_="page report"), styles=("report.css",))


def _section(number: int, section: Section) -> Markup:
    parts = [element("h2", section.title)]
    if section.text:
        parts.append(element("p", section.text))
    if section.charts:
        parts.append(element("div", *(draw(chart) for chart in section.charts), class_="charts"))
    parts += [_table(table) for table in section.tables]
    return element("section", *parts, id=f"part-{number}")


def _table(table: Table) -> Markup:
    head = element("tr", *(_cell("th", name, place < table.left) for place, name in enumerate(table.head)))
    rows = [
        element("tr", *(_cell("td", cell, place < table.left) for place, cell in enumerate(row))) for row in table.rows
    ]
    body = element("table", element("thead", head), element("tbody", *rows))
    caption = element("p", table.caption, class_="quiet")
    return element("div", caption, element("div", body, class_="scrolling", tabindex=0), class_="block")


def _cell(name: str, text: str, is_text: bool) -> Markup:
    return element(name, text, class_=False if is_text else "number")
