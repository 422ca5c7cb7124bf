"""Triples' vectors in three bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minirag.storage.packing import LEAST_COSINE, PackedMatrix, pack, packed_width, unpack
from minirag.storage.vectors import quantise, search_exact
from tests.stored import shipped_encoder

TRIPLES = [
    "Ada Brell | wrote | The Harbour Book",
    "Ada Brell | was born in | Karsund",
    "Otto Vane | designed | the lighthouse of Ostwick",
    "Ostwick | lies on | the Grey Coast",
    "Mira Holt | is the sister of | Sven Dahl",
]


def drawn(rows: int, dimensions: int) -> NDArray[np.int8]:
    vectors = np.random.default_rng(rows).standard_normal((rows, dimensions)).astype(np.float32)
    return quantise(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def cosines(left: NDArray[np.int8], right: NDArray[np.int8]) -> NDArray[np.float64]:
    one, other = left.astype(float), right.astype(float)
    lengths: NDArray[np.float64] = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray(np.einsum("ij,ij->i", one, other) / lengths)


@pytest.mark.parametrize(("rows", "dimensions"), [(1, 384), (3, 20), (20_000, 16), (5, 1_024), (0, 384)])
def test_vectors_keep_their_direction(rows: int, dimensions: int) -> None:
    vectors = drawn(rows, dimensions)
    packed = pack(vectors)
    assert packed is not None
    assert len(packed) == rows * packed_width(dimensions) == rows * 3 * -(-dimensions // 8)
    matrix = PackedMatrix(memoryview(packed), rows, dimensions)
    assert (len(matrix), matrix.shape) == (rows, (rows, dimensions))
    if rows:
        assert cosines(matrix[:], vectors).min() > LEAST_COSINE
        assert cosines(matrix[:], vectors).mean() > 0.96


def test_real_ones_keep_their_order() -> None:
    encoder = shipped_encoder()
    vectors = quantise(encoder.encode(TRIPLES, role="document"))
    packed = pack(vectors)
    assert packed is not None
    restored = PackedMatrix(memoryview(packed), *vectors.shape)[:]
    assert cosines(restored, vectors).min() > 0.96
    for question, best in (("Where was Ada Brell born?", 1), ("Who designed the lighthouse of Ostwick?", 2)):
        query = quantise(encoder.encode([question], role="query"))[0]
        assert search_exact(np.ascontiguousarray(restored), query, 1)[0].tolist() == [best]


@given(seed=st.integers(0, 999), dimensions=st.integers(8, 70))
def test_what_was_unpacked_is_packed_to_the_same_bytes(seed: int, dimensions: int) -> None:
    """So an index may be merged, compacted, exported and imported any number of times."""
    values = np.random.default_rng(seed).integers(-4, 4, (6, dimensions)) * 2 + 1
    packed = pack(values.astype(np.int8))
    assert packed is not None
    restored = unpack(np.frombuffer(packed, np.uint8).reshape(6, -1), dimensions)
    assert restored.tolist() == values.tolist()
    assert pack(restored) == packed


def test_rows_are_unpacked_by_slice_mask_and_number() -> None:
    vectors = drawn(9, 24)
    matrix = PackedMatrix(memoryview(pack(vectors) or b""), 9, 24)
    mask = np.arange(9) % 2 == 0
    assert matrix[2:5].tolist() == matrix[:][2:5].tolist()
    assert matrix[mask].tolist() == matrix[:][mask].tolist()
    assert matrix[np.array([7, 1])].tolist() == matrix[:][[7, 1]].tolist()


@pytest.mark.parametrize("kind", ["zero", "sparse", "one large"])
def test_vectors_that_would_lose_too_much_are_not_packed(kind: str) -> None:
    vectors = drawn(4, 384)
    vectors[2] = 0
    if kind == "sparse":
        vectors[2, :3] = 127
    elif kind == "one large":
        vectors[2] = drawn(1, 384)[0] // 32
        vectors[2, 5] = 127
    assert pack(vectors) is None


def test_bytes_that_do_not_fit_are_told() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        PackedMatrix(memoryview(bytes(100)), 3, 24)
