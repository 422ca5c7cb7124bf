"""Rows in columns: many small JSON values in compressed pages, read one by one, and numbers as plain arrays."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from minirag.storage.layout import checksum

if TYPE_CHECKING:
    from numpy.typing import NDArray


PAGE = 2_048  # bytes of text that are compressed together: a damaged one is lost; longer rows have their own
MOST_OF_A_ROW = 1 << 28  # bytes: what a row that has a page of its own may be inflated to
_KEPT_PAGES = 64
_WIDTHS = {1: "u1", 2: "<u2", 4: "<u4"}


class RowTooLargeError(ValueError):
    """A row that no page may hold.

    Attributes:
        row: Its number.
        size: In bytes.
    """

    def __init__(self, row: int, size: int) -> None:
        """Say what it takes."""
        self.row, self.size = row, size
        super().__init__(f"a record of {size:,} bytes is more than the {MOST_OF_A_ROW:,} that one may have")


def encode_pages(rows: Iterable[Any]) -> tuple[bytes, bytes]:
    """Rows as lines of UTF-8 JSON, so many as fill a page compressed together (zlib), one page behind the other.

    Returns:
        The pages, and their table, `(pages + 1, 3)` 64-bit integers: where a page starts, its first row, its checksum;
        the last one is where all end, how many rows there are, and 0.

    Raises:
        RowTooLargeError: When a row takes more than `MOST_OF_A_ROW`.
    """
    pages: list[bytes] = []
    table: list[tuple[int, int, int]] = []
    start = first = 0
    for lines in _fill_pages(rows):
        page = zlib.compress(b"".join(lines), 9)
        pages.append(page)
        table.append((start, first, checksum(page)))
        start, first = start + len(page), first + len(lines)
    return b"".join(pages), np.array([*table, (start, first, 0)], "<u8").tobytes()


def _fill_pages(rows: Iterable[Any]) -> Iterator[list[bytes]]:
    page: list[bytes] = []
    size = 0
    for number, row in enumerate(rows):
        line = encode_row(row)
        if len(line) > MOST_OF_A_ROW:
            raise RowTooLargeError(number, len(line))
        if page and size + len(line) > PAGE:
            yield page
            page, size = [], 0
        page.append(line)
        size += len(line)
    if page:
        yield page


def encode_row(row: Any) -> bytes:  # noqa: ANN401  a row is whatever JSON holds
    """The line of one value."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def decode_page(page: memoryview | bytes, count: int) -> list[bytes]:
    """The lines of a page of `count` rows.

    Raises:
        ValueError: When it holds anything else, or more than such a page may: it is never inflated beyond that.
    """
    most = PAGE if count > 1 else MOST_OF_A_ROW
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(page, most + 1)
    except zlib.error as error:
        raise ValueError(f"a page cannot be inflated: {error}") from error
    lines = data.split(b"\n")
    if len(data) > most or not stream.eof or len(lines) != count + 1:
        raise ValueError(f"a page of {count:,} rows holds something else")
    return lines[:-1]


def decode_row(line: bytes | memoryview) -> Any:  # noqa: ANN401  a row is whatever JSON holds
    """The value of one line."""
    return json.loads(str(line, "utf-8", "surrogatepass"))


class Pages(Sequence[Any]):
    """What `encode_pages` wrote, over mapped bytes: only the page that holds a row is read, and kept for a while."""

    def __init__(
        self, pages: memoryview, table: NDArray[np.uint64], *, damaged: Callable[[str], Exception] = ValueError
    ) -> None:
        """Take both sections as they lie in the file.

        Args:
            pages: All of them.
            table: Of them.
            damaged: Makes what is raised when a page is not as it should be, of the reason.
        """
        self._pages = pages
        self._table = table.reshape(-1, 3)
        self._damaged = damaged
        self._lines = lru_cache(_KEPT_PAGES)(self._read)

    def __len__(self) -> int:
        """How many rows."""
        return int(self._table[-1, 1])

    def __getitem__(self, row: Any) -> Any:  # noqa: ANN401  a row is whatever JSON holds
        """The value of one row."""
        page = int(self._table[:, 1].searchsorted(np.uint64(row), "right")) - 1
        return decode_row(self._lines(page)[row - int(self._table[page, 1])])

    def _read(self, page: int) -> list[bytes]:
        (start, first, _), (end, after, _) = self._table[page].tolist(), self._table[page + 1].tolist()
        try:
            return decode_page(self._pages[start:end], after - first)
        except ValueError as error:
            raise self._damaged(str(error)) from error


