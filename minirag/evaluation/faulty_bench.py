"""Indexing by a model over a network that fails: nothing lost, nothing paid twice, little time wasted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minirag.encoder import OnnxEncoder
from minirag.evaluation.honest import honest_vector
from minirag.evaluation.ideal_schedule import Turn, schedule
from minirag.evaluation.loopback import Loopback
from minirag.evaluation.measurements import Measurement
from minirag.evaluation.provider import ASKED_TO_WAIT, WITH_WAIT, running_provider
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


def ideal_seconds(met: Mapping[str, Sequence[Sequence[str]]]) -> tuple[float, float]:
    """The least time that requests take, one task after the other.

    Args:
        met: By task, for each question in the order of asking, what its requests met with.

    Returns:
        Seconds by `schedule`, and those of the requests alone, side by side without a gap.
    """
    stages = [[[_turn(name) for name in names] for names in questions] for questions in met.values()]
    alone = sum(turn.seconds for chains in stages for chain in chains for turn in chain)
    return sum(schedule(chains, slots=PARALLEL) for chains in stages), alone / PARALLEL


def _turn(name: str) -> Turn:
    return Turn(_TIMEOUT if name == "late" else DELAY, ASKED_TO_WAIT if name == WITH_WAIT else 0.0)


def measure_faulty(passages: int) -> tuple[Measurement, Measurement]:
    """Index passages through a provider of which 30 % of the requests fail, 200 ms a request, 16 at once.

    The ideal time is that of the very requests which the provider counted, retries and repairs included, in the order
    in which it was asked, by `ideal_schedule.schedule`: 16 side by side, each open for 200 ms, those that the provider
    leaves hanging until the client's timeout ends them; after a Retry-After the second that it asks for, in which
    others go; bridging begins when all is extracted. So it has the slots in it that stay free at the end of both
    stages, as nobody knows beforehand which questions will fail how often. Not in it is what minirag adds: waits that
    nobody asked for, computing before, between and after calls, encoding by words, the commits. `requests_seconds` is
    the time of the requests alone, 16 side by side without any gap, as if all failures were known beforehand.
    What is measured against the ideal is the whole `add`.
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
    ideal, alone = ideal_seconds(provider.report["met"])
    counts = {"passages": passages, "failed_and_named": len(report.failed), "lost": lost}
    counts |= {"answered_twice": int(provider.report["answered_twice"]), "requests": requests}
    wrong = lost + counts["answered_twice"]
    of_time = {"seconds": seconds, "ideal_seconds": ideal, "requests_seconds": alone, "requests": requests}
    of_time["failing_percent"] = 100 * RATE
    return (
        Measurement("indexing over a failing network, against ideal", seconds / ideal, "×", 1.15, details=of_time),
        Measurement("the same: passages lost, or paid for twice", float(wrong), "passages", 0.0, details=counts),
    )
