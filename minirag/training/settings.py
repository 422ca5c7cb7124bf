"""How an encoder is trained, and the two sets of settings to start from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from minirag.records import Kind


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """All that a training depends on, apart from its data.

    Attributes:
        base: A folder with a BertModel in safetensors, or a name on the Hugging Face hub.
        epochs: How often every lesson is learnt.
        batch: Lessons in one step.
        negatives: Hard negatives of a fact or triple; 0 leaves the rest of the batch.
        passage_negatives: Hard negatives of a passage, which is longer.
        learning_rate: The highest; it rises over the first steps and falls to nothing (AdamW).
        warmup: The share of steps in which it rises.
        weight_decay: Of matrices.
        temperature: Cosines are divided by it.
        query_tokens: What lies beyond is cut, special tokens included; likewise the next two.
        unit_tokens: Of facts and triples.
        passage_tokens: Of passages.
        frozen_layers: So many of the lower layers stay as they are, and what they give for a text is kept.
        triples: Most lessons of the kind triple in an epoch, so that they do not crowd out the others; 0 is all.
        facts: Likewise of the kind fact.
        passages: Likewise of the kind passage, of each data set, so that each counts alike; what stands for passages
            that are not known does not count.
        chain_queries: Whether questions with a chain are learnt from, or bare ones alone.
        stand_ins: Whether a title with what its article says of a hop stands for a passage that is not known.
        half: Compute in bfloat16, with weights in 32 bits.
        dev_share: The share of questions that only choose: the best checkpoint and how much of it is taken.
        checks: How often in an epoch the encoder is tried on them.
        seed: Of everything drawn.
        query_prefix: What the base expects before a question.
        document_prefix: What it expects before other texts.
        max_tokens: The window of the exported encoder.
    """

    base: str
    epochs: float = 2
    batch: int = 64
    negatives: int = 4
    passage_negatives: int = 2
    learning_rate: float = 5e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    temperature: float = 0.05
    query_tokens: int = 96
    unit_tokens: int = 64
    passage_tokens: int = 144
    frozen_layers: int = 3
    triples: int = 2500
    facts: int = 4000
    passages: int = 1600
    chain_queries: bool = True
    stand_ins: bool = True
    half: bool = True
    dev_share: float = 0.1
    checks: int = 2
    seed: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = 256

    def __post_init__(self) -> None:
        """Refuse what cannot be trained with.

        Raises:
            ValueError: On a number out of range, or one that is none (NaN, infinity).
        """
        _require_finite(asdict(self))
        for name in ("epochs", "batch", "learning_rate", "temperature", "checks"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        for name in ("negatives", "passage_negatives", "frozen_layers", "triples", "facts", "passages", "weight_decay"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        for name in ("query_tokens", "unit_tokens", "passage_tokens", "max_tokens"):
            if getattr(self, name) < 3:
                raise ValueError(f"{name} must be at least 3, not {getattr(self, name)}")
        for name in ("warmup", "dev_share"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")

    def window(self, kind: Kind | None) -> int:
        """The most tokens of a text of this kind, None for a question; special tokens included."""
        if kind is None:
            return self.query_tokens
        return self.passage_tokens if kind == "passage" else self.unit_tokens


def _require_finite(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value}")


Preset = Literal["small", "paper"]

PRESETS: Mapping[Preset, TrainingSettings] = {
    # The shipped encoder's: two cores, less than two hours.
    "small": TrainingSettings(base="sentence-transformers/all-MiniLM-L6-v2"),
    # KiRAG (arXiv 2502.18397, section 4.1 and appendix): E5-large; its batch is not stated, 16 is ours.
    "paper": TrainingSettings(
        base="intfloat/e5-large-v2",
        epochs=10,
        batch=16,
        negatives=10,
        passage_negatives=10,
        learning_rate=2e-5,
        temperature=0.01,
        query_tokens=256,
        unit_tokens=64,
        passage_tokens=256,
        frozen_layers=0,
        triples=0,
        facts=0,
        passages=0,
        query_prefix="query: ",
        document_prefix="passage: ",
        max_tokens=512,
    ),
}
