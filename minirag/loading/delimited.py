"""CSV and its like: each row a line that stands alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from minirag.errors import InputError
from minirag.loading.assembling import Assembly, Converted, table_lines
from minirag.loading.decoding import decoded

_SAMPLE = 16_384  # characters that the delimiter is guessed from
_DELIMITERS = ",;\t|"
_MOST_IN_A_FIELD = 131_072  # characters; the csv module's own limit, which others in the process may have changed
_HINT = "(is there a quote that is never closed?)"


def convert(path: Path) -> Converted:
    """All rows; the delimiter is guessed among comma, semicolon, tabulator and bar.

    Raises:
        InputError: If it is no Unicode, empty, or has a field of more than 128 KiB (a quote that is never closed).
    """
    text = decoded(path.read_bytes())
    assembly = Assembly()
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), _dialect(text, path)))
    except csv.Error as error:
        raise InputError(f"is no table: {error} {_HINT}") from error
    if any(len(field) > _MOST_IN_A_FIELD for row in rows for field in row):
        raise InputError(f"is no table: field larger than field limit ({_MOST_IN_A_FIELD}) {_HINT}")
    for position, (number, line) in enumerate(table_lines(rows)):
        assembly.add(line, unit="row", number=number, gap="\n" if position else "")
    return assembly.finish(rows=len(rows))


def _dialect(text: str, path: Path) -> type[csv.Dialect]:
    if path.suffix.lower() == ".tsv":
        return csv.excel_tab
    try:
        return csv.Sniffer().sniff(text[:_SAMPLE], _DELIMITERS)
    except csv.Error:  # one column, or too few rows to tell
        return csv.excel
