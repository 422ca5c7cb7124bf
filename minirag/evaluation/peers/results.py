"""What was measured of the peers: records, the file of them, and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.evaluation.checking import read_checked
from minirag.evaluation.results import format_table
from minirag.output import write_text

DEPTHS = (2, 5, 10)
_HEAD = [
    *("", "indexing, s", "of it encoding", "LLM calls", "prompt tokens", "reply tokens", "on disk, MB", "memory, MB"),
    *("installed, MB", "query, ms", "calls a query", *(f"recall@{k}" for k in DEPTHS)),
]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an LLM was asked: calls, and tokens at four characters each."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __sub__(self, other: Cost) -> Cost:
        """What came after the other was noted."""
        return Cost(
            self.calls - other.calls,
            self.prompt_tokens - other.prompt_tokens,
            self.completion_tokens - other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Indexing:
    """What indexing took.

    Attributes:
        seconds: With what is loaded late, without imports.
        encoding_seconds: Of these, inside minirag's encoder.
        cost: Of the LLM.
        bytes: On disk, when the process had ended.
    """

    seconds: float
    encoding_seconds: float
    cost: Cost
    bytes: int


@dataclass(frozen=True, slots=True)
class Retrieving:
    """What one way of retrieving took and found.

    Attributes:
        way: The peer's name of it, "" where it has one only.
        seconds: The median over the questions, the encoding of the question included.
        calls: Of the LLM, for one question.
        recall: By depth, the share of the gold passages among the first k, the mean over all questions.
    """

    way: str
    seconds: float
    calls: float
    recall: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PeerResult:
    """One peer on one corpus, as far as it came.

    Attributes:
        peer: Its name.
        version: Of its package; "" where it could not be installed.
        passages: In the corpus.
        questions: Asked.
        install_bytes: Of the package and its dependencies.
        indexing: None where it was not indexed to the end.
        retrieving: One entry for each way of retrieving that was measured.
        peak_bytes: The most memory that its process held; None where the system does not say.
        reason: Why it went no further; "" where nothing failed.
        cost: Of the LLM until it failed; equal to that of indexing, and of the questions, where nothing did.
    """

    peer: str
    passages: int
    questions: int
    version: str = ""
    install_bytes: int = 0
    indexing: Indexing | None = None
    retrieving: tuple[Retrieving, ...] = ()
    peak_bytes: int | None = None
    reason: str = ""
    cost: Cost = Cost()

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> PeerResult:
        """The inverse of `dataclasses.asdict`."""
        indexing = entry["indexing"]
        made = {
            "indexing": indexing and Indexing(**{**indexing, "cost": Cost(**indexing["cost"])}),
            "retrieving": tuple(Retrieving(**way) for way in entry["retrieving"]),
            "cost": Cost(**entry["cost"]),
        }
        return cls(**{**entry, **made})


@dataclass(frozen=True, slots=True)
class Comparison:
    """All peers on all corpora of one run.

    Attributes:
        dataset: Its name.
        encoder: The name of minirag's encoder, which all share that take vectors.
        machine: As the bench describes it.
        results: In the order of measuring.
    """

    dataset: str
    encoder: str
    machine: Mapping[str, str | int | None]
    results: tuple[PeerResult, ...]

    def to_json(self) -> str:
        """The file's text, `{"peers": {…}}`."""
        return json.dumps({"peers": asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    def write(self, path: Path) -> None:
        """As JSON.

        Raises:
            OutputError: If the file cannot be written.
        """
        write_text(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> Comparison:
        """What `write` wrote.

        Raises:
            InputError: If it is something else.
        """
        what = "is no file of `python -m minirag.evaluation.peers --json`"
        entry = read_checked(path, dict[str, Comparison], what).get("peers")
        if entry is None:
            raise InputError(f"{path}: {what}: peers is missing")
        results = tuple(PeerResult.from_dict(result) for result in entry["results"])
        return cls(entry["dataset"], entry["encoder"], entry["machine"], results)

    def table(self) -> str:
        """A Markdown table for each corpus; calls and tokens for 1,000 passages. A peer's ways share its first row."""
        corpora = dict.fromkeys((result.passages, result.questions) for result in self.results)
        return "\n\n".join(self._table_of(*corpus) for corpus in corpora)

    def _table_of(self, passages: int, questions: int) -> str:
        measured = [r for r in self.results if (r.passages, r.questions) == (passages, questions)]
        rows = [row for result in measured for row in _rows(result)]
        failed = [f"- {_named(result)}: {result.reason}" for result in measured if result.reason]
        lines = [f"{passages:,} passages, {questions:,} questions:", format_table(_HEAD, rows, left=1)]
        if failed:
            lines.append("\n".join(["What could not be run, and why:", "", *failed]))
        return "\n\n".join(lines)


def _rows(result: PeerResult) -> list[list[str]]:
    first = [_named(result), *_indexing_cells(result)]
    ways = [_retrieving_cells(way) for way in result.retrieving]
    if not ways:
        return [[*first, *("–" for _ in range(len(_HEAD) - len(first)))]]
    named = [f"{_named(result)}: {way.way}" if way.way else _named(result) for way in result.retrieving]
    blank = [""] * (len(first) - 1)
    return [
        [name, *(blank if number else first[1:]), *cells]
        for number, (name, cells) in enumerate(zip(named, ways, strict=True))
    ]


def _named(result: PeerResult) -> str:
    return f"{result.peer} {result.version}".strip()


def _indexing_cells(result: PeerResult) -> list[str]:
    indexing, share = result.indexing, 1000 / result.passages
    cost = result.cost if indexing is None else indexing.cost
    return [
        "–" if indexing is None else f"{indexing.seconds:.1f}",
        "–" if indexing is None else f"{indexing.encoding_seconds:.1f}",
        *(f"{share * each:,.0f}" for each in (cost.calls, cost.prompt_tokens, cost.completion_tokens)),
        "–" if indexing is None else f"{indexing.bytes / 1e6:.1f}",
        "–" if result.peak_bytes is None else f"{result.peak_bytes / 1e6:,.0f}",
        f"{result.install_bytes / 1e6:,.1f}" if result.version else "–",
    ]


def _retrieving_cells(way: Retrieving) -> list[str]:
    recalls = (f"{100 * way.recall[str(k)]:.1f}" for k in DEPTHS)
    return [f"{1000 * way.seconds:.1f}", f"{way.calls:.1f}", *recalls]
