"""PowerPoint (.pptx), by python-pptx: the text of each slide, its tables and its notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE

from minirag.loading.archives import check_archive
from minirag.loading.assembling import PARAGRAPH, Assembly, Converted, table_lines


def convert(path: Path) -> Converted:
    """All slides that have text; their titles are their headings.

    Raises:
        InputError: If it is encrypted, broken, or too large unpacked.
    """
    check_archive(path)
    with path.open("rb") as file:
        presentation: Any = pptx.Presentation(file)
    assembly = Assembly()
    for number, slide in enumerate(presentation.slides, start=1):
        titled = slide.shapes.title
        title = " ".join(titled.text_frame.text.split()) if titled is not None else ""
        blocks = [title, *(block for shape in slide.shapes if shape != titled for block in _blocks(shape))]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            blocks.append(slide.notes_slide.notes_text_frame.text)
        for position, block in enumerate(block for block in blocks if block.strip()):
            gap = "\n" if position else PARAGRAPH
            assembly.add(block, unit="slide", number=number, headings=(title,) if title else (), gap=gap)
    properties = presentation.core_properties
    return assembly.finish(
        title=properties.title if properties.title != "PowerPoint Presentation" else "",
        author=properties.author,
        slides=len(presentation.slides),
        created=properties.created and properties.created.date().isoformat(),
        modified=properties.modified and properties.modified.date().isoformat(),
    )


def _blocks(shape: Any) -> Iterator[str]:  # noqa: ANN401
    if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
        for inner in shape.shapes:
            yield from _blocks(inner)
    elif shape.has_text_frame:
        yield "\n".join(paragraph.text.replace("\v", " ") for paragraph in shape.text_frame.paragraphs)
    elif getattr(shape, "has_table", False):
        rows = ([cell.text for cell in row.cells] for row in shape.table.rows)
        yield "\n".join(line for _, line in table_lines(rows))
