"""Rows in columns: many small JSON values in one block of bytes, read one by one, and numbers as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encode_rows(rows: Iterable[Any]) -> tuple[bytes, bytes]:
    """Each row as a line of UTF-8 JSON, all in one block, and the lines' offsets as `(n + 1)` 64-bit integers."""
    parts = [
        json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        for row in rows
    ]
    offsets = np.zeros(len(parts) + 1, "<u8")
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return b"".join(parts), offsets.tobytes()


def _encode(row: Any) -> bytes:  # noqa: ANN401  a row is whatever JSON holds
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


class Rows(Sequence[Any]):
    """What `encode_rows` wrote, over mapped bytes: only the row that is asked for is parsed."""

    def __init__(self, block: memoryview, offsets: NDArray[np.uint64]) -> None:
        """Take both sections as they lie in the file."""
        self._block = block
        self._offsets = offsets

    def __len__(self) -> int:
        """How many rows."""
        return len(self._offsets) - 1

    def __getitem__(self, row: Any) -> Any:  # noqa: ANN401  a row is whatever JSON holds
        """The value of one row."""
        return json.loads(
            str(self._block[int(self._offsets[row]) : int(self._offsets[row + 1])], "utf-8", "surrogatepass")
        )


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

    def span(self, key: int) -> tuple[int, int]:
        """Where the rows of one hash lie in `rows`."""
        place = int(self.keys.searchsorted(np.uint64(key)))
        if place == len(self.keys) or int(self.keys[place]) != key:
            return 0, 0
        return int(self.starts[place]), int(self.starts[place + 1])
