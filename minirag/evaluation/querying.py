"""How long an index takes to answer, by each way of searching it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.answering import retrieve
from minirag.encoder import OnnxEncoder
from minirag.evaluation.metrics import mean
from minirag.index import Index
from minirag.storage.vectors import quantise, rows_in_view, search_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEIGHBOURS = 10


def measure_queries(path: Path, questions: Sequence[str]) -> dict[str, float]:
    """Medians over the questions, in seconds, and how many of the ten nearest units the graph finds.

    Args:
        path: An index of one segment.
        questions: At least one; each way is warmed up by the first.
    """
    encoder = OnnxEncoder()
    encoder.encode([questions[0]], role="query")
    began = perf_counter()
    with Index(path, mode="r", model="offline", encoder=encoder) as index:
        index.search(questions[0])
        opening = perf_counter() - began
        vectors = [quantise(encoder.encode([question], role="query"))[0] for question in questions]
        exact, graph, recall = _compare(path, index.snapshot.segments[0].unit_vectors, vectors)
        return {
            "open_seconds": opening,
            "search_seconds": _median(index.search, questions),
            "exact_seconds": exact,
            "graph_seconds": graph,
            "graph_recall": recall,
            **{
                f"{name}_seconds": _median(_retrieval(index, name), questions)
                for name in ("naive", "indexrag", "kirag")
            },
        }


def _compare(path: Path, units: NDArray[np.int8], vectors: Sequence[NDArray[np.int8]]) -> tuple[float, float, float]:
    """Seconds of an exact pass and of the graph's search, and the share of the nearest that the graph finds."""
    from usearch.index import Index as Usearch

    graph: Any = Usearch.restore(str(path), view=True)  # the index file is a usearch file, too
    graph.expansion_search = rows_in_view(len(units))
    exact_seconds, graph_seconds, shares = [], [], []
    for vector in [vectors[0], *vectors]:
        began = perf_counter()
        nearest, _ = search_exact(units, vector, _NEIGHBOURS)
        exact_seconds.append(perf_counter() - began)
        began = perf_counter()
        found = graph.search(vector, _NEIGHBOURS).keys
        graph_seconds.append(perf_counter() - began)
        shares.append(len({*nearest.tolist()} & {*np.asarray(found).tolist()}) / max(1, len(nearest)))
    return median(exact_seconds[1:]), median(graph_seconds[1:]), mean(shares[1:])


def _retrieval(index: Index, strategy: str) -> Callable[[str], object]:
    return lambda question: retrieve(question, index, strategy=strategy)


def _median(action: Callable[[str], object], questions: Sequence[str]) -> float:
    times = []
    for question in [questions[0], *questions]:
        began = perf_counter()
        action(question)
        times.append(perf_counter() - began)
    return median(times[1:])
