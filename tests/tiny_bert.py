"""A random BERT of two layers, small enough to train and export within a second, in Hugging Face's form."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

Weights = dict[str, NDArray[np.float32]]

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(96)))
LAYERS, HEADS, WIDTH, INNER, POSITIONS = 2, 4, 32, 64, 40
EPSILON = 1e-12


def make_weights(words: int = len(WORDS), *, spread: float = 0.15, largest: float = 8) -> Weights:
    """Random ones.

    Args:
        words: How many the tokenizer knows.
        spread: Standard deviation of word vectors.
        largest: The scale of a few channels of the hidden states, which trained models have.
    """
    chance = np.random.default_rng(7)

    def random(*shape: int) -> NDArray[np.float32]:
        return chance.normal(0, 0.15, shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": random(words, WIDTH) * np.float32(spread / 0.15),
        "embeddings.position_embeddings.weight": random(POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": random(2, WIDTH),
    }
    sizes = {"attention.self.query": (WIDTH, WIDTH), "attention.self.key": (WIDTH, WIDTH)}
    sizes |= {"attention.self.value": (WIDTH, WIDTH), "attention.output.dense": (WIDTH, WIDTH)}
    sizes |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        for site, shape in sizes.items():
            tensors[f"encoder.layer.{layer}.{site}.weight"] = random(*shape)
            tensors[f"encoder.layer.{layer}.{site}.bias"] = random(shape[0])
        norms += [f"encoder.layer.{layer}.{part}.LayerNorm" for part in ("attention.output", "output")]
    for norm in norms:
        tensors[f"{norm}.weight"] = 1 + random(WIDTH)
        tensors[f"{norm}.weight"][:2] = largest
        tensors[f"{norm}.bias"] = random(WIDTH)
    return tensors


def write_source(folder: Path, weights: Weights, words: Sequence[str] = WORDS) -> Path:
    """Write the model's folder."""
    folder.mkdir(exist_ok=True)
    save_file({f"bert.{name}": values for name, values in weights.items()}, folder / "model.safetensors")
    config = {"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    config |= {"hidden_size": WIDTH, "layer_norm_eps": EPSILON}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
