"""The README's times and sizes: of retrieval and of indexes beside the goals, of the bench, and by growth."""

from __future__ import annotations

from collections.abc import Iterator

from minirag.evaluation.measuring import DATASETS, PARTS, READ
from minirag.evaluation.report.published import bytes_goal, figure_of, seconds_goal
from minirag.evaluation.results import format_table
from minirag.evaluation.scaling import Scaling
from minirag.evaluation.summaries import NAMES, Summary, find_building, find_run, tabulate
from minirag.evaluation.variants import Variant
from minirag.storage.vectors import EXACT_LIMIT

_GOAL_OF = "2wiki"  # the set of which IndexRAG's paper tells times and sizes
_TIMED = (*READ, *((f"`kirag` in {label}", variant) for label, variant in PARTS if set(variant.options) == {"steps"}))


def render_speed(measured: Summary) -> Iterator[str]:
    """The section's paragraphs and tables on times and sizes, as far as they were measured."""
    yield _times(measured)
    yield _sizes(measured)
    yield _bench(measured)
    yield _growth(measured)


# --- beside the goals ----------------------------------------------------------------------------------------------


def _times(measured: Summary) -> str:
    goal, theirs = seconds_goal(_GOAL_OF), figure_of(_GOAL_OF, "IndexRAG", "retrieval seconds")
    is_timed = any(run["dataset"] in DATASETS and run["retrieval_seconds"] is not None for run in measured["runs"])
    if goal is None or theirs is None or not is_timed:
        return ""
    return (
        "Retrieval alone, in milliseconds a question: the mean over all questions, one after the other, encoding the "
        f"question included. The goal is at most {1000 * goal:.0f} ms, a twentieth of the {theirs:.2f} s that "
        "IndexRAG's paper reports on 2Wiki (on another machine, by another encoder). "
        f"{_say_slow(measured, goal)}\n\n{tabulate(measured, _TIMED, DATASETS, _milliseconds)}"
    )


def _say_slow(measured: Summary, goal: float) -> str:
    """Which strategies miss the goal, and on which data sets."""
    slow: dict[tuple[str, ...], list[str]] = {}
    for label, variant in _TIMED:
        runs = {name: find_run(measured, name, variant) for name in DATASETS}
        missed = tuple(NAMES[name] for name, run in runs.items() if run and (run["retrieval_seconds"] or 0.0) > goal)
        slow.setdefault(missed, []).append(label.strip("*"))
    slow.pop((), None)
    told = [
        f"on {'all three' if len(names) == len(DATASETS) else ', '.join(names)} by {', '.join(labels)}"
        for names, labels in slow.items()
    ]
    return f"It is missed {'; '.join(told)}; all else reaches it." if told else "It is reached everywhere."


def _sizes(measured: Summary) -> str:
    goal = bytes_goal(_GOAL_OF)
    runs = {name: find_run(measured, name, Variant("naive")) for name in DATASETS}
    found = {name: run for name, run in runs.items() if run is not None and run["passages"]}
    if goal is None or not found:
        return ""
    size, passages = (figure_of(_GOAL_OF, "IndexRAG", metric) for metric in ("index MB", "passages"))
    large = [NAMES[name] for name, run in found.items() if run["index_bytes"] / run["passages"] > goal]
    rows = [_size(measured, name, run) for name, run in found.items()]
    head = ["", "passages", "facts a passage", "index, MB", "bytes a passage", "building, s"]
    return (
        "Size of the index, with triples, texts and postings in it, and wall time of building it, encoding and "
        f"writing included (–: not measured). The goal is at most {goal:,.0f} bytes a passage, a third of what "
        f"IndexRAG's paper reports for 2Wiki ({size:g} MB for {passages:,.0f} passages). "
        f"It is {'missed on ' + ', '.join(large) if large else 'reached everywhere'}.\n\n"
        f"{format_table(head, rows, left=1)}"
    )


def _size(measured: Summary, name: str, run: Summary) -> list[str]:
    seconds, facts = find_building(measured, name), run["facts"]
    return [
        NAMES[name],
        f"{run['passages']:,}",
        "–" if facts is None else f"{facts / run['passages']:.1f}",
        f"{run['index_bytes'] / 1e6:.1f}",
        f"{run['index_bytes'] / run['passages']:,.0f}",
        "–" if seconds is None else f"{seconds:,.0f}",
    ]


def _milliseconds(run: Summary | None) -> str:
    return "–" if run is None or run["retrieval_seconds"] is None else f"{1000 * run['retrieval_seconds']:.1f}"


# --- the bench and growth ------------------------------------------------------------------------------------------


def _bench(measured: Summary) -> str:
    bench = measured["bench"]
    if bench is None:
        return ""
    rows = [
        [
            each["what"],
            _figure(each["measured"], each["unit"]),
            f"{each['bound']} {_figure(each['limit'], each['unit'])}",
            ", ".join(f"{key.replace('_', ' ')} {_number(value)}" for key, value in each["details"].items()),
        ]
        for each in bench["measurements"]
    ]
    dataset = bench["dataset"]
    table = format_table(["", "measured", "asked", "behind it"], rows, left=4)
    return f"Speed and size (`minirag bench {dataset}`; both sides of a ratio by turns in one run):\n\n{table}"


def _growth(measured: Summary) -> str:
    if measured["scaling"] is None:
        return ""
    scaling = Scaling.from_dict(measured["scaling"])
    return (
        f"Growth (`minirag bench {scaling.dataset} --scaling growth.json`; synthetic vectors around the real ones, "
        f"without encoding):\n\n{scaling.table()}\n\nUp to {EXACT_LIMIT:,} units an index is searched exactly: "
        "that misses nothing, and takes a small part of what encoding the question does. Beyond, facts and bridging "
        "facts are searched by the graph, unless so many are asked for that looking at all takes hardly longer; "
        "passages always exactly."
    )


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f} {unit}" if unit == "×" else f"{value:.1f} {unit}"


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
