"""Which bytes of a section are whole, by its own checksum and those of its blocks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.storage.layout import BLOCK, Section, checksum
from minirag.storage.tables import MOST_OF_A_ROW, decode_numbers, decode_page, decode_row
from minirag.storage.writing import block_checksums

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Intact:
    """A section that may be damaged."""

    def __init__(self, data: memoryview, section: Section) -> None:
        """Compute its checksums.

        Args:
            data: The file up to the commit's end.
            section: Lies in it.
        """
        self.bytes = data[section.offset : section.offset + section.length]
        self.whole = len(self.bytes) == section.length and checksum(self.bytes) == section.checksum
        damaged = np.zeros(0, bool) if self.whole else _damaged_blocks(data, section, self.bytes)
        self._damaged_before = np.concatenate([[0], np.cumsum(damaged)])

    def holds(self, starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.bool_]:
        """For byte ranges `[start, end)`, both `(n,)`: whether each lies in whole blocks."""
        begin, stop = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
        if self.whole:
            return np.ones(len(begin), np.bool_)
        fits = (begin >= 0) & (begin <= stop) & (stop <= len(self.bytes))
        first = np.clip(begin // BLOCK, 0, len(self._damaged_before) - 1)
        last = np.clip(-(-stop // BLOCK), 0, len(self._damaged_before) - 1)
        holds: NDArray[np.bool_] = fits & (self._damaged_before[last] == self._damaged_before[first])
        return holds


def _damaged_blocks(data: memoryview, section: Section, content: memoryview) -> NDArray[np.bool_]:
    """Per block, `(n,)`; all of them where the section has no block checksums."""
    count = -(-section.length // BLOCK)
    if not section.blocks or len(content) != section.length:
        return np.ones(count, bool)
    expected = np.frombuffer(data[section.blocks : section.blocks + 8 * count], "<u8")
    damaged: NDArray[np.bool_] = block_checksums(content) != expected
    return damaged


def read_pages(pages: Intact, table: Intact, count: int) -> list[Any]:
    """What `encode_pages` wrote, as far as it holds: `count` values, None for each that does not.

    Each page is checked by itself, and whole pages need no table.
    """
    rows: list[Any] = [None] * count
    for first, lines in _whole_pages(pages, table, count):
        rows[first : first + len(lines)] = map(_decode, lines)
    return rows


def _whole_pages(pages: Intact, table: Intact, count: int) -> Iterator[tuple[int, list[bytes]]]:
    """The first row of each page that holds, and its lines."""
    if table.whole:
        places = np.frombuffer(table.bytes, "<u8").reshape(-1, 3).tolist()
        for (start, first, expected), (end, after, _) in pairwise(places):
            page = pages.bytes[start:end]
            if checksum(page) == expected:
                with suppress(ValueError):  # what somebody made up, with checksums that hold
                    yield first, decode_page(page, after - first)
    elif pages.whole:
        first, rest = 0, bytes(pages.bytes)
        while first < count and rest:
            stream = zlib.decompressobj()
            lines = stream.decompress(rest, MOST_OF_A_ROW).split(b"\n")[:-1]
            if not stream.eof:
                return
            yield first, lines
            first, rest = first + len(lines), stream.unused_data


def read_lines(block: Intact, offsets: Intact, count: int) -> list[Any]:
    """The same of rows of format 1.

    A row is a line, so a whole block needs no offsets.
    """
    ends = _row_ends(block, offsets, count)
    if ends is None:
        return [None] * count
    starts = np.concatenate([[0], ends])[:-1].astype(np.int64)
    holds = block.holds(starts, ends).tolist()
    places = zip(starts.tolist(), ends.tolist(), holds, strict=True)
    return [_decode(block.bytes[start:end]) if whole else None for start, end, whole in places]


def _row_ends(block: Intact, offsets: Intact, count: int) -> NDArray[np.int64] | None:
    if offsets.whole and len(offsets.bytes) == 8 * (count + 1):
        return np.frombuffer(offsets.bytes, "<u8")[1:].astype(np.int64)
    if block.whole:
        ends = np.flatnonzero(np.frombuffer(block.bytes, np.uint8) == ord("\n")) + 1
        return ends.astype(np.int64) if len(ends) == count else None
    return None


def _decode(line: bytes | memoryview) -> Any:  # noqa: ANN401  a row is whatever JSON holds
    try:
        return decode_row(line)
    except ValueError:
        return None


def read_numbers(section: Intact, count: int) -> NDArray[np.uint32] | None:
    """A column of numbers `(count,)`, or None where the section is damaged."""
    if not section.whole:
        return None
    try:
        return decode_numbers(section.bytes, count)
    except ValueError:
        return None
