"""Triples' vectors in three bits a component: a passage has several, and they are weighed against each other alone.

A component becomes one of eight steps, 0.586 standard deviations wide, which loses least of normally distributed values
(Max 1960, "Quantizing for minimum distortion"). Against eight bits, the cosine of a question with a triple is off by
0.01. Recall by chains of triples changes by 0.3 points at most; by the paper's ranking of triples alone it falls by up
to 0.8, and by up to 1.2 where a model extracted some of them (the README's four data sets, at 2 to 10 passages).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 3
LEAST_COSINE = 0.9  # between a vector and what becomes of it: few values or large outliers would lose more
_STEP = 0.586
_HIGHEST = (1 << BITS) - 1
_ROWS = 1 << 14  # unpacked at once


def packed_width(dimensions: int) -> int:
    """Bytes of one vector."""
    return BITS * -(-dimensions // 8)


def pack(vectors: NDArray[np.int8]) -> bytes | None:
    """Vectors `(n, dim)` in three bits a component, row by row; None where one of them would lose too much.

    What `unpack` gave is packed to the same bytes.
    """
    parts = []
    for rows in _slices(len(vectors)):
        part = vectors[rows]
        levels = _to_levels(part)
        if (_cosines(part, levels) < LEAST_COSINE).any():
            return None
        bits = (((levels + _HIGHEST) >> 1)[:, None] >> np.arange(BITS, dtype=np.int8)[:, None]) & 1
        parts.append(np.packbits(bits.astype(np.uint8), axis=2).tobytes())
    return b"".join(parts)


def unpack(packed: NDArray[np.uint8], dimensions: int) -> NDArray[np.int8]:
    """Vectors `(n, dim)` of odd numbers from -7 to 7, from `(n, packed_width(dim))` bytes."""
    planes = packed.reshape(len(packed), BITS, packed_width(dimensions) // BITS)
    bits = np.unpackbits(planes, axis=2, count=dimensions).view(np.int8)
    levels: NDArray[np.int8] = bits[:, 0] * np.int8(2) - np.int8(_HIGHEST)
    for place in range(1, BITS):
        levels += bits[:, place] << np.int8(place + 1)
    return levels


class PackedMatrix:
    """A matrix `(n, dim)` of packed vectors in mapped bytes: what is asked for is unpacked."""

    def __init__(self, data: memoryview, rows: int, dimensions: int) -> None:
        """View the bytes; nothing is copied.

        Raises:
            ValueError: When so many rows do not fit the bytes.
        """
        self._packed = np.frombuffer(data, np.uint8).reshape(rows, packed_width(dimensions))
        self.shape = (rows, dimensions)

    def __len__(self) -> int:
        """How many rows."""
        return len(self._packed)

    def __getitem__(self, rows: Any) -> NDArray[np.int8]:  # noqa: ANN401  whatever numpy takes for rows
        """The vectors of a slice, a mask, or numbers of rows."""
        return unpack(self._packed[rows], self.shape[1])

    def slices(self) -> Iterator[slice]:
        """All rows, in parts that fit into memory."""
        return _slices(len(self))


def _slices(count: int) -> Iterator[slice]:
    return (slice(start, min(count, start + _ROWS)) for start in range(0, count, _ROWS))


def _to_levels(vectors: NDArray[np.int8]) -> NDArray[np.int8]:
    """Each row as odd numbers from -7 to 7; a row of such stays as it is."""
    wide = vectors.astype(np.float32)
    step = _STEP * np.sqrt(np.square(wide).mean(axis=1, keepdims=True))
    steps = np.floor(wide / np.maximum(step, 1e-9)).clip(-(_HIGHEST + 1) // 2, _HIGHEST // 2)
    levels: NDArray[np.int8] = (2 * steps + 1).astype(np.int8)
    are_levels = ((vectors & 1) == 1).all(axis=1) & (np.abs(wide) <= _HIGHEST).all(axis=1)
    levels[are_levels] = vectors[are_levels]
    return levels


def _cosines(left: NDArray[np.int8], right: NDArray[np.int8]) -> NDArray[np.float32]:
    one, other = left.astype(np.float32), right.astype(np.float32)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray(np.einsum("ij,ij->i", one, other) / np.maximum(lengths, 1e-9), np.float32)
