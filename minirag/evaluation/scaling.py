"""How build and query time, memory and file size grow with the index; exact against graph search.

Encoding is left out: it grows with the text alone, and `measure_indexing` has it. Each size is built and asked in
fresh processes, and kept on disk as it is measured, so that a stopped run goes on.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minirag.errors import InputError
from minirag.evaluation.checking import read_checked
from minirag.evaluation.datasets import Dataset
from minirag.evaluation.fresh import run_fresh
from minirag.evaluation.results import format_table
from minirag.evaluation.runs import build_index
from minirag.output import write_text

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (100, 1_000)


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """One size.

    Attributes:
        asked: How many units were asked for.
        units: Facts and bridging facts, as it came out.
        passages: Of the index; likewise `triples`.
        triples: See there.
        file_bytes: Size of the file.
        build_seconds: Writing it, graph included, without encoding.
        build_bytes: The most memory that this took; None where the system does not say.
        open_seconds: Opening and searching once, the encoder loaded before.
        query_bytes: The most memory that asking took, the mapped file's pages that were touched included; likewise.
        search_seconds: Median of `index.search`, encoding the question included.
        exact_seconds: Median of an exact pass over all units.
        graph_seconds: Median of the graph's search.
        graph_recall: Share of the ten nearest units that the graph finds.
        naive_seconds: Median of the strategy's retrieval; likewise the other two.
        indexrag_seconds: See there.
        kirag_seconds: See there.
    """

    asked: int
    units: int
    passages: int
    triples: int
    file_bytes: int
    build_seconds: float
    build_bytes: int | None
    open_seconds: float
    query_bytes: int | None
    search_seconds: float
    exact_seconds: float
    graph_seconds: float
    graph_recall: float
    naive_seconds: float
    indexrag_seconds: float
    kirag_seconds: float


@dataclass(frozen=True, slots=True)
class Scaling:
    """What was measured at all sizes.

    Attributes:
        dataset: What the index grew from.
        points: By size.
        machine: Processor, cores, system and versions.
    """

    dataset: str
    points: tuple[ScalePoint, ...]
    machine: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "dataset": self.dataset,
            "points": [asdict(point) for point in self.points],
            "machine": dict(self.machine),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Scaling:
        """The inverse of `to_dict`."""
        return cls(entry["dataset"], tuple(ScalePoint(**point) for point in entry["points"]), entry["machine"])

    def table(self) -> str:
        """One row a size, as a Markdown table."""
        head = [
            *("units", "passages", "triples", "file MB", "build s", "build MB", "open ms", "asking MB", "search ms"),
            *("exact ms", "graph ms", "graph recall@10", "naive ms", "indexrag ms", "kirag ms"),
        ]
        return format_table(head, [_row(point) for point in self.points], left=0)


def run_scaling(
    dataset: Dataset,
    output: Path,
    *,
    index: Path | None = None,
    sizes: Sequence[int] = SIZES,
    questions: int = 100,
    progress: bool = True,
    machine: Mapping[str, Any] | None = None,
) -> Scaling:
    """Measure all sizes; those that the output file already holds are not measured again.

    Args:
        dataset: Its corpus is indexed offline, and its questions are asked.
        output: A JSON file, `{"scaling": …}`, written after every size.
        index: An index of that corpus, to save the time of building one.
        sizes: Units, each at least 1. A million took 4 GB of memory, 2 GB of disk, and eight minutes.
        questions: How many are asked at each size.
        progress: Show a bar, where standard error is a terminal.
        machine: Kept with the figures.

    Raises:
        InputError: If the data set has no corpus, or the output is a file of something else.
        MiniragError: If a process failed.
    """
    if index is None and not dataset.documents:
        raise InputError(f"{dataset.name} has no corpus to grow an index from")
    done = {point.asked: point for point in read_scaling(output).points} if output.exists() else {}
    asked = [question.text for question in dataset.questions[:questions]]
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        scratch = Path(name)
        (scratch / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
        for size in tqdm(sizes, desc="scaling", disable=None if progress else True):
            if size in done:
                continue
            if index is None:
                index = scratch / "real.usearch"
                build_index(dataset, index, model="offline", progress=progress)
            done[size] = _measure(index, scratch, size)
            found = Scaling(dataset.name, tuple(done[each] for each in sorted(done)), machine or {})
            _write(found, output)
    return Scaling(dataset.name, tuple(done[each] for each in sorted(done)), machine or {})


def read_scaling(path: Path) -> Scaling:
    """Read what `run_scaling` wrote.

    Raises:
        InputError: If the file cannot be read or is not of that form.
    """
    what = "is no file of scaling, as `minirag bench --scaling` writes it"
    found = read_checked(path, dict[str, Scaling], what).get("scaling")
    if found is None:
        raise InputError(f"{path}: {what}: scaling is missing")
    return Scaling.from_dict(found)


def _measure(source: Path, scratch: Path, size: int) -> ScalePoint:
    target = scratch / f"{size}.usearch"
    _, built = run_fresh("grow", source, target, str(size))
    _, asked = run_fresh("query", target, scratch / "questions.json")
    file_bytes = target.stat().st_size
    target.unlink()
    units = built["facts"] + built["bridges"]
    sizes = {"units": units, "passages": built["passages"], "triples": built["triples"], "file_bytes": file_bytes}
    return ScalePoint(asked=size, **sizes, build_seconds=built["seconds"], build_bytes=built["peak_bytes"], **asked)


def _write(found: Scaling, output: Path) -> None:
    write_text(output, json.dumps({"scaling": found.to_dict()}, indent=1) + "\n")


def _row(point: ScalePoint) -> list[str]:
    return [
        f"{point.units:,}",
        f"{point.passages:,}",
        f"{point.triples:,}",
        f"{point.file_bytes / 1e6:,.1f}",
        f"{point.build_seconds:,.1f}",
        _megabytes(point.build_bytes),
        f"{1000 * point.open_seconds:,.1f}",
        _megabytes(point.query_bytes),
        *(f"{1000 * value:,.2f}" for value in (point.search_seconds, point.exact_seconds, point.graph_seconds)),
        f"{100 * point.graph_recall:.1f} %",
        *(f"{1000 * value:,.2f}" for value in (point.naive_seconds, point.indexrag_seconds, point.kirag_seconds)),
    ]


def _megabytes(count: int | None) -> str:
    return "?" if count is None else f"{count / 1e6:,.0f}"
