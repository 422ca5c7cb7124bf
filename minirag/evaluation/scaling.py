"""How build and query time, memory and file size grow with the index; exact against graph search.

Encoding is left out: it grows with the text alone, and `measure_indexing` has it. Each size is built and asked in
fresh processes, and kept on disk as it is measured, so that a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minirag.errors import InputError
from minirag.evaluation.checking import read_checked
from minirag.evaluation.datasets import Dataset
from minirag.evaluation.fresh import run_fresh
from minirag.evaluation.results import format_table
from minirag.evaluation.runs import build_index, describe_encoder
from minirag.index import Index
from minirag.models import OFFLINE
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
        source: What tells that index from others: a digest of its content, its encoder, and a digest of the questions.
    """

    dataset: str
    points: tuple[ScalePoint, ...]
    machine: Mapping[str, Any]
    source: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "dataset": self.dataset,
            "points": [asdict(point) for point in self.points],
            "machine": dict(self.machine),
            "source": dict(self.source),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Scaling:
        """The inverse of `to_dict`."""
        points = tuple(ScalePoint(**point) for point in entry["points"])
        return cls(entry["dataset"], points, entry["machine"], entry.get("source", {}))

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
        InputError: If the data set has no corpus, or the output is a file of something else, or holds figures of
            another data set, index, machine or version; the message names what differs.
        MiniragError: If a process failed.
    """
    if index is None and not dataset.documents:
        raise InputError(f"{dataset.name} has no corpus to grow an index from")
    asked = [question.text for question in dataset.questions[:questions]]
    found = Scaling(dataset.name, (), machine or {}, {"questions": _digest(asked)})
    if output.exists():
        _check_alike(output, found)  # before an index is built
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        scratch = Path(name)
        (scratch / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
        if index is None:
            index = scratch / "real.usearch"
            build_index(dataset, index, model=OFFLINE, progress=progress)
        found = replace(found, source={**found.source, **_describe_index(index)})
        if output.exists():
            _check_alike(output, found)
            found = read_scaling(output)
        done = {point.asked for point in found.points}
        for size in tqdm(
            [size for size in sizes if size not in done], desc="scaling", disable=None if progress else True
        ):
            points = [*found.points, _measure(index, scratch, size)]
            found = replace(found, points=tuple(sorted(points, key=lambda point: point.asked)))
            _write(found, output)
    return found


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


def _describe_index(path: Path) -> dict[str, str]:
    with Index(path, mode="r", model=OFFLINE) as index:
        return {"content": index.snapshot.digest, **describe_encoder(index, index.info())}


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _check_alike(output: Path, now: Scaling) -> None:
    """Check that what a file holds was measured as it would be now, as far as that is known."""
    held = read_scaling(output)
    mine, theirs = ({"data set": each.dataset, **each.source, **each.machine} for each in (now, held))
    keys = dict.fromkeys(("data set", *now.source, *held.machine, *now.machine))
    differing = [key for key in keys if theirs.get(key) != mine.get(key)]
    if differing:
        told = "; ".join(f"{key} {theirs.get(key)!r}, now {mine.get(key)!r}" for key in differing)
        raise InputError(f"{output}: holds figures of something else ({told}). Delete it, or give another file")


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
