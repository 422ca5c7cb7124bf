"""An encoder that gives equal vectors to equal texts, in whatever batches they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder import OnnxEncoder, Role

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer


class RememberingEncoder:
    """The shipped encoder, which encodes every text once and alone: equal texts have equal vectors, to the last bit."""

    def __init__(self) -> None:
        self._encoder = OnnxEncoder()
        self._vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        self.name = self._encoder.name
        self.fingerprint = self._encoder.fingerprint
        self.max_tokens = self._encoder.max_tokens
        self.dimensions = self._encoder.dimensions

    @property
    def tokenizer(self) -> Tokenizer:
        return self._encoder.tokenizer

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        for text in texts:
            if (role, text) not in self._vectors:
                self._vectors[role, text] = self._encoder.encode([text], role=role)[0]
        if progress is not None:
            progress(len(texts))
        return np.array([self._vectors[role, text] for text in texts], np.float32).reshape(-1, self.dimensions)
