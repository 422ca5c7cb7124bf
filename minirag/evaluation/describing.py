"""What runs are called in tables and plots: by the strategy with its options, and what else tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minirag.evaluation.variants import describe_variant

if TYPE_CHECKING:
    from minirag.evaluation.results import Run

# Those in which two runs that are compared may differ, if it is in one of them alone.
COMPARED = ("model", "encoder", "indexed_by")


def describe_run(run: Run, among: Sequence[Run] = ()) -> str:
    """The strategy with the options that were given, so that an ablation's rows differ.

    Args:
        run: Which.
        among: The runs of its table, itself included: where others over its data set are called alike, what they
            differ in is told, too; their number where that is nothing.
    """
    rivals = [other for other in among if other.dataset == run.dataset and _variant(other) == _variant(run)]
    told = differing_traits(run, rivals)
    alike = [other for other in rivals if traits_of(other) == traits_of(run)]
    if len(alike) > 1:
        told["run"] = 1 + next((number for number, other in enumerate(alike) if other is run), 0)
    return describe_variant(run.strategy, {**options_of(run), **told}, run.settings.get("k"))


def differing_traits(run: Run, among: Sequence[Run]) -> dict[str, object]:
    """The traits of a run that are not the same in all of these."""
    others = [traits_of(other) for other in among]
    return {name: value for name, value in traits_of(run).items() if any(other[name] != value for other in others)}


def traits_of(run: Run) -> dict[str, object]:
    """What a run's figures depend on besides its strategy and options."""
    settings = run.settings
    limit = settings.get("limit")
    return {
        "model": run.model,
        "encoder": settings.get("encoder", "?"),
        "indexed_by": settings.get("index_model", "?"),
        "scoring": run.scoring,
        "questions": "all" if limit is None else f"{limit} by seed {settings.get('seed')}",
        "read": settings.get("read", True),
        "minirag": run.versions.get("minirag", "?"),
    }


def options_of(run: Run) -> Mapping[str, object]:
    """The strategy's options that were given, but for k."""
    options: Mapping[str, object] = run.settings.get("options") or {}
    return options


def is_same_variant(first: Run, second: Run) -> bool:
    """Whether both are one strategy with the same options."""
    return _variant(first) == _variant(second)


def _variant(run: Run) -> tuple[object, ...]:
    return run.strategy, dict(options_of(run)), run.settings.get("k")
