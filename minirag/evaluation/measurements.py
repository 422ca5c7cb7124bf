"""The single figures of the bench, each against its limit. Every function needs `answering` and an encoder, no LLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Literal

from minirag.answering import retrieve
from minirag.encoder import SHIPPED, OnnxEncoder
from minirag.evaluation.fresh import run_fresh, run_yardstick, time_import
from minirag.evaluation.results import Run
from minirag.index import Index


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure against its limit.

    Attributes:
        what: What was measured, in words.
        measured: The figure.
        unit: "×" for a ratio of times, "%" for a share, "MB" for a million bytes, "points" for a difference in percent,
            "passages" for a count.
        limit: What it must not pass.
        bound: Whether the limit is the most or the least that the figure may be.
        details: The numbers behind it, with their units in their names; None where the system does not say.
    """

    what: str
    measured: float
    unit: Literal["×", "%", "MB", "points", "passages"]
    limit: float
    bound: Literal["at most", "at least"] = "at most"
    details: Mapping[str, float | int | None] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.measured <= self.limit if self.bound == "at most" else self.measured >= self.limit

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, with `holds`."""
        return {**asdict(self), "holds": self.holds}


_STEPS = 2  # of a KiRAG retrieval without a model


def measure_import(rounds: int) -> Measurement:
    """`import minirag` against `import numpy`: medians over fresh processes, by turns.

    Args:
        rounds: How many processes for each, at least 1.

    Raises:
        MiniragError: If a process failed.
    """
    time_import("minirag")  # writes the byte code
    ours, numpy = _by_turns([lambda: time_import("minirag"), lambda: time_import("numpy")], rounds)
    details = {"minirag_ms": 1000 * ours, "numpy_ms": 1000 * numpy, "rounds": rounds}
    return Measurement("import minirag, against import numpy", ours / numpy, "×", 3.0, details=details)


def measure_indexing(source: Path, target: Path) -> tuple[Measurement, Measurement]:
    """Offline indexing in a fresh process: the share of the time inside onnxruntime, and the size of the file.

    Args:
        source: A data set's folder, with a corpus.
        target: Where the index goes; it stays there.

    Raises:
        MiniragError: If the process failed.
    """
    _, built = run_fresh("index", source, target)
    peak = built["peak_bytes"]
    speed = {
        "seconds": built["seconds"],
        "inference_seconds": built["inference_seconds"],
        "passages_per_second": built["passages"] / built["seconds"],
        "peak_memory_mb": None if peak is None else peak / 1e6,
    }
    counts = {key: built[key] for key in ("passages", "facts", "bridges", "triples")}
    counts["bytes_per_passage"] = built["bytes"] // max(1, built["passages"])
    share = 100 * built["inference_seconds"] / built["seconds"]
    return (
        Measurement("offline indexing: time inside onnxruntime", share, "%", 60.0, "at least", speed),
        Measurement("index file", built["bytes"] / 1e6, "MB", 25.0, details=counts),
    )


def measure_retrieval(questions: Sequence[str], path: Path, count: int) -> tuple[Measurement, Measurement]:
    """One search of the flat index, and one step of KiRAG's, against encoding the question alone.

    Medians in one process, by turns. Beside the search, `evidence_ms` is what the whole strategy takes when called from
    a thread of one's own: the same search, twenty passages ranked, and the way to minirag's loop and back.

    Args:
        questions: Asked in turn, from the first again when they run out.
        path: The index.
        count: How many retrievals, at least 1, after a tenth as many to warm up.
    """
    encoder = OnnxEncoder()
    warm_up = count // 10 + 1
    times: list[tuple[float, float]] = []
    with Index(path, mode="r", model="offline", encoder=encoder) as index:

        def encode(question: str) -> None:
            encoder.encode([question], role="query")

        def search(question: str) -> None:
            index.search(question)

        def evidence(question: str) -> None:
            retrieve(question, index, strategy="indexrag")

        def chain(question: str) -> None:
            retrieve(question, index, strategy="kirag", steps=_STEPS)

        for number, question in enumerate(islice(cycle(questions), warm_up + count)):
            # Whichever comes first finds the caches colder.
            if number % 2:
                encoding, retrieving = _time(encode, question), _time(search, question)
            else:
                retrieving, encoding = _time(search, question), _time(encode, question)
            times.append((retrieving, encoding))
        # On their own, as they would cool the caches for the others.
        whole = [_time(evidence, question) for question in islice(cycle(questions), warm_up + count)]
        steps = [_time(chain, question) / _STEPS for question in islice(cycle(questions), warm_up + count)]
    retrieving, encoding = (median(column) for column in zip(*times[warm_up:], strict=True))
    step = median(steps[warm_up:])
    details = {
        "retrieval_ms": 1000 * retrieving,
        "encoding_ms": 1000 * encoding,
        "evidence_ms": 1000 * median(whole[warm_up:]),
        "questions": count,
    }
    of_step = {"step_ms": 1000 * step, "encoding_ms": 1000 * encoding, "questions": count}
    what = "one retrieval (index.search), against encoding the question"
    return (
        Measurement(what, retrieving / encoding, "×", 1.5, details=details),
        Measurement("one step of KiRAG, against encoding the question", step / encoding, "×", 4.0, details=of_step),
    )


def measure_opening(question: str, path: Path, rounds: int) -> Measurement:
    """From process start to the first retrieval, against a process that only loads the encoder and encodes.

    Args:
        question: What is asked, and encoded.
        path: The index.
        rounds: How many processes for each, at least 1.

    Raises:
        MiniragError: If a process failed.
    """
    ways = [lambda: run_fresh("open", path, question)[0], lambda: run_yardstick(SHIPPED, question)]
    opening, encoding = _by_turns(ways, rounds)
    details = {"opening_ms": 1000 * opening, "encoding_ms": 1000 * encoding, "rounds": rounds}
    what = "fresh process: open and retrieve, against load and encode"
    return Measurement(what, opening / encoding, "×", 2.0, details=details)


def compare_recall(naive: Run, indexrag: Run, *, k: int = 10) -> Measurement | None:
    """IndexRAG's recall@k, less naive RAG's; None where the data set names no gold documents."""
    of_naive, of_indexrag = naive.recall(k), indexrag.recall(k)
    if of_naive is None or of_indexrag is None:
        return None
    details = {"naive_percent": 100 * of_naive, "indexrag_percent": 100 * of_indexrag}
    gain = 100 * (of_indexrag - of_naive)
    return Measurement(f"recall@{k}: IndexRAG above naive", gain, "points", 0.0, "at least", details)


def _by_turns(ways: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of what each gives; by turns, so that a machine that slows down slows all of them."""
    times = [[way() for way in ways] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


def _time(action: Callable[[str], None], question: str) -> float:
    began = perf_counter()
    action(question)
    return perf_counter() - began
