"""Weights as 8-bit integers: what their products lose, and that no CPU can add them up wrongly."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import numpy_helper

from minirag.encoder import SHIPPED
from minirag.training.rounding import round_rows, round_weights

SIXTEEN_BITS = (-(2**15), 2**15 - 1)


def error(
    weights: NDArray[np.float32], rows: NDArray[np.int8], scales: NDArray[np.float32], inputs: NDArray[np.float64]
) -> float:
    return float(np.square(inputs @ (rows * scales[:, None] - weights).T).mean())


def extremes(rows: NDArray[np.int8]) -> tuple[int, int]:
    """The least and largest sum of two neighbours' products that activations of 0 to 255 can give."""
    pairs = np.pad(rows.astype(np.int64), ((0, 0), (0, rows.shape[1] % 2))).reshape(len(rows), -1, 2)
    return int((np.minimum(pairs, 0).sum(axis=2) * 255).min()), int((np.maximum(pairs, 0).sum(axis=2) * 255).max())


def test_rows_become_integers() -> None:
    rows, scales = round_rows(np.array([[1.0, -2.54, 0.5], [0.0, 0.0, 0.0]], dtype=np.float32))
    assert rows.tolist() == [[50, -127, 25], [0, 0, 0]]
    assert scales.tolist() == pytest.approx([0.02, 1.0])


def test_products_of_inputs_like_those_seen_change_least() -> None:
    chance = np.random.default_rng(3)
    weights = chance.normal(size=(40, 96)).astype(np.float32)
    mixing = chance.normal(size=(24, 96))
    seen, unseen = (chance.normal(size=(900, 24)) @ mixing for _ in range(2))
    rows, scales = round_weights(weights, seen.T @ seen / len(seen))
    plainly = (np.rint(weights / scales[:, None]).astype(np.int8), scales)
    assert error(weights, rows, scales, unseen) < 0.2 * error(weights, *plainly, unseen)


def test_each_number_goes_to_the_nearest_where_inputs_have_nothing_in_common() -> None:
    weights = np.random.default_rng(4).normal(size=(8, 16)).astype(np.float32)
    rows, scales = round_weights(weights, np.eye(16, dtype=np.float32))
    assert np.array_equal(rows, np.rint(weights / scales[:, None]))


@given(
    seed=st.integers(0, 2**32 - 1),
    outputs=st.integers(1, 6),
    inputs=st.integers(1, 70),
    tail=st.sampled_from([0.0, 1.0, 3.0]),
    rank=st.integers(0, 4),
)
@settings(max_examples=60)
def test_no_pair_of_products_exceeds_16_bits(seed: int, outputs: int, inputs: int, tail: float, rank: int) -> None:
    """Whatever the weights and moments: heavy tails, neighbours of one size, dead inputs, a single input."""
    chance = np.random.default_rng(seed)
    weights = (
        np.sign(chance.normal(size=(outputs, inputs))) * chance.exponential(size=(outputs, inputs)) ** tail
    ).astype(np.float32)
    seen = chance.normal(size=(rank, inputs))
    rows, scales = round_weights(weights, seen.T @ seen)
    assert rows.shape == weights.shape
    assert np.isfinite(scales).all()
    least, largest = extremes(rows)
    assert least >= SIXTEEN_BITS[0]
    assert largest <= SIXTEEN_BITS[1]


def test_rows_of_zeros_stay_zero() -> None:
    rows, scales = round_weights(np.zeros((2, 4), dtype=np.float32), np.zeros((4, 4), dtype=np.float32))
    assert (rows.tolist(), scales.tolist()) == ([[0] * 4] * 2, [1, 1])


def test_the_shipped_weights_keep_within_16_bits() -> None:
    model = onnx.load(str(SHIPPED / "model.onnx"))
    weights = [numpy_helper.to_array(each).T for each in model.graph.initializer if each.name.endswith(".weight")]
    integers = [each for each in weights if each.dtype == np.int8]
    assert len(integers) == 4 * 6
    assert min(extremes(each)[0] for each in integers) >= SIXTEEN_BITS[0]
    assert max(extremes(each)[1] for each in integers) <= SIXTEEN_BITS[1]
