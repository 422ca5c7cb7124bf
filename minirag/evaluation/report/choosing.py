"""Which runs a plot shows where they are many, and what its note says of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from minirag.evaluation.describing import describe_run, options_of
from minirag.evaluation.report.charts import COLOURS, Series
from minirag.evaluation.report.sweeps import find_sweeps
from minirag.evaluation.results import Run

MOST = COLOURS  # series in one plot that can be told apart
_FEW = 3  # names in a note; of more, their number

Points = tuple[tuple[float, float], ...]


def draw_runs(
    runs: Sequence[Run], points: Callable[[Run], Points], lacks: Callable[[Run], str]
) -> tuple[list[Series], str]:
    """A series for each run, named as in the table of these runs, and a note on those that are left out.

    Args:
        runs: Of one data set.
        points: What is drawn of a run; nothing where it has no such figures.
        lacks: Why a run has none, in words.
    """
    places = {id(run): points(run) for run in runs}
    drawable = [run for run in runs if places[id(run)]]
    swept = _swept(runs)
    chosen = {id(run) for run in _choose(drawable, swept)}
    series = [Series(describe_run(run, runs), places[id(run)]) for run in runs if id(run) in chosen]
    notes = list(_note_lacking([run for run in runs if not places[id(run)]], runs, lacks))
    left_out = [run for run in drawable if id(run) not in chosen]
    if left_out:
        in_sweeps = " Sweeps have plots of their own." if any(id(run) in swept for run in left_out) else ""
        names = [describe_run(run, runs) for run in left_out]
        notes.append(f"{_note_crowd(names, len(drawable), 'runs')}.{in_sweeps} The table has all.")
    return series, " ".join(notes)


def cut_lines(lines: Sequence[Series]) -> tuple[list[Series], str]:
    """As many lines as can be told apart, and a note on the others."""
    left_out = [line.name for line in lines[MOST:]]
    note = f"{_note_crowd(left_out, len(lines), 'lines')}. The table has all." if left_out else ""
    return list(lines[:MOST]), note


def _swept(runs: Sequence[Run]) -> set[int]:
    """Which runs are in a plot of a sweep, by `id`: two runs may be equal."""
    return {id(run) for lines in find_sweeps(runs).values() for sweep in lines.values() for run in sweep.values()}


def _choose(runs: Sequence[Run], swept: set[int]) -> list[Run]:
    """First those without options, last those that a sweep's plot shows; among these the strategies by turns."""
    asked: dict[str, int] = {}

    def place(run: Run) -> tuple[bool, bool, int]:
        asked[run.strategy] = asked.get(run.strategy, 0) + 1
        has_options = bool(options_of(run)) or run.settings.get("k") is not None
        return has_options, has_options and id(run) in swept, asked[run.strategy]

    return sorted(runs, key=place)[:MOST]


def _note_lacking(runs: Iterable[Run], among: Sequence[Run], lacks: Callable[[Run], str]) -> Iterable[str]:
    groups: dict[str, list[str]] = {}
    for run in runs:
        groups.setdefault(lacks(run), []).append(describe_run(run, among))
    return (f"Not drawn, as {why}: {_name(names, len(among), 'runs')}." for why, names in groups.items())


def _note_crowd(names: Sequence[str], count: int, what: str) -> str:
    return f"Not drawn, as no more than {MOST} {what} can be told apart: {_name(names, count, what)}"


def _name(names: Sequence[str], count: int, what: str) -> str:
    return "; ".join(names) if len(names) <= _FEW else f"{len(names)} of {count} {what}"
