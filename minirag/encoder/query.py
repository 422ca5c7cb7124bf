"""A query and its vectors: one for what the encoder encoded, one for triples."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from minirag.encoder.checking import encode_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from minirag.encoder.protocol import Encoder
    from minirag.records import Kind


class Query:
    """A text that is searched for. Each of its vectors is computed when it is first needed."""

    def __init__(self, text: str, *, encoder: Encoder, aligner: Encoder) -> None:
        """Keep the text and the index's two models, which may be one."""
        self.text = text
        self._encoder = encoder
        self._aligner = aligner

    @cached_property
    def vector(self) -> NDArray[np.float32]:
        """By the encoder, to be compared with passages, facts and bridging facts: `(dim,)`, of unit length."""
        vector: NDArray[np.float32] = encode_texts(self._encoder, [self.text], role="query")[0]
        return vector

    @cached_property
    def _for_triples(self) -> NDArray[np.float32]:
        if self._aligner is self._encoder:
            return self.vector
        vector: NDArray[np.float32] = encode_texts(self._aligner, [self.text], role="query")[0]
        return vector

    def vector_for(self, kind: Kind) -> NDArray[np.float32]:
        """To be compared with units of a kind: by the aligner for triples, else `vector`."""
        return self._for_triples if kind == "triple" else self.vector
