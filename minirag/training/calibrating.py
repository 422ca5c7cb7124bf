"""What the products of an encoder meet when texts run through it: by this their weights are rounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder import import_onnxruntime
from minirag.training.graph import INPUTS, BertShape, FloatForm, Graph, build_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RANDOM = (24, 64)  # sequences, tokens of each


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one place of the graph multiplies its weights with.

    Attributes:
        largest: The largest absolute value of each channel, `(channels,)`.
        moments: The mean of `outer(x, x)` over all texts' tokens, each text with the same weight,
            `(channels, channels)`.
    """

    largest: NDArray[np.float32]
    moments: NDArray[np.float32]


class WatchedForm(FloatForm):
    """Floats, with a name for what flows into each product."""

    def __init__(self) -> None:
        """Start without places."""
        self.widths: dict[str, int] = {}

    def multiply(
        self, graph: Graph, site: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[str, NDArray[np.float32]]:
        """See `Form.multiply`."""
        self.widths[site] = weight.shape[1]
        named = graph.node("Identity", [values], name=f"{site}.input")
        return super().multiply(graph, site, named, weight, bias)


def watch(
    weights: Mapping[str, NDArray[np.float32]], shape: BertShape, sequences: Sequence[Sequence[int]]
) -> dict[str, Inputs]:
    """Run the float graph, and collect what each place meets.

    Memory: 4 bytes for each pair of a place's channels, 0.1 GB for MiniLM-L6 and 2 GB for a BERT of 24 layers.

    Args:
        weights: Of the model, as floats.
        shape: Its sizes.
        sequences: Tokens of texts, special ones included; at least one.
    """
    from onnx import TensorProto, helper

    form = WatchedForm()
    model = build_encoder(weights, shape, form)
    names = {site: f"{site}.input" for site in form.widths}
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "sequence", form.widths[site]])
        for site, name in names.items()
    )
    session = import_onnxruntime().InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    largest = {site: np.zeros(width, dtype=np.float32) for site, width in form.widths.items()}
    moments = {site: np.zeros((width, width), dtype=np.float32) for site, width in form.widths.items()}
    for tokens in sequences:
        ids = np.array([tokens], dtype=np.int64)
        found = session.run([*names.values()], dict(zip(INPUTS, (ids, np.ones_like(ids)), strict=True)))
        for site, (rows,) in zip(names, found, strict=True):
            largest[site] = np.maximum(largest[site], np.abs(rows).max(axis=0))
            moments[site] += rows.T @ rows / np.float32(len(rows) * len(sequences))
    return {site: Inputs(largest[site], moments[site]) for site in names}


def random_sequences(words: int, positions: int, *, opening: int, closing: int, seed: int = 0) -> Iterator[list[int]]:
    """Random tokens, for where there are no texts.

    Args:
        words: The size of the vocabulary.
        positions: The longest sequence that the model takes.
        opening: The token that opens each text.
        closing: The token that closes it.
        seed: Of the tokens between them.
    """
    sequences, length = _RANDOM
    draw = np.random.default_rng(seed)
    for _ in range(sequences):
        yield [opening, *draw.integers(words, size=min(length, positions) - 2).tolist(), closing]
