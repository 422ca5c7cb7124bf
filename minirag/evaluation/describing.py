"""What runs are called in tables and plots: by the strategy with its options, and what else tells them apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minirag.evaluation.variants import describe_variant

if TYPE_CHECKING:
    from minirag.evaluation.results import Run

# Those in which two runs that are compared may differ, if it is in one of them alone.
_COMPARED = ("model", "models", "prompts", "encoder", "indexed_by")
_SHORT = 8  # characters of a digest


def describe_run(run: Run, among: Sequence[Run] = ()) -> str:
    """The strategy with the options that were given, so that an ablation's rows differ.

    Args:
        run: Which.
        among: The runs of its table, itself included: where others over its data set are called alike, what they
            differ in is told, too; their number in the table where that is nothing.
    """
    rivals = [other for other in among if other.dataset == run.dataset and _variant(other) == _variant(run)]
    told = differing_traits(run, rivals)
    alike = [other for other in rivals if traits_of(other) == traits_of(run)]
    marks = list(map(_marks_of, alike))
    told |= {name: mark for name, mark in _marks_of(run).items() if any(each[name] != mark for each in marks)}
    alike = [other for other in alike if _marks_of(other) == _marks_of(run)]
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
        "models": "+".join(f"{task}:{name}" for task, name in (settings.get("models") or {}).items()) or "one",
        "prompts": _digest_prompts(settings.get("prompts")),
        "encoder": settings.get("encoder", "?"),
        "indexed_by": settings.get("index_model", "?"),
        "scoring": run.scoring,
        "questions": "all" if limit is None else f"{limit} by seed {settings.get('seed')}",
        "read": settings.get("read", True),
        "minirag": run.versions.get("minirag", "?"),
    }


def differing_conditions(first: Run, second: Run) -> list[str]:
    """In which conditions, besides the scoring, two runs differ."""
    mine, theirs = traits_of(first), traits_of(second)
    found = [name for name in _COMPARED if mine[name] != theirs[name]]
    prints = {run.settings.get("encoder_fingerprint") for run in (first, second)} - {None}
    return [*found, "encoder"] if len(prints) > 1 and "encoder" not in found else found


def _marks_of(run: Run) -> dict[str, str]:
    """What tells runs apart that have the same traits: an encoder's vectors, the index's content."""
    index = run.settings.get("index") or {}
    marks = {"vectors": run.settings.get("encoder_fingerprint"), "index": index.get("content")}
    return {name: str(mark or "?")[:_SHORT] for name, mark in marks.items()}


def _digest_prompts(prompts: object) -> str:
    if not prompts:
        return "standard"
    return hashlib.sha256(json.dumps(prompts, sort_keys=True).encode()).hexdigest()[:_SHORT]


def options_of(run: Run) -> Mapping[str, object]:
    """The strategy's options that were given, but for k."""
    options: Mapping[str, object] = run.settings.get("options") or {}
    return options


def is_same_variant(first: Run, second: Run) -> bool:
    """Whether both are one strategy with the same options."""
    return _variant(first) == _variant(second)


def is_same_run(first: Run, second: Run) -> bool:
    """Whether both are one run: what identifies it is alike, and so is every result with its times."""
    alike = first.dataset == second.dataset and is_same_variant(first, second) and traits_of(first) == traits_of(second)
    return alike and _marks_of(first) == _marks_of(second) and first.results == second.results


def _variant(run: Run) -> tuple[object, ...]:
    return run.strategy, dict(options_of(run)), run.settings.get("k")
