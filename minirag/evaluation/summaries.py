"""The summary of what was measured, as far as the README's results need it, and what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.evaluation.describing import describe_run
from minirag.evaluation.measured_files import find_measured, read_measured
from minirag.evaluation.measuring import BUILDING, DATASETS, PARTS, READ, TRIPLES, WITH_TRIPLES, read_building
from minirag.evaluation.results import Run, format_table
from minirag.evaluation.significance import compare
from minirag.evaluation.variants import Variant

COMPARED = (("naive", "indexrag"), ("indexrag", "kirag"))
NAMES = {"2wiki": "2Wiki", "hotpotqa": "HotpotQA", "musique": "MuSiQue"}
_KEPT = ("dataset", "strategy", "model", "questions", "recall", "mrr", "em", "f1", "index_bytes", "passages")

Summary = Mapping[str, Any]


def summarise(files: Sequence[Path], by_encoder: Sequence[Path] = ()) -> dict[str, Any]:
    """What the section needs of files of runs, bench and growth, and of those of other encoders' runs.

    Raises:
        InputError: If one is of none of these forms, or two runs have a claim to one place.
    """
    benches = [file for file in files if '"measurements"' in file.read_text(encoding="utf-8")]
    buildings = [file for file in files if file.name == BUILDING]
    measured = find_measured([file for file in files if file not in (*benches, *buildings)]) or []
    runs, scalings = read_measured(measured)
    _check_unique(runs)
    bench = _read_bench(benches[-1]) if benches else None
    return {
        "runs": [_shorten(run) for run in runs],
        "comparisons": list(_compare(runs)),
        "bench": bench,
        "building": {name: seconds for file in buildings for name, seconds in read_building(file).items()},
        "scaling": scalings[-1].to_dict() if scalings else None,
        "encoders": [_shorten(run) for run in read_measured(by_encoder)[0]],
    }


def _check_unique(runs: Sequence[Run]) -> None:
    """Of two samples, encoders or scorings the section would show whichever comes first."""
    for (dataset, name), count in Counter((run.dataset, describe_run(run)) for run in runs).items():
        if count > 1:
            raise InputError(f"{dataset}: there are {count} runs of {name}; leave the one that is to be shown")


def _read_bench(path: Path) -> dict[str, Any]:
    try:
        bench = json.loads(path.read_text(encoding="utf-8"))
        return {key: bench[key] for key in ("dataset", "measurements", "machine")}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no file of `minirag bench --json`: {error!r}") from error


def _shorten(run: Run) -> dict[str, Any]:
    found = run.to_summary()
    options = {"k": run.settings.get("k"), "options": dict(run.settings.get("options") or {})}
    encoder = {"encoder": run.settings.get("encoder"), "limit": run.settings.get("limit")}
    others = {
        "all_gold_at_5": found["all_gold"]["5"],
        "facts": (run.settings.get("index") or {}).get("facts"),
        "retrieval_seconds": found["retrieval_seconds_per_question"],
    }
    return {key: found[key] for key in _KEPT} | options | encoder | others


def _compare(runs: Sequence[Run]) -> Iterable[dict[str, Any]]:
    for first, second in COMPARED:
        for dataset in DATASETS:
            pair = [_find_plain(runs, dataset, name) for name in (first, second)]
            if pair[0] is not None and pair[1] is not None:
                found = compare(pair[0], pair[1], metric="recall@5").to_dict()
                yield {"dataset": dataset, "of": second, "against": first, **found}


def _find_plain(runs: Sequence[Run], dataset: str, strategy: str) -> Run | None:
    plain = (run for run in runs if (run.dataset, run.strategy) == (dataset, strategy) and not run.settings["options"])
    return next(plain, None)


def find_missing(measured: Summary) -> list[str]:
    """What the section needs and the summary lacks, in words: runs by data set, and whole parts."""
    needed: dict[str, list[Variant]] = {name: [variant for _, variant in (*READ, *PARTS)] for name in DATASETS}
    needed[WITH_TRIPLES] = [variant for _, variant in TRIPLES]
    parts = {"the bench": measured["bench"], "the growth": measured["scaling"], "other encoders": measured["encoders"]}
    found = []
    for dataset, variants in needed.items():
        lacking = [variant.name for variant in variants if not _is_measured(measured, dataset, variant)]
        if lacking:
            found.append(f"{dataset} ({'all of it' if len(lacking) == len(variants) else ', '.join(lacking)})")
    return found + [name for name, part in parts.items() if not part]


def _is_measured(measured: Summary, dataset: str, variant: Variant) -> bool:
    run = find_run(measured, dataset, variant)
    is_read = dataset in DATASETS and variant in [each for _, each in READ]
    return run is not None and (not is_read or None not in (run["em"], run["retrieval_seconds"]))


def find_run(measured: Summary, dataset: str, variant: Variant) -> Summary | None:
    """The run of a data set that asked in this very way; None where there is none."""
    wanted = json.loads(json.dumps(dict(variant.options)))
    return next(
        (
            run
            for run in measured["runs"]
            if (run["dataset"], run["strategy"], run["k"]) == (dataset, variant.strategy, variant.k)
            and _in_order(run["options"]) == _in_order(wanted)
        ),
        None,
    )


def find_building(measured: Summary, dataset: str) -> float | None:
    """Seconds that building a data set's index took, by itself or in the bench; None where nobody measured that.

    What the runs' files say the index took is no such measurement: it may have been built by an older version, which
    added up what single calls took.
    """
    seconds: float | None = measured["building"].get(dataset)
    if seconds is not None or measured["bench"] is None or measured["bench"]["dataset"] != dataset:
        return seconds
    details = (each["details"] for each in measured["bench"]["measurements"])
    return next((each["seconds"] for each in details if "inference_seconds" in each), None)


def tabulate(
    measured: Summary,
    variants: Sequence[tuple[str, Variant]],
    datasets: Sequence[str],
    cell: Callable[[Summary | None], str],
) -> str:
    """A Markdown table of variants by data sets, without those of which nothing was measured.

    Args:
        measured: The summary.
        variants: Each with its name in the table.
        datasets: The columns.
        cell: What stands in it for a run, "–" for None.
    """
    rows = [[label, *(cell(find_run(measured, name, variant)) for name in datasets)] for label, variant in variants]
    shown = [row for row in rows if any(each != "–" for each in row[1:])]
    head = ["", *(NAMES[name] for name in datasets)]
    return format_table(head, shown, left=len(head))


def _in_order(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list | tuple) else value for name, value in options.items()}