class Lines(Sequence[Any]):
    """Rows of format 1: lines of JSON behind one another, and where each starts, `(n + 1)` 64-bit integers."""

    def __init__(self, block: memoryview, offsets: NDArray[np.uint64]) -> None:
        """Take both sections as they lie in the file."""
        self._block = block
        self._offsets = offsets

    def __len__(self) -> int:
        """How many rows."""
        return len(self._offsets) - 1

    def __getitem__(self, row: Any) -> Any:  # noqa: ANN401  a row is whatever JSON holds
        """The value of one row."""
        return decode_row(self._block[int(self._offsets[row]) : int(self._offsets[row + 1])])


def encode_numbers(column: NDArray[np.uint32]) -> bytes:
    """Whole numbers `(n,)` in as few bytes each as the largest needs: 1, 2 or 4."""
    largest = int(column.max(initial=0))
    return column.astype("u1" if largest < 1 << 8 else "<u2" if largest < 1 << 16 else "<u4").tobytes()


def decode_numbers(data: memoryview | bytes, count: int) -> NDArray[np.uint32]:
    """What `encode_numbers` wrote, `(count,)`: 32 bits wide, so that sums do not overflow; wide ones are not copied.

    Raises:
        ValueError: When so many do not fit the bytes.
    """
    width = len(data) // count if count else 1
    if width not in _WIDTHS or width * count != len(data):
        raise ValueError(f"{len(data)} bytes do not hold {count} numbers")
    return np.frombuffer(data, _WIDTHS[width]).astype("<u4", copy=False)


def hash_key(key: str) -> int:
    """xxh3-64 of a string, for lookups; who looks up compares the string itself, or bears a rare collision."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


def hash_keys(keys: Iterable[str]) -> NDArray[np.uint64]:
    """`hash_key` of each, `(n,)`."""
    return np.array([hash_key(key) for key in keys], "<u8")


def starts_of(counts: Iterable[int]) -> NDArray[np.uint32]:
    """Running starts `(n + 1,)` of slices with the given lengths."""
    lengths = np.fromiter(counts, np.int64)
    starts = np.zeros(len(lengths) + 1, "<u4")
    np.cumsum(lengths, out=starts[1:])
    return starts


class MultiMap:
    """From a 64-bit hash to rows: sorted unique keys `(u,)`, starts `(u + 1,)` and rows `(n,)`."""

    def __init__(self, keys: NDArray[np.uint64], starts: NDArray[np.uint32], rows: NDArray[np.uint32]) -> None:
        """Take the three columns."""
        self.keys, self.starts, self.rows = keys, starts, rows

    @classmethod
    def build(cls, hashes: NDArray[np.uint64], rows: NDArray[np.uint32]) -> MultiMap:
        """From pairs of hash and row, both `(n,)`, in any order; a key's rows come out ascending."""
        order = np.lexsort((rows, hashes))
        keys, first = np.unique(hashes[order], return_index=True)
        starts = np.append(first, len(order)).astype("<u4")
        return cls(keys.astype("<u8"), starts, rows[order].astype("<u4"))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each key has, `(u,)`."""
        sizes: NDArray[np.int64] = self.starts[1:].astype(np.int64) - self.starts[:-1]
        return sizes

    def find(self, key: int) -> NDArray[np.uint32]:
        """The rows of one hash; none is an empty array."""
        start, end = self.span(key)
        return self.rows[start:end]

    def find_all(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The rows of several hashes `(m,)`, one after the other: the place of each one's hash, and the row, `(n,)`."""
        if not len(self.keys):
            return np.empty(0, np.int64), np.empty(0, "<u4")
        at = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        starts = self.starts[at].astype(np.int64)
        sizes = np.where(self.keys[at] == keys, self.starts[at + 1] - starts, 0)
        behind = starts - (np.cumsum(sizes) - sizes)  # of a hash's rows here their places there
        return np.repeat(np.arange(len(keys)), sizes), self.rows[np.arange(sizes.sum()) + np.repeat(behind, sizes)]

    def span(self, key: int) -> tuple[int, int]:
        """Where the rows of one hash lie in `rows`."""
        place = int(self.keys.searchsorted(np.uint64(key)))
        if place == len(self.keys) or int(self.keys[place]) != key:
            return 0, 0
        return int(self.starts[place]), int(self.starts[place + 1])
