"""The encoder in torch, for training: a BertModel with mean pooling, its lower layers frozen if wanted.

The names of the weights are those of Hugging Face's BertModel, which is also what `minirag.training.export` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.training.graph import BertShape


class BertEncoder(nn.Module):
    """Token ids to unit vectors.

    Attributes:
        frozen: How many layers, counted from below and after the embeddings, are not trained.
    """

    def __init__(self, weights: dict[str, NDArray[np.float32]], shape: BertShape, *, frozen: int = 0) -> None:
        """Take the weights as they are.

        Args:
            weights: By the names of a BertModel.
            shape: Sizes.
            frozen: How many layers are not trained; the embeddings never are.
        """
        super().__init__()
        self.shape, self.frozen = shape, frozen
        trained = tuple(f"encoder.layer.{number}." for number in range(frozen, shape.layers))
        self.weights = nn.ParameterDict()
        for name, value in weights.items():
            if name.startswith(("embeddings.", "encoder.layer.")) and value.dtype == np.float32:
                parameter = nn.Parameter(torch.from_numpy(value.copy()), requires_grad=name.startswith(trained))
                self.weights[name.replace(".", "/")] = parameter

    def trained(self) -> list[nn.Parameter]:
        """The parameters that are trained."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """All weights, by the names of a BertModel."""
        return {name.replace("/", "."): value.detach().cpu().numpy().copy() for name, value in self.weights.items()}

    def take(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Replace weights, by the names of a BertModel."""
        with torch.no_grad():
            for name, value in weights.items():
                if (key := name.replace(".", "/")) in self.weights:
                    self.weights[key].copy_(torch.from_numpy(value))

    def lower(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states `(batch, tokens, width)` after the frozen layers."""
        hidden = self._get("embeddings.word_embeddings.weight")[ids]
        hidden = hidden + self._get("embeddings.position_embeddings.weight")[: ids.shape[1]]
        hidden = hidden + self._get("embeddings.token_type_embeddings.weight")[0]
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        return self._layers(hidden, mask, range(self.frozen))

    def upper(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors `(batch, width)` from what the frozen layers gave."""
        hidden = self._layers(hidden, mask, range(self.frozen, self.shape.layers))
        weights = mask.to(torch.float32)[:, :, None]
        pooled = (hidden.to(torch.float32) * weights).sum(1) / weights.sum(1)
        return functional.normalize(pooled, dim=-1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors `(batch, width)`."""
        return self.upper(self.lower(ids, mask), mask)

    def _layers(self, hidden: Tensor, mask: Tensor, numbers: Sequence[int]) -> Tensor:
        allowed = mask.bool()[:, None, None, :]
        for number in numbers:
            hidden = self._layer(hidden, allowed, f"encoder.layer.{number}.")
        return hidden

    def _layer(self, hidden: Tensor, allowed: Tensor, name: str) -> Tensor:
        batch, tokens, width = hidden.shape
        split = (batch, tokens, self.shape.heads, width // self.shape.heads)
        query, key, value = (
            self._linear(hidden, f"{name}attention.self.{part}").view(split).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = _attend(query, key, value, allowed).to(value.dtype)
        seen = self._linear(seen.transpose(1, 2).reshape(batch, tokens, width), f"{name}attention.output.dense")
        hidden = self._norm(hidden + seen, f"{name}attention.output.LayerNorm")
        inner = functional.gelu(self._linear(hidden, f"{name}intermediate.dense"))
        return self._norm(hidden + self._linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _linear(self, hidden: Tensor, name: str) -> Tensor:
        return functional.linear(hidden, self._get(f"{name}.weight"), self._get(f"{name}.bias"))

    def _norm(self, hidden: Tensor, name: str) -> Tensor:
        weight, bias = self._get(f"{name}.weight"), self._get(f"{name}.bias")
        return functional.layer_norm(hidden, (self.shape.width,), weight, bias, self.shape.epsilon)

    def _get(self, name: str) -> Tensor:
        return self.weights[name.replace(".", "/")]


def _attend(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """Attention `(batch, heads, tokens, size)`; on a CPU in 32 bits, which is twice as fast there as bfloat16."""
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
    with torch.autocast("cpu", enabled=False):
        return functional.scaled_dot_product_attention(query.float(), key.float(), value.float(), attn_mask=allowed)
