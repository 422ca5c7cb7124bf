"""The bench: the project's own promises, measured where it runs."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minirag.evaluation.datasets import load_dataset
from minirag.evaluation.faulty_bench import PASSAGES, QUICK_PASSAGES, measure_faulty
from minirag.evaluation.measurements import (
    Measurement,
    compare_recall,
    measure_import,
    measure_indexing,
    measure_opening,
    measure_retrieval,
)
from minirag.evaluation.results import Run, format_table
from minirag.evaluation.runs import evaluate, library_versions
from minirag.evaluation.storage_bench import measure_storage
from minirag.index import Index


@dataclass(frozen=True, slots=True)
class Effort:
    """How often the bench repeats what it takes the median of.

    Attributes:
        processes: Fresh processes for each import and each way of opening.
        retrievals: Questions retrieved for.
        questions: Of the data set, for recall; None for all.
    """

    processes: int = 11
    retrievals: int = 300
    questions: int | None = None


QUICK = Effort(processes=1, retrievals=10, questions=5)


@dataclass(frozen=True, slots=True)
class Bench:
    """What one bench measured.

    Attributes:
        dataset: On what.
        effort: How often. The figures of the quick mode show that the bench runs, and no more.
        measurements: One per promise.
        runs: Naive and IndexRAG over the questions, offline and without reading.
        machine: Processor, cores, system and versions.
    """

    dataset: str
    effort: Effort
    measurements: tuple[Measurement, ...]
    runs: tuple[Run, ...]
    machine: Mapping[str, str | int | None]

    @property
    def is_quick(self) -> bool:
        """Whether it only shows that it runs."""
        return self.effort == QUICK

    @property
    def holds(self) -> bool:
        """Whether every figure keeps its limit; says nothing in the quick mode."""
        return all(measurement.holds for measurement in self.measurements)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `runs` is in the form of the evaluation's contract."""
        return {
            "dataset": self.dataset,
            "quick": self.is_quick,
            "holds": self.holds,
            "measurements": [measurement.to_dict() for measurement in self.measurements],
            "runs": [run.to_dict() for run in self.runs],
            "machine": dict(self.machine),
        }

    def table(self) -> str:
        """The measurements as a Markdown table: what, measured, limit, whether it holds, the numbers behind it.

        Of the quick mode it says that limits do not count.
        """
        rows = [
            [
                measurement.what,
                _figure(measurement.measured, measurement.unit),
                f"{measurement.bound} {_figure(measurement.limit, measurement.unit)}",
                "not counted" if self.is_quick else "yes" if measurement.holds else "no",
                ", ".join(f"{key} {_number(value)}" for key, value in measurement.details.items()),
            ]
            for measurement in self.measurements
        ]
        return format_table(["what", "measured", "limit", "holds", "behind it"], rows, left=5)


def run_bench(folder: str | Path | None = None, *, quick: bool = False, progress: bool = True) -> Bench:
    """Measure imports, indexing, retrieval, opening, recall, storage (2.5 GB of disk), and a provider that fails.

    Args:
        folder: A data set with a corpus; None for the demo that ships with minirag.
        quick: Repeat next to nothing.
        progress: Show how far it is, where standard error is a terminal.

    Raises:
        InputError: If the data set cannot be used.
        MiniragError: If something could not be measured.
    """
    effort = QUICK if quick else Effort()
    with as_file(files("minirag.demo")) as demo, tempfile.TemporaryDirectory() as scratch:
        source, path = Path(demo if folder is None else folder), Path(scratch) / "bench.usearch"
        dataset = load_dataset(source)
        questions = [question.text for question in dataset.questions]
        with tqdm(total=7, desc="bench", disable=None if progress else True) as bar:
            measurements = [measure_import(effort.processes)]
            bar.update()
            measurements += measure_indexing(source, path)
            bar.update()
            measurements += measure_retrieval(questions, path, effort.retrievals)
            bar.update()
            measurements.append(measure_opening(questions[0], path, effort.processes))
            bar.update()
            with Index(path, mode="r", model="offline") as index:
                naive, indexrag = (
                    evaluate(dataset, index, strategy=name, limit=effort.questions, read=False, progress=False)
                    for name in ("naive", "indexrag")
                )
            bar.update()
            storage = measure_storage(dataset.documents[:200], quick=quick)
            bar.update()
            faulty = measure_faulty(QUICK_PASSAGES if quick else PASSAGES)
            bar.update()
    compared = compare_recall(naive, indexrag)
    measurements += [*([] if compared is None else [compared]), *storage, *faulty]
    return Bench(dataset.name, effort, tuple(measurements), (naive, indexrag), describe_machine())


def describe_machine() -> dict[str, str | int | None]:
    """Processor, cores, system and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        **library_versions(),
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f} {unit}" if unit == "×" else f"{value:.1f} {unit}"


def _number(value: float | int | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
