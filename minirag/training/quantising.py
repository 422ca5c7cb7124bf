"""The encoder's weights and products in 8 bits, so that a text's vector depends on nothing but the text.

Weights have one scale for each output, activations one for each token, found while running: a token is rounded in the
same way whatever stands beside it in the batch (onnxruntime's own dynamic quantisation has one scale for the whole
batch). A few channels of BERT's hidden states are ten times as large as the others and would take all of a token's 8
bits. As in SmoothQuant (arXiv 2211.10438, eq. 4) such channels are divided by a constant, which the weights make up
for; the constants come from running the float graph on random tokens, so no text is needed.

x86 CPUs without VNNI add neighbouring products in 16 bits, where the full range of both factors overflows now and then
(cosine to the float graph down to 0.990). The ranges below leave so few overflows that they do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder import import_onnxruntime
from minirag.training.graph import (
    CONTRIB,
    INPUTS,
    BertShape,
    FloatForm,
    Graph,
    build_encoder,
    fused_attention,
    watched_sites,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The share of a channel's size that moves from the activations into the weights.
SMOOTHING = 0.7
CALIBRATION = (24, 64)  # sequences, tokens of each
# Tokens are rounded to -100..100 and stored from 1 on, for products with weights in -112..112.
TOKEN_TOP = 100
TOKEN_ZERO = TOKEN_TOP + 1
WEIGHT_TOP = 112
# What GELU gives is small but for a few values, and never below -0.16998: here the full ranges do not overflow.
GELU_MINIMUM = -0.17
GELU_TOP = 255
FULL_TOP = 127


class Int8Form:
    """Products of 8-bit integers with a scale for each token and each output."""

    gelu = "FastGelu"

    def __init__(self, channels: Mapping[str, NDArray[np.float32]]) -> None:
        """Take the constants that `find_channel_scales` found."""
        self._channels = channels

    def embed(self, graph: Graph, ids: str, table: NDArray[np.float32]) -> str:
        """The rows of `table` that `ids` name, made from bytes and a scale for each row."""
        from onnx import TensorProto

        rows, scales = quantise_rows(table, top=FULL_TOP)
        integers = graph.node("Gather", [graph.constant("embeddings", rows), ids])
        factors = graph.node("Gather", [graph.constant("embeddings.scale", scales[:, None]), ids])
        return graph.node("Mul", [graph.node("Cast", [integers], to=TensorProto.FLOAT), factors])

    def multiply(
        self, graph: Graph, site: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[str, NDArray[np.float32]]:
        """`values @ weight.T`, and the bias that is still to be added. See `Form.multiply`."""
        channels = self._channels.get(site)
        if channels is not None:
            values = graph.node("Mul", [values, graph.constant(f"{site}.channels", 1 / channels)])
            weight = weight * channels
        after_gelu = site.endswith(".output") and not site.endswith(".attention.output")
        rows, scales = quantise_rows(weight, top=FULL_TOP if after_gelu else WEIGHT_TOP)
        if after_gelu:
            integers, scale, zero = _round_gelu(graph, values)
            bias = bias + np.float32(GELU_MINIMUM) * (rows.astype(np.float32) * scales[:, None]).sum(axis=1)
        else:
            integers, scale, zero = _round_tokens(graph, values)
        unit = graph.constant("unit", np.float32(1))
        inputs = [
            integers,
            graph.constant(f"{site}.weight", rows.T),
            unit,
            graph.constant(f"{site}.scale", scales),
            zero,
        ]
        product = graph.node("MatMulIntegerToFloat", inputs, domain=CONTRIB)
        return graph.node("Mul", [product, scale]), bias


def quantise_rows(matrix: NDArray[np.float32], *, top: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as integers from -top to top, and the scale of each: `integers * scales[:, None]` is near `matrix`."""
    scales = np.abs(matrix).max(axis=1) / np.float32(top)
    scales[scales == 0] = 1
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def find_channel_scales(
    weights: Mapping[str, NDArray[np.float32]], shape: BertShape, *, opening: int, closing: int, seed: int = 0
) -> dict[str, NDArray[np.float32]]:
    """For each place that reads a normalised hidden state, what its channels are divided by, `(width,)`.

    Args:
        weights: Of the model, as floats.
        shape: Its sizes.
        opening: The token that opens each text.
        closing: The token that closes it.
        seed: Of the random tokens between them.
    """
    model = build_encoder(weights, shape, FloatForm(), watched=True)
    sequences, length = CALIBRATION
    length = min(length, len(weights["embeddings.position_embeddings.weight"]))
    words = len(weights["embeddings.word_embeddings.weight"])
    tokens = np.random.default_rng(seed).integers(words, size=(sequences, length), dtype=np.int64)
    tokens[:, 0], tokens[:, -1] = opening, closing
    session = import_onnxruntime().InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sites = watched_sites(shape)
    inputs = dict(zip(INPUTS, (tokens, np.ones_like(tokens)), strict=True))
    states = session.run([f"{site}.input" for site in sites], inputs)
    return {
        site: _balance(np.abs(state).max(axis=(0, 1)), np.abs(_weight_at(weights, site)).max(axis=0))
        for site, state in zip(sites, states, strict=True)
    }


def _weight_at(weights: Mapping[str, NDArray[np.float32]], site: str) -> NDArray[np.float32]:
    return fused_attention(weights, site)[0] if site.endswith("self") else weights[f"{site}.dense.weight"]


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
    return _round(graph, values, largest, top=TOKEN_TOP, zero=TOKEN_ZERO)


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
