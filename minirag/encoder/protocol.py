"""What every encoder promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

Role = Literal["document", "query"]


class Encoder(Protocol):
    """Turns texts into vectors whose dot product is their similarity. Safe to use from several threads.

    Attributes:
        name: For people.
        fingerprint: Two encoders with the same one give the same vectors; files remember it.
        max_tokens: What lies beyond this many tokens of a text may not be seen, special tokens included.
    """

    name: str
    fingerprint: str
    max_tokens: int

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts tokens as `max_tokens` means them, neither truncating nor padding; not to be changed."""
        ...

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Vectors of unit length, `(len(texts), dimensions)`, in the order of the texts.

        None may be zero or hold what is no finite number: an index refuses them with an `EncoderError`.

        Args:
            texts: Of any length and script; may be empty, and so may each text.
            role: Some models read questions in another way than documents.
            progress: Called after each batch with the number of texts in it; raises `asyncio.CancelledError` once
                nobody waits for the vectors any more, which is to be let through.

        Raises:
            EncoderError: If the model cannot be loaded or run.
        """
        ...


def replace_surrogates(text: str) -> str:
    """The text as it is, but lone surrogates, which are no characters and cannot be encoded, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
