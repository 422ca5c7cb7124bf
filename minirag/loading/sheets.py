"""Excel, by openpyxl: each row of each sheet a line that stands alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl

from minirag.loading.archives import check_archive
from minirag.loading.assembling import PARAGRAPH, Assembly, Converted, table_lines


def convert(path: Path) -> Converted:
    """All sheets that are not hidden, with the values that formulas had when the file was saved.

    Raises:
        InputError: If it is encrypted, broken, or too large unpacked.
    """
    check_archive(path)
    with path.open("rb") as file:
        book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True)
        assembly = Assembly()
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        for sheet in sheets:
            sheet.reset_dimensions()  # what the file says of them is often wrong
            _add_sheet(assembly, sheet.title, sheet, named=len(sheets) > 1)
    properties = book.properties
    return assembly.finish(
        title=properties.title or "",
        author=properties.creator if properties.creator != "openpyxl" else None,
        sheets=len(sheets),
        created=properties.created and properties.created.date().isoformat(),
        modified=properties.modified and properties.modified.date().isoformat(),
    )


def _add_sheet(assembly: Assembly, title: str, sheet: Any, *, named: bool) -> None:  # noqa: ANN401
    lines = table_lines(_rows(sheet))
    headings = (title,) if named else ()
    if lines and named:
        assembly.add(title, unit="row", number=lines[0][0], headings=headings)
    for position, (number, line) in enumerate(lines):
        gap = "\n" if position or named else PARAGRAPH
        assembly.add(line, unit="row", number=number, headings=headings, gap=gap)


def _rows(sheet: Any) -> Iterator[list[str]]:  # noqa: ANN401
    for row in sheet.iter_rows(values_only=True):
        yield [_cell(value) for value in row]


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat(*([" "] if isinstance(value, datetime) else []))
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case _:
            return str(value)
