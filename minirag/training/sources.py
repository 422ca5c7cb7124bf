"""A BertModel in the form of Hugging Face's transformers, read and looked at: what is wrong is told with its path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.encoder import loading
from minirag.errors import InputError
from minirag.training.graph import BertShape

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.json")
WORDS, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"

_WANTED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_HOW = "Give a whole folder of a BertModel, as it was published or trained"


def read_bert(folder: Path) -> tuple[dict[str, NDArray[np.float32]], BertShape]:
    """The weights and sizes of a BertModel.

    Raises:
        InputError: If files are missing or damaged, or it is another architecture.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder} lacks {', '.join(missing)}. {_HOW}")
    shape = _read_shape(folder / "config.json")
    path = folder / "model.safetensors"
    weights = _read_weights(path)
    for name, expected in _expected(weights, shape, path).items():
        found = weights[name].shape if name in weights else None
        if found != expected:
            told = f"lacks {name}" if found is None else f"has {name} of shape {found}, not {expected}"
            raise InputError(f"{path} {told}, as {folder / 'config.json'} wants it. {_HOW}")
        if not np.isfinite(weights[name]).all():
            raise InputError(f"{path} holds NaN or infinity in {name}. {_HOW}")
    return weights, shape


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, neither truncating nor padding.

    Raises:
        InputError: If its file cannot be read.
    """
    try:
        return loading.read_tokenizer(folder / "tokenizer.json")
    except ValueError as error:
        raise InputError(f"{error}. {_HOW}") from error


def _read_shape(path: Path) -> BertShape:
    try:
        config: Mapping[str, Any] = json.loads(path.read_bytes())
        differs = {key: value for key, value in _WANTED.items() if config.get(key, value) != value}
        shape = None if differs else _shape_of(config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be used: {error}"
        raise InputError(f"{path} {reason}. {_HOW}") from error
    if shape is None:
        key, value = next(iter(differs.items()))
        raise InputError(f"{path} has {key} {config[key]!r}; only {value!r} can be trained or exported")
    return shape


def _shape_of(config: Mapping[str, Any]) -> BertShape:
    shape = BertShape(
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        width=int(config["hidden_size"]),
        epsilon=float(config["layer_norm_eps"]),
    )
    if min(shape.layers, shape.heads, shape.width) < 1 or shape.width % shape.heads:
        raise ValueError(f"{shape.layers} layers, {shape.heads} heads and a hidden_size of {shape.width} make no model")
    return shape


def _read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is damaged, or no safetensors that can be read: {error}. {_HOW}") from error
    return {key.removeprefix("bert."): np.asarray(value, dtype=np.float32) for key, value in tensors.items()}


def _expected(weights: Mapping[str, NDArray[np.float32]], shape: BertShape, path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor that is used; numbers of words, positions and inner channels are what is there."""

    def rows(name: str) -> int:
        if name not in weights or not weights[name].ndim:
            raise InputError(f"{path} lacks {name}. {_HOW}")
        return len(weights[name])

    width = shape.width
    kinds = "embeddings.token_type_embeddings.weight"
    expected: dict[str, tuple[int, ...]] = {name: (rows(name), width) for name in (WORDS, POSITIONS, kinds)}
    norms = ["embeddings.LayerNorm"]
    for number in range(shape.layers):
        layer = f"encoder.layer.{number}"
        inner = rows(f"{layer}.intermediate.dense.bias")
        sizes = {f"attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (width, width)}
        sizes |= {"intermediate.dense": (inner, width), "output.dense": (width, inner)}
        for site, size in sizes.items():
            expected[f"{layer}.{site}.weight"], expected[f"{layer}.{site}.bias"] = size, size[:1]
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    return expected | {f"{norm}.{part}": (width,) for norm in norms for part in ("weight", "bias")}
