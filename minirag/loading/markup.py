"""HTML elements into blocks of text with their headings: for web pages and for the chapters of EPUB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minirag.loading.assembling import PARAGRAPH, Assembly, Outline, table_lines

_DROPPED = {"script", "style", "nav", "noscript", "template", "svg", "iframe", "button", "select", "form"}
_ITEMS = {"li", "item"}
_BLOCKS = {
    *("p", "div", "section", "article", "main", "body", "html", "ul", "ol", "dl", "dd", "dt", "blockquote", "quote"),
    *("figure", "figcaption", "header", "footer", "aside", "address", "hr", "br", "lb", "li", "item", "list"),
    *("details", "summary", "fieldset"),
}


def add_blocks(root: Any, assembly: Assembly, outline: Outline) -> None:  # noqa: ANN401  an lxml element
    """Append an element's text: paragraphs, list items, rows of tables, each below its headings."""
    walk = _Walk(assembly, outline)
    walk.visit(root)
    walk.flush()


class _Walk:
    """Takes in text until a block ends."""

    def __init__(self, assembly: Assembly, outline: Outline) -> None:
        self._assembly = assembly
        self._outline = outline
        self._held: list[str] = []

    def flush(self, mark: str = "") -> None:
        text = " ".join("".join(self._held).split())
        self._held.clear()
        if text:
            self._add(mark + text, gap="\n" if mark else PARAGRAPH)

    def _add(self, text: str, *, gap: str = PARAGRAPH) -> None:
        self._assembly.add(text, headings=self._outline.path, gap=gap)

    def visit(self, element: Any) -> None:  # noqa: ANN401
        name = element.tag.lower() if isinstance(element.tag, str) else ""  # a comment has none
        level = _level(name, element)
        if level or name in _BLOCKS or name in ("table", "pre"):
            self.flush()
        if level:
            self._enter(level, element)
        elif name == "table":
            for number, (_, line) in enumerate(table_lines(_rows(element))):
                self._add(line, gap="\n" if number else PARAGRAPH)
        elif name in ("pre", "code") and "\n" in (code := "".join(element.itertext())):
            self.flush()
            self._add(code)
        elif name and name not in _DROPPED and name != "head":
            self._inside(name, element)
        self._held.append(element.tail or "")

    def _enter(self, level: int, element: Any) -> None:  # noqa: ANN401
        if heading := _text(element):
            self._outline.enter(level, heading)
            self._add(heading)

    def _inside(self, name: str, element: Any) -> None:  # noqa: ANN401
        self._held.append(element.text or "")
        for child in element:
            self.visit(child)
        if name in _BLOCKS:
            self.flush("- " if name in _ITEMS else "")


def _level(name: str, element: Any) -> int:  # noqa: ANN401
    """Of a heading, 1 to 6; 0 for what is none. Trafilatura's headings are `<head rend="h2">`."""
    if name == "head":
        name = element.get("rend") or ""
    return int(name[1]) if len(name) == 2 and name[0] == "h" and name[1] in "123456" else 0


def _text(element: Any) -> str:  # noqa: ANN401
    return " ".join("".join(element.itertext()).split())


def _rows(table: Any) -> Iterator[Sequence[str]]:  # noqa: ANN401
    for row in table.iter("tr", "row"):
        yield [_text(cell) for cell in row.iterchildren("td", "th", "cell")]
