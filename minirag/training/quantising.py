"""The encoder's weights and products in 8 bits, so that a text's vector depends on nothing but the text.

Weights have one scale for each output, activations one for each token, found while running: a token is rounded in the
same way whatever stands beside it in the batch (onnxruntime's own dynamic quantisation has one scale for the whole
batch). A few channels of BERT's hidden states are ten times as large as the others and would take all of a token's 8
bits. As in SmoothQuant (arXiv 2211.10438, eq. 4) such channels are divided by a constant, which the weights make up
for. How the weights are rounded: `minirag.training.rounding`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from minirag.training.calibrating import Inputs
from minirag.training.graph import CONTRIB, Graph
from minirag.training.rounding import TOP, round_rows, round_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The share of a channel's size that moves from the activations into the weights.
SMOOTHING = 0.7
# Tokens are rounded to -127..127 and stored from 1 on.
TOKEN_ZERO = TOP + 1
# What GELU gives is small but for a few values, and never below -0.16998.
GELU_MINIMUM = -0.17
GELU_TOP = 255


class Int8Form:
    """Products of 8-bit integers with a scale for each token and each output."""

    gelu = "FastGelu"

    def __init__(self, inputs: Mapping[str, Inputs]) -> None:
        """Take what `minirag.training.calibrating.watch` found."""
        self._inputs = inputs

    def embed(self, graph: Graph, ids: str, table: NDArray[np.float32]) -> str:
        """The rows of `table` that `ids` name, made from bytes and a scale for each row."""
        from onnx import TensorProto

        rows, scales = round_rows(table)
        integers = graph.node("Gather", [graph.constant("embeddings", rows), ids])
        factors = graph.node("Gather", [graph.constant("embeddings.scale", scales[:, None]), ids])
        return graph.node("Mul", [graph.node("Cast", [integers], to=TensorProto.FLOAT), factors])

    def multiply(
        self, graph: Graph, site: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[str, NDArray[np.float32]]:
        """`values @ weight.T`, and the bias that is still to be added. See `Form.multiply`."""
        inputs = self._inputs[site]
        moments = inputs.moments
        if site.endswith((".self", ".intermediate")):  # they read hidden states
            channels = _balance(inputs.largest, np.abs(weight).max(axis=0))
            values = graph.node("Mul", [values, graph.constant(f"{site}.channels", 1 / channels)])
            weight, moments = weight * channels, moments / np.outer(channels, channels)
        rows, scales = round_weights(weight, moments)
        if site.endswith(".output") and not site.endswith(".attention.output"):
            integers, scale, zero = _round_gelu(graph, values)
            bias = bias + np.float32(GELU_MINIMUM) * (rows.astype(np.float32) * scales[:, None]).sum(axis=1)
        else:
            integers, scale, zero = _round_tokens(graph, values)
        unit = graph.constant("unit", np.float32(1))
        factors = [integers, graph.constant(f"{site}.weight", rows.T)]
        scaling = [unit, graph.constant(f"{site}.scale", scales), zero]
        product = graph.node("MatMulIntegerToFloat", [*factors, *scaling], domain=CONTRIB)
        return graph.node("Mul", [product, scale]), bias


def _balance(activations: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """From the largest activation and weight of each channel, what to divide the activations by; 1 in the middle."""
    tiny = np.float32(1e-6)
    scales = np.maximum(activations, tiny) ** SMOOTHING / np.maximum(weights, tiny) ** (1 - SMOOTHING)
    return np.asarray(scales / np.median(scales), dtype=np.float32)


def _round_tokens(graph: Graph, values: str) -> tuple[str, str, str]:
    """Each token as integers about a zero point: the integers, a scale for each token, the zero point."""
    axis = graph.constant("last", np.array([-1], dtype=np.int64))
    largest = graph.node("ReduceMax", [graph.node("Abs", [values]), axis], keepdims=1)
    largest = graph.node("Max", [largest, graph.constant("tiny", np.float32(1e-9))])
    return _round(graph, values, largest, top=TOP, zero=TOKEN_ZERO)


def _round_gelu(graph: Graph, values: str) -> tuple[str, str, str]:
    """The same for what GELU gives: from its minimum on, so that no bit goes to values which it never has."""
    axis = graph.constant("last", np.array([-1], dtype=np.int64))
    values = graph.node("Sub", [values, graph.constant("gelu_minimum", np.float32(GELU_MINIMUM))])
    return _round(graph, values, graph.node("ReduceMax", [values, axis], keepdims=1), top=GELU_TOP, zero=0)


def _round(graph: Graph, values: str, largest: str, *, top: int, zero: int) -> tuple[str, str, str]:
    factor = graph.node("Div", [graph.constant(f"top_{top}", np.float32(top)), largest])
    point = graph.constant(f"zero_{zero}", np.uint8(zero))
    scaled = graph.node("Mul", [values, factor])
    integers = graph.node("QuantizeLinear", [scaled, graph.constant("unit", np.float32(1)), point])
    return integers, graph.node("Reciprocal", [factor]), point
