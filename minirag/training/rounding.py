"""Weights as 8-bit integers that make up for each other's rounding, and whose products no CPU adds up wrongly.

What counts is not how near the integers are to a weight matrix, but how near its products are on the inputs that it
meets. As in GPTQ (arXiv 2210.17323, section 3) the columns are rounded one after another, and what rounding one of them
changes is taken back by those that are still to come, by the inputs' second moments.

x86 CPUs without VNNI add neighbouring products in 16 bits: two activations of up to 255, each times a weight. With any
weights of 8 bits the sum can be twice as large as 16 bits hold; it is cut off then, and the result is wrong. So the
scale of each row is chosen, and each integer bounded, such that no pair can exceed it: every CPU gives the same sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Real = TypeVar("Real", np.float32, np.float64)

TOP = 127
# The most that two neighbouring weights of one sign may come to: 128 * 255 is within 16 bits, and 129 * 255 is not.
PAIR_TOP = 128
# Of the mean second moment, added to each: inputs that hardly vary would let the others run away.
_DAMPING = 0.01
_BLOCK = 64  # columns whose changes reach the rest in one product


def round_rows(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each number to the nearest.

    Returns:
        Integers from -127 to 127, and a scale for each row: `integers * scales[:, None]` is near `matrix`.
    """
    scales = _or_one(np.abs(matrix).max(axis=1) / np.float32(TOP))
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


def round_weights(
    weights: NDArray[np.float32], moments: NDArray[np.floating]
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a weight matrix so that its products with such inputs stay what they are.

    Args:
        weights: `(outputs, inputs)`.
        moments: The mean of `outer(x, x)` over inputs x that it meets, `(inputs, inputs)`.

    Returns:
        Integers in which no two of columns 0 and 1, 2 and 3, … have parts of one sign beyond 128 together, and a scale
        for each row.
    """
    rest = weights.astype(np.float64)
    scales = _pair_scales(rest)
    # Those that the inputs reach most go first, while there are others to make up for them.
    order = np.argsort(-np.diag(moments), kind="stable")
    rest, factors = rest[:, order], _elimination(moments[np.ix_(order, order)].astype(np.float64))
    rounded = np.zeros_like(rest)
    for start in range(0, len(order), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(order)))
        errors = np.zeros((len(rest), block.stop - start))
        for place in range(start, block.stop):
            column = order[place]
            low, high = _bounds(rounded[:, column ^ 1]) if column ^ 1 < len(order) else (-TOP, TOP)
            rounded[:, column] = np.clip(np.rint(rest[:, place] / scales), low, high)
            error = (rest[:, place] - rounded[:, column] * scales) / factors[place, place]
            rest[:, place : block.stop] -= np.outer(error, factors[place, place : block.stop])
            errors[:, place - start] = error
        rest[:, block.stop :] -= errors @ factors[block, block.stop :]
    return rounded.astype(np.int8), scales.astype(np.float32)


def _pair_scales(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least scale of each row for which the row, rounded, keeps the bounds."""
    padded = np.pad(weights, ((0, 0), (0, weights.shape[1] % 2)))
    pairs = [np.maximum(signed, 0) for signed in (padded, -padded)]
    largest = np.maximum(*((each[:, 0::2] + each[:, 1::2]).max(axis=1) for each in pairs))
    return _or_one(np.maximum(largest / PAIR_TOP, np.abs(weights).max(axis=1) / TOP))


def _bounds(neighbour: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between what a weight must lie beside its neighbour, which is 0 while it is still to come."""
    low = np.maximum(-TOP, -PAIR_TOP - np.minimum(neighbour, 0))
    return low, np.minimum(TOP, PAIR_TOP - np.maximum(neighbour, 0))


def _elimination(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper Cholesky factor of the damped moments' inverse: row by row how the others take back an error."""
    diagonal = np.diag_indices(len(moments))
    moments[diagonal] += _DAMPING * max(float(moments[diagonal].mean()), 1e-12)
    return np.linalg.cholesky(np.linalg.inv(moments)).T


def _or_one(scales: NDArray[Real]) -> NDArray[Real]:
    scales[scales == 0] = 1
    return scales
