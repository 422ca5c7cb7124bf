"""Word (.docx), by python-docx: paragraphs, lists and tables in their order, below their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.oxml.ns import qn

from minirag.loading.archives import check_archive
from minirag.loading.assembling import PARAGRAPH, Assembly, Converted, Outline, table_lines

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def convert(path: Path) -> Converted:
    """All of its body, inserted and boxed text included; deleted text, tables of contents and margins are not.

    Raises:
        InputError: If it is encrypted, broken, or too large unpacked.
    """
    check_archive(path)
    with path.open("rb") as file:
        document: Any = docx.Document(file)
    properties = document.core_properties
    blocks = list(_blocks(document))
    titles = [text for style, text in blocks if style == "title" and text]
    title = properties.title or (titles[0] if titles else "")
    assembly, outline = Assembly(), Outline(title=title)
    for style, block in blocks:
        heading = _HEADING.match(style)
        if heading and block.strip():
            outline.enter(int(heading[1]), block)
        assembly.add(block, headings=outline.path, gap="\n" if style.startswith("list") else PARAGRAPH)
    return assembly.finish(
        title=title,
        author=properties.author,
        created=properties.created and properties.created.date().isoformat(),
        modified=properties.modified and properties.modified.date().isoformat(),
    )


def _blocks(document: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Each paragraph's style, in lower case, and text; a table is one block."""
    names = {style.style_id: (style.name or "").lower() for style in document.styles}
    for element in _children(document.element.body):
        if element.tag == qn("w:tbl"):
            yield "table", "\n".join(line for _, line in table_lines(_rows(element)))
        else:
            found = element.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
            style = names.get(found.get(qn("w:val")), "") if found is not None else ""
            text = _text(element)
            yield style, f"- {text}" if style.startswith("list") and text.strip() else text


def _children(parent: Any) -> Iterator[Any]:  # noqa: ANN401
    """Paragraphs and tables, also those in content controls, of which a table of contents is one."""
    for element in parent:
        if element.tag in (qn("w:p"), qn("w:tbl")):
            yield element
        elif element.tag == qn("w:sdt"):
            gallery = element.find(f".//{qn('w:docPartGallery')}")
            content = element.find(qn("w:sdtContent"))
            if content is not None and (gallery is None or gallery.get(qn("w:val")) != "Table of Contents"):
                yield from _children(content)


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401
    for row in table.iterchildren(qn("w:tr")):
        yield [
            " ".join(_text(paragraph) for paragraph in cell.iter(qn("w:p"))) for cell in row.iterchildren(qn("w:tc"))
        ]


def _text(paragraph: Any) -> str:  # noqa: ANN401
    """Of a paragraph, the boxes that are anchored in it included, each once."""
    parts: list[str] = []
    for element in paragraph.iter(qn("w:t"), qn("w:tab"), qn("w:br"), qn("w:cr"), qn("w:noBreakHyphen")):
        if next(element.iterancestors(_FALLBACK), None) is None and not _is_setting(element):
            parts.append(element.text or "" if element.tag == qn("w:t") else _SIGNS.get(element.tag, "\n"))
    return "".join(parts)


_SIGNS = {qn("w:tab"): "\t", qn("w:noBreakHyphen"): "-"}


def _is_setting(element: Any) -> bool:  # noqa: ANN401
    """Whether it is a tab stop, which has the name of a tab."""
    return bool(element.getparent().tag == qn("w:tabs"))
