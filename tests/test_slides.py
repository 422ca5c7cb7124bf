from __future__ import annotations

from pathlib import Path

import pytest

from minirag.records import Place
from tests.converted import only
from tests.extras import need

pytestmark = pytest.mark.extra
pptx = need("pptx")


def test_slides_with_titles_tables_groups_and_notes(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    presentation.core_properties.title = "Year"
    presentation.core_properties.author = "Ann Bell"
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Results", "Sales rose\nby ten percent"
    slide.notes_slide.notes_text_frame.text = "Say it loudly."
    presentation.slides.add_slide(presentation.slide_layouts[6])
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group"
    table = slide.shapes.add_table(2, 2, 0, 0, 99, 99).table
    for number, text in enumerate(("Film", "Year", "Aylwin", "1920")):
        table.cell(*divmod(number, 2)).text = text
    presentation.save(str(tmp_path / "a.pptx"))

    found = only(tmp_path / "a.pptx")
    first = "Results\nSales rose\nby ten percent\nSay it loudly."
    assert found.text == f"{first}\n\nIn a group\nFilm: Aylwin; Year: 1920"
    assert found.places == (Place(0, "slide", 1, ("Results",)), Place(len(first) + 2, "slide", 3))
    assert (found.title, found.metadata["author"], found.metadata["slides"]) == ("Year", "Ann Bell", 3)
