"""What papers report of themselves: on other corpora, with other encoders and LLMs, and so beside our figures only.

A figure stands here with its source or not at all. What is known to be in a paper but could not be checked against it
is left out: the curves of IndexRAG's Table 10 (k_b) and of KiRAG's appendices C.6 (K0) and C.7 (N).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_FASTER, _SMALLER = 20, 3  # what minirag means to be than IndexRAG's reported figures
Family = Literal["2WikiMultiHopQA", "HotpotQA", "MuSiQue"]
KIRAG = "KiRAG, arXiv 2502.18397 (335M encoder, 8B LLM, larger corpora)"
INDEXRAG = "IndexRAG, arXiv 2603.16415 (gpt-4o-mini, text-embedding-3-small)"
INDEXRAG_CODE = "README of github.com/Continuum-AI-Corp/IndexRAG (gpt-4o-mini, 1,000 questions)"


@dataclass(frozen=True, slots=True)
class Published:
    """One figure.

    Attributes:
        system: Whose.
        family: On which data set.
        metric: "recall@5", "f1", "retrieval seconds", "index MB", …
        value: Scores in percent.
        source: Where it stands, and under what conditions.
    """

    system: str
    family: Family
    metric: str
    value: float
    source: str


FIGURES: tuple[Published, ...] = (
    Published("KiRAG", "2WikiMultiHopQA", "recall@5", 85.3, KIRAG),
    Published("KiRAG", "HotpotQA", "recall@5", 84.1, KIRAG),
    Published("KiRAG", "MuSiQue", "recall@5", 61.2, KIRAG),
    Published("IndexRAG", "2WikiMultiHopQA", "retrieval seconds", 0.30, INDEXRAG),
    Published("IndexRAG", "2WikiMultiHopQA", "index MB", 83.0, INDEXRAG),
    Published("IndexRAG", "2WikiMultiHopQA", "passages", 6262, INDEXRAG),
    Published("IndexRAG", "2WikiMultiHopQA", "bridging calls", 8878, INDEXRAG),
    Published("IndexRAG", "2WikiMultiHopQA", "f1", 51.7, INDEXRAG_CODE),
    Published("IndexRAG", "HotpotQA", "f1", 68.9, INDEXRAG_CODE),
    Published("IndexRAG", "MuSiQue", "f1", 34.4, INDEXRAG_CODE),
    Published("Naive RAG (IndexRAG's)", "2WikiMultiHopQA", "f1", 47.7, INDEXRAG_CODE),
    Published("Naive RAG (IndexRAG's)", "HotpotQA", "f1", 63.6, INDEXRAG_CODE),
    Published("Naive RAG (IndexRAG's)", "MuSiQue", "f1", 29.9, INDEXRAG_CODE),
    Published("BM25 (IndexRAG's)", "2WikiMultiHopQA", "f1", 35.9, INDEXRAG_CODE),
    Published("BM25 (IndexRAG's)", "HotpotQA", "f1", 60.3, INDEXRAG_CODE),
    Published("BM25 (IndexRAG's)", "MuSiQue", "f1", 19.2, INDEXRAG_CODE),
    Published("FastGraphRAG (IndexRAG's)", "2WikiMultiHopQA", "f1", 57.4, INDEXRAG_CODE),
    Published("FastGraphRAG (IndexRAG's)", "HotpotQA", "f1", 63.5, INDEXRAG_CODE),
    Published("FastGraphRAG (IndexRAG's)", "MuSiQue", "f1", 27.2, INDEXRAG_CODE),
    Published("RAPTOR (IndexRAG's)", "2WikiMultiHopQA", "f1", 47.8, INDEXRAG_CODE),
    Published("RAPTOR (IndexRAG's)", "HotpotQA", "f1", 63.6, INDEXRAG_CODE),
    Published("RAPTOR (IndexRAG's)", "MuSiQue", "f1", 29.7, INDEXRAG_CODE),
)
_NAMES: dict[str, Family] = {"2wiki": "2WikiMultiHopQA", "hotpot": "HotpotQA", "musique": "MuSiQue"}


def family_of(dataset: str) -> Family | None:
    """Which of the papers' data sets a run's data set is from, by its name."""
    name = dataset.lower()
    return next((family for key, family in _NAMES.items() if key in name), None)


def figures_for(dataset: str) -> tuple[Published, ...]:
    """What papers report on the data set that this one is from."""
    family = family_of(dataset)
    return tuple(figure for figure in FIGURES if figure.family == family)


def figure_of(dataset: str, system: str, metric: str) -> float | None:
    """One of them; None where there is none."""
    found = (figure.value for figure in figures_for(dataset) if (figure.system, figure.metric) == (system, metric))
    return next(found, None)


def seconds_goal(dataset: str) -> float | None:
    """Seconds that a retrieval may take: a twentieth of what IndexRAG's paper reports; None where that is nothing."""
    theirs = figure_of(dataset, "IndexRAG", "retrieval seconds")
    return None if theirs is None else theirs / _FASTER


def bytes_goal(dataset: str) -> float | None:
    """Bytes that an index may take a passage: a third of what that paper reports; likewise."""
    size, passages = (figure_of(dataset, "IndexRAG", metric) for metric in ("index MB", "passages"))
    return None if size is None or not passages else 1e6 * size / passages / _SMALLER
