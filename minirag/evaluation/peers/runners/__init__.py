"""How each peer is driven: `build(documents, setup)` indexes and gives the ways of retrieving.

These modules are imported in the peer's own environment only, where minirag is found beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from minirag.encoder import OnnxEncoder
    from minirag.records import Document

MODEL = "scripted"  # what the loopback server is asked for

# A question and how many documents are wanted → ids of documents, best first. They may be fewer.
Retrieve = Callable[[str, int], list[str]]
Ways = Mapping[str, Retrieve]


@dataclass(frozen=True)
class Setup:
    """What a runner may use.

    Attributes:
        folder: Where the peer keeps what it must keep; empty at first.
        api_base: An OpenAI-compatible server; "" for a peer that is measured without an LLM.
    """

    folder: Path
    api_base: str

    @cached_property
    def encoder(self) -> OnnxEncoder:
        """The encoder that ships with minirag."""
        from minirag.encoder import OnnxEncoder

        return OnnxEncoder()

    @property
    def encoding_seconds(self) -> float:
        """Spent inside onnxruntime so far; 0 where the encoder was never asked for."""
        return self.encoder.inference_seconds if "encoder" in vars(self) else 0.0

    def encode(self, documents: Sequence[Document]) -> NDArray[float32]:
        """Vectors of unit length, in the order of the documents, of title and text as minirag encodes them.

        What lies beyond the encoder's window of a long document is not seen: a plain store does not split.
        """
        return self.encoder.encode([f"{each.title}. {each.text}" if each.title else each.text for each in documents])

    def encode_question(self, question: str) -> NDArray[float32]:
        """One vector."""
        vector: NDArray[float32] = self.encoder.encode([question], role="query")[0]
        return vector


def titled(document: Document) -> str:
    """What a peer gets to read of a document."""
    return f"{document.title}\n{document.text}" if document.title else document.text
