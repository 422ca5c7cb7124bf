"""The encoder as an ONNX graph: BERT's embeddings and layers, mean pooling and normalisation, from arrays alone.

Where onnxruntime has an operator for several steps at once (attention, GELU with its bias), the graph uses it, so that
nothing is left for the session to fuse. The sum with LayerNormalization is the exception: fused, it takes longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto

OPSET = 18
IR_VERSION = 9
CONTRIB = "com.microsoft"
INPUTS = ("input_ids", "attention_mask")
# Not "embedding": onnxruntime rejects graphs with an output of that name.
OUTPUT = "sentence_vector"


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT encoder, as its config.json says them.

    Attributes:
        layers: Number of layers.
        heads: Attention heads of a layer.
        width: Length of a token's vector, and of a sentence's.
        epsilon: Of the layer normalisations.
    """

    layers: int
    heads: int
    width: int
    epsilon: float


class Graph:
    """Collects nodes and constants."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def constant(self, name: str, values: NDArray[Any] | np.generic) -> str:
        """Keep an array under a name (once), and give the name."""
        from onnx import numpy_helper

        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def node(self, operator: str, inputs: list[str], *, name: str = "", domain: str = "", **attributes: Any) -> str:  # noqa: ANN401
        """Add an operator with one output; give the output's name."""
        return self.nodes_out(operator, inputs, [name or f"{operator}_{len(self.nodes)}"], domain=domain, **attributes)[
            0
        ]

    def nodes_out(
        self,
        operator: str,
        inputs: list[str],
        outputs: list[str],
        *,
        domain: str = "",
        **attributes: Any,  # noqa: ANN401
    ) -> list[str]:
        """Add an operator; give its outputs' names."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs


class Form(Protocol):
    """How weights are kept, and what multiplies with them."""

    gelu: str

    def embed(self, graph: Graph, ids: str, table: NDArray[np.float32]) -> str:
        """The rows of `table` that `ids` name."""
        ...

    def multiply(
        self, graph: Graph, site: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[str, NDArray[np.float32]]:
        """`values @ weight.T`, and the bias that is still to be added to it.

        Args:
            graph: Gets the operators.
            site: Names the place in the graph; ends with `attention.self`, `attention.output`, `intermediate` or
                `output`.
            values: Name of an activation, `(batch, sequence, inputs)`.
            weight: `(outputs, inputs)`.
            bias: `(outputs,)`.
        """
        ...


class FloatForm:
    """Weights in 32-bit floats: the reference, and the form for a GPU."""

    gelu = "BiasGelu"

    def embed(self, graph: Graph, ids: str, table: NDArray[np.float32]) -> str:
        """The rows of `table` that `ids` name."""
        return graph.node("Gather", [graph.constant("embeddings", table), ids])

    def multiply(
        self, graph: Graph, site: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[str, NDArray[np.float32]]:
        """`values @ weight.T`, and the bias."""
        return graph.node("MatMul", [values, graph.constant(f"{site}.weight", weight.T)]), bias


def build_encoder(weights: Mapping[str, NDArray[np.float32]], shape: BertShape, form: Form) -> ModelProto:
    """The whole encoder: `input_ids` and `attention_mask`, int64 `(batch, sequence)`, to unit vectors `(batch, width)`.

    Args:
        weights: Under the names of a BertModel's state.
        shape: Its sizes.
        form: How the weights are kept.
    """
    from onnx import TensorProto, helper

    graph = Graph()
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.INT32)
    hidden = _embed(graph, weights, shape, form)
    for layer in range(shape.layers):
        hidden = _layer(graph, weights, shape, form, hidden, mask, f"encoder.layer.{layer}")
    _pool(graph, hidden)

    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in INPUTS]
    outputs = [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", shape.width])]
    body = helper.make_graph(graph.nodes, "encoder", inputs, outputs, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="minirag")


def _fuse_attention(
    weights: Mapping[str, NDArray[np.float32]], site: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight and bias of queries, keys and values of one layer, stacked in this order."""
    parts = ("query", "key", "value")
    return (
        np.concatenate([weights[f"{site}.{part}.weight"] for part in parts]),
        np.concatenate([weights[f"{site}.{part}.bias"] for part in parts]),
    )


def _embed(graph: Graph, weights: Mapping[str, NDArray[np.float32]], shape: BertShape, form: Form) -> str:
    """Word, position and type embeddings; the type is always the first, so it is added to the positions here."""
    words = form.embed(graph, "input_ids", weights["embeddings.word_embeddings.weight"])
    kinds = weights["embeddings.token_type_embeddings.weight"]
    positions = graph.constant("positions", weights["embeddings.position_embeddings.weight"] + kinds[0])
    first = graph.constant("zero", np.array([0], dtype=np.int64))
    length = graph.node("Shape", ["input_ids"], start=1, end=2)
    total = graph.node("Add", [words, graph.node("Slice", [positions, first, length, first])])
    return _normalise(graph, weights, shape, total, "embeddings.LayerNorm")


def _layer(
    graph: Graph,
    weights: Mapping[str, NDArray[np.float32]],
    shape: BertShape,
    form: Form,
    hidden: str,
    mask: str,
    layer: str,
) -> str:
    def multiply(site: str, values: str) -> tuple[str, str]:
        weight, bias = weights[f"{site}.dense.weight"], weights[f"{site}.dense.bias"]
        product, bias = form.multiply(graph, site, values, weight, bias)
        return product, graph.constant(f"{site}.bias", bias)

    site = f"{layer}.attention.self"
    product, bias = form.multiply(graph, site, hidden, *_fuse_attention(weights, site))
    parts = graph.nodes_out("Split", [product], [f"{site}.{part}" for part in "qkv"], axis=-1, num_outputs=3)
    inputs = [*parts, graph.constant(f"{site}.bias", bias), mask]
    attended = graph.node("MultiHeadAttention", inputs, domain=CONTRIB, num_heads=shape.heads)

    added = graph.node("Add", [graph.node("Add", list(multiply(f"{layer}.attention.output", attended))), hidden])
    hidden = _normalise(graph, weights, shape, added, f"{layer}.attention.output.LayerNorm")

    inner = graph.node(form.gelu, list(multiply(f"{layer}.intermediate", hidden)), domain=CONTRIB)
    added = graph.node("Add", [graph.node("Add", list(multiply(f"{layer}.output", inner))), hidden])
    return _normalise(graph, weights, shape, added, f"{layer}.output.LayerNorm")


def _normalise(
    graph: Graph, weights: Mapping[str, NDArray[np.float32]], shape: BertShape, values: str, norm: str
) -> str:
    parameters = [graph.constant(f"{norm}.{part}", weights[f"{norm}.{part}"]) for part in ("weight", "bias")]
    return graph.node("LayerNormalization", [values, *parameters], axis=-1, epsilon=shape.epsilon)


def _pool(graph: Graph, hidden: str) -> None:
    """The mean over the tokens, at unit length: so the sum will do."""
    from onnx import TensorProto

    axis = graph.constant("one", np.array([1], dtype=np.int64))
    row = graph.node("Unsqueeze", [graph.node("Cast", ["attention_mask"], to=TensorProto.FLOAT), axis])
    total = graph.node("Squeeze", [graph.node("MatMul", [row, hidden]), axis])
    graph.node("LpNormalization", [total], name=OUTPUT, axis=-1, p=2)
