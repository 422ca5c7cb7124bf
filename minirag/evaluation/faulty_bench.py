"""Indexing by a model over a network that fails: nothing lost, nothing paid twice, little time wasted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minirag.encoder import OnnxEncoder
from minirag.evaluation.honest import honest_vector
from minirag.evaluation.loopback import Loopback
from minirag.evaluation.measurements import Measurement
from minirag.evaluation.provider import running_provider
from minirag.index import Index
from minirag.records import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

PASSAGES, QUICK_PASSAGES = 1000, 32
RATE, DELAY, PARALLEL = 0.3, 0.2, 16
_TIMEOUT = 1.0  # seconds; what is late comes after three


class WordEncoder:
    """Vectors of hashed words: what encoding takes must not hide what calling takes."""

    name = fingerprint = "bench-words"
    max_tokens = 256
    dimensions = 64

    def __init__(self) -> None:
        """Tokens are counted as the shipped encoder does."""
        self._shipped = OnnxEncoder()

    @property
    def tokenizer(self) -> Tokenizer:
        """The shipped encoder's."""
        return self._shipped.tokenizer

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Literal["document", "query"] = "document",  # noqa: ARG002
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float32]:
        """A bag of words for each text."""
        if progress is not None:
            progress(len(texts))
        return np.array([honest_vector(text, self.dimensions) for text in texts], np.float32).reshape(-1, 64)


def make_documents(count: int) -> list[Document]:
    """So many documents of one passage each; five names for six of them bridge, as in a corpus of articles."""
    return [
        Document(
            f"clerk-{number}",
            f"Clerk Number{number} kept the ledgers of Harbour{number // 2}. He came from Inlet{number // 3} in 1850.",
            f"Clerk Number{number}",
        )
        for number in range(count)
    ]


def _import_libraries() -> None:
    """What a first call imports is measured elsewhere."""
    with tempfile.TemporaryDirectory() as folder, Loopback() as server:
        path = Path(folder) / "first.usearch"
        with Index(path, model="openai/bench", encoder=WordEncoder(), api_base=server.api_base) as index:
            index.add([Document("first", "A pause. It passes.", "First")], progress=False)


def measure_faulty(passages: int) -> tuple[Measurement, Measurement]:
    """Index passages through a provider of which 30 % of the requests fail, 200 ms a request, 16 at once.

    The ideal time is that of the requests which the provider counted, retries included: each 200 ms, 16 side by side
    without a gap. What is measured against it is the whole `add`: extraction, bridging, encoding by words, commit.
    "Lost" are passages that are neither in the index with their facts nor named as failed, and questions that the
    provider answered usably more than once.

    Args:
        passages: How many.
    """
    documents = make_documents(passages)
    _import_libraries()
    with tempfile.TemporaryDirectory() as folder, running_provider(rate=RATE, delay=DELAY) as provider:
        options: dict[str, Any] = {"api_base": provider.api_base, "timeout": _TIMEOUT, "max_parallel": PARALLEL}
        path = Path(folder) / "faulty.usearch"
        with Index(path, model="openai/bench", encoder=WordEncoder(), **options) as index:
            began = perf_counter()
            report = index.add(documents, progress=False)
            seconds = perf_counter() - began
            named = {failure.id.rpartition("#")[0] for failure in report.failed}
            extracted = {hit.document_ids[0] for hit in index.search("clerk", k=10 * passages, kinds=["fact"])}
    lost = sum(1 for document in documents if document.id not in extracted and document.id not in named)
    requests = int(provider.report["requests"])
    ideal = requests * DELAY / PARALLEL
    counts = {"passages": passages, "failed_and_named": len(report.failed), "lost": lost}
    counts |= {"answered_twice": int(provider.report["answered_twice"]), "requests": requests}
    wrong = lost + counts["answered_twice"]
    of_time = {"seconds": seconds, "ideal_seconds": ideal, "requests": requests, "failing_percent": 100 * RATE}
    return (
        Measurement("indexing over a failing network, against ideal", seconds / ideal, "×", 1.15, details=of_time),
        Measurement("the same: passages lost, or paid for twice", float(wrong), "passages", 0.0, details=counts),
    )
