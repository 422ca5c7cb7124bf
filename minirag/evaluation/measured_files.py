"""Files of what was measured, among data sets and in folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minirag.errors import InputError
from minirag.evaluation.describing import describe_run, is_same_run, traits_of
from minirag.evaluation.results import Run, read_runs
from minirag.evaluation.scaling import Scaling, read_scaling
from minirag.strategies import STRATEGIES

_RUNS, _SCALING = b'{"runs"', b'{"scaling"'


def find_measured(sources: Sequence[Path]) -> list[Path] | None:
    """Files of runs and of scaling among files and folders; None where the sources are something else, data sets.

    Raises:
        InputError: If there are both.
    """
    found = [_measured_in(source) for source in sources]
    if all(found):
        return [file for files in found for file in files]
    if any(found):
        named = next(source for source, files in zip(sources, found, strict=True) if files)
        raise InputError(f"{named} holds what was measured, and others are data sets. Give either the one or the other")
    return None


def read_measured(files: Sequence[Path]) -> tuple[list[Run], list[Scaling]]:
    """Runs by data set, the plainest strategy first, since the others are compared with it; and scalings.

    What two files hold counts once: `--json` also writes the runs that `--runs` has a file for each of.

    Raises:
        InputError: If a file is of neither form.
    """
    found = [run for file in files if _starts_with(file, _RUNS) for run in read_runs(file)]
    runs = [run for number, run in enumerate(found) if not any(is_same_run(run, other) for other in found[:number])]
    order = {name: number for number, name in enumerate(STRATEGIES)}

    def place(run: Run) -> tuple[object, ...]:
        traits = tuple(map(str, traits_of(run).values()))
        return run.dataset, order.get(run.strategy, len(order)), describe_run(run), traits

    runs.sort(key=place)
    scalings = [read_scaling(file) for file in files if _starts_with(file, _SCALING)]
    return runs, [each for number, each in enumerate(scalings) if each not in scalings[:number]]


def _measured_in(source: Path) -> list[Path]:
    if source.is_dir() and not any(source.glob("questions.json*")):
        return [file for file in sorted(source.glob("*.json")) if _is_measured(file)]
    return [source] if _is_measured(source) else []


def _is_measured(path: Path) -> bool:
    """Data sets are lists, or JSON lines."""
    return path.suffix == ".json" and path.is_file() and (_starts_with(path, _RUNS) or _starts_with(path, _SCALING))


def _starts_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return b"".join(file.read(200).split()).startswith(mark)
