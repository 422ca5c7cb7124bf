"""Sweeps among runs: those that differ in one number alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from itertools import chain, count
from typing import Any

from minirag.evaluation.describing import differing_traits, options_of
from minirag.evaluation.results import Run
from minirag.evaluation.variants import describe_variant
from minirag.strategies import STRATEGIES

Sweep = dict[float, Run]


def find_sweeps(runs: Sequence[Run]) -> dict[str, dict[str, Sweep]]:
    """The sweeps by option, and by what their runs are besides; each has at least two values.

    A run without the option counts under what its strategy takes then. Of runs that are alike, each further one belongs
    to a sweep of its own.
    """
    found = {}
    for option in sorted({name for run in runs for name in _numbers(run)}):
        groups: dict[str, Sweep] = {}
        for run in runs:
            value = _numbers(run).get(option, _default(run, option))
            if value is not None:
                groups.setdefault(_line_of(run, option, value, runs, groups), {})[value] = run
        several = {name: sweep for name, sweep in groups.items() if len(sweep) > 1}
        if several:
            found[option] = several
    return found


def _line_of(run: Run, option: str, value: float, runs: Sequence[Run], groups: Mapping[str, Sweep]) -> str:
    """The name of the first sweep of this run's kind that lacks the value."""
    rivals = [other for other in runs if other.strategy == run.strategy]
    traits = differing_traits(run, rivals)
    # Retrieval is the same whether answers are read or not, so that it is told only of runs that are alike else.
    retrieved = {name: trait for name, trait in traits.items() if name != "read"}
    lines = [_describe(run, option, retrieved), _describe(run, option, traits)]
    numbered = (_describe(run, option, {**traits, "run": number}) for number in count(2))
    return next(line for line in chain(lines, numbered) if value not in groups.get(line, {}))


def _describe(run: Run, option: str, traits: Mapping[str, object]) -> str:
    """What a run is but for the option; runs under other conditions belong to lines of their own."""
    options = {name: value for name, value in options_of(run).items() if name != option}
    return describe_variant(run.strategy, {**options, **traits}, None if option == "k" else run.settings.get("k"))


def _numbers(run: Run) -> dict[str, float]:
    """The options that are numbers."""
    given: Mapping[str, Any] = {"k": run.settings.get("k"), **options_of(run)}
    return {name: float(value) for name, value in given.items() if _is_number(value)}


def _default(run: Run, option: str) -> float | None:
    """What the strategy takes where nothing was given."""
    parameters = signature(STRATEGIES[run.strategy]).parameters if run.strategy in STRATEGIES else {}
    value = parameters[option].default if option in parameters else None
    return float(value) if _is_number(value) and value is not None else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
