"""Which plots there are for some runs, and the numbers in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from itertools import groupby
from typing import Any

from minirag.evaluation.describing import describe_run, differing_traits, options_of
from minirag.evaluation.metrics import mean, recall_at
from minirag.evaluation.report.charts import Axis, Chart, Series
from minirag.evaluation.report.published import figure_of
from minirag.evaluation.results import DEPTHS, Run
from minirag.evaluation.scaling import ScalePoint, Scaling
from minirag.evaluation.variants import describe_variant
from minirag.strategies import STRATEGIES

_SWEPT = {
    "k_b": "k_b, bridging facts among the evidence (IndexRAG's Table 10)",
    "pool": "K0, passages looked into per step (KiRAG's appendix C.6)",
    "candidates": "N, units proposed per step (KiRAG's appendix C.7)",
    "steps": "L, steps at most",
    "k": "k, pieces that the reader sees",
}
_PAPERS = ("k_b", "pool", "candidates")
_MOST = 8  # series in one plot


def charts_of(runs: Sequence[Run]) -> list[Chart]:
    """The plots of one data set's runs."""
    plain = _plain(runs)
    found = [recall_by_depth(plain), recall_by_hops(plain), *quality_against(plain), *sweeps(runs)]
    return [chart for chart in found if chart is not None]


def _plain(runs: Sequence[Run]) -> list[Run]:
    """The runs without options; where there are none, all, as far as they fit into one plot."""
    plain = [run for run in runs if not run.settings.get("options")]
    return (plain or list(runs))[:_MOST]


# --- quality -------------------------------------------------------------------------------------------------------


def recall_by_depth(runs: Sequence[Run]) -> Chart | None:
    """Recall@k by k; None without gold passages."""
    series = [
        Series(describe_run(run, runs), tuple((k, 100 * value) for k in DEPTHS if (value := run.recall(k)) is not None))
        for run in runs
    ]
    theirs = figure_of(runs[0].dataset, "KiRAG", "recall@5")
    if theirs is not None:
        series.append(Series("KiRAG's paper", ((5, theirs),), is_published=True))
    note = "" if theirs is None else "The paper's figure is on a larger corpus, with a 335M encoder and an 8B LLM."
    x = Axis("k", is_logarithmic=True, ticks=DEPTHS)
    return _chart("Recall by depth", note, x, Axis("recall@k, %"), series)


def recall_by_hops(runs: Sequence[Run]) -> Chart | None:
    """Recall@5 by how many gold passages a question has; None where all have the same number."""
    depths = sorted({len(result.ranks) for run in runs for result in run.results if run.counts_for_recall(result)})
    if len(depths) < 2:
        return None
    series = [Series(describe_run(run, runs), tuple(_by_hops(run))) for run in runs]
    counted = ", ".join(
        f"{sum(len(result.ranks) == depth for result in runs[0].results):,} with {depth}" for depth in depths
    )
    x = Axis("gold passages of a question", ticks=tuple(map(float, depths)))
    return _chart("Hop depth", f"Questions: {counted}.", x, Axis("recall@5, %"), series)


def _by_hops(run: Run) -> Iterator[tuple[float, float]]:
    scored = sorted((result.ranks for result in run.results if run.counts_for_recall(result)), key=len)
    for depth, group in groupby(scored, key=len):
        yield depth, 100 * mean(recall_at(ranks, 5) for ranks in group)


def quality_against(runs: Sequence[Run]) -> list[Chart | None]:
    """F1, or recall@5 where nothing was read, against time and against dollars."""
    reads = any(run.to_summary()["f1"] is not None for run in runs)
    label = "F1, %" if reads else "recall@5, %"

    def quality(run: Run) -> float | None:
        return run.to_summary()["f1"] if reads else run.recall(5)

    def cost(run: Run) -> float | None:
        total = run.usage.cost
        return total / len(run.results) if total else None

    by_time = _points(runs, lambda run: run.to_summary()["retrieval_seconds_per_question"], quality, scale=1000)
    theirs = [figure_of(runs[0].dataset, "IndexRAG", metric) for metric in ("retrieval seconds", "f1")]
    note = ""
    if reads and theirs[0] is not None and theirs[1] is not None:
        by_time.append(Series("IndexRAG's paper", ((1000 * theirs[0], theirs[1]),), is_published=True))
        note = "The paper's point is another corpus, read by gpt-4o-mini; offline runs are read by rules."
    x = Axis("milliseconds to retrieve", is_logarithmic=True)
    total = _points(runs, lambda run: run.to_summary()["seconds_per_question"], quality, scale=1000)
    by_cost = _points(runs, cost, quality, scale=1000)
    y = Axis(label, starts_at_zero=True)
    return [
        _chart("Quality against retrieval time", note, x, y, by_time, is_joined=False),
        _chart("Quality against answering time", "", Axis("milliseconds to answer", True), y, total, is_joined=False),
        _chart("Quality against cost", "", Axis("dollars for 1,000 questions", True), y, by_cost, is_joined=False),
    ]


def _points(
    runs: Sequence[Run], x: Callable[[Run], float | None], y: Callable[[Run], float | None], *, scale: float
) -> list[Series]:
    pairs = [(run, x(run), y(run)) for run in runs]
    return [
        Series(describe_run(run, runs), ((scale * across, 100 * up),))
        for run, across, up in pairs
        if across is not None and across > 0 and up is not None
    ]


# --- sweeps --------------------------------------------------------------------------------------------------------


def sweeps(runs: Sequence[Run]) -> Iterator[Chart | None]:
    """A plot for each option of which the runs have several numbers, all else being equal."""
    for option in sorted({name for run in runs for name in _numbers(run)}):
        groups: dict[str, dict[float, Run]] = {}
        for run in runs:
            value = _numbers(run).get(option, _default(run, option))
            if value is not None:
                groups.setdefault(_without(run, option, runs), {})[value] = run
        series = [line for name, group in groups.items() if len(group) > 1 for line in _swept(name, group)]
        if series:
            x = Axis(_SWEPT.get(option, option), ticks=tuple(sorted({x for each in series for x, _ in each.points})))
            note = "The paper's own curve is not printed here: it could not be checked." if option in _PAPERS else ""
            yield _chart(f"Sweep of {option}", note, x, Axis("%"), series[:_MOST])


def _swept(name: str, runs: Mapping[float, Run]) -> Iterator[Series]:
    scores: list[tuple[str, Callable[[Run], float | None]]] = [
        ("recall@5", lambda run: run.recall(5)),
        ("F1", lambda run: run.to_summary()["f1"]),
    ]
    for label, score in scores:
        points = tuple((value, 100 * y) for value, run in sorted(runs.items()) if (y := score(run)) is not None)
        if points:
            yield Series(f"{name}: {label}", points)


def _numbers(run: Run) -> dict[str, float]:
    """The options that are numbers."""
    given: Mapping[str, Any] = {"k": run.settings.get("k"), **(run.settings.get("options") or {})}
    return {name: float(value) for name, value in given.items() if _is_number(value)}


def _default(run: Run, option: str) -> float | None:
    """What the strategy takes where nothing was given."""
    parameters = signature(STRATEGIES[run.strategy]).parameters if run.strategy in STRATEGIES else {}
    value = parameters[option].default if option in parameters else None
    return float(value) if _is_number(value) and value is not None else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without(run: Run, option: str, runs: Sequence[Run]) -> str:
    """What a run is but for the option; runs under other conditions belong to lines of their own."""
    options = {name: value for name, value in options_of(run).items() if name != option}
    told = {**options, **differing_traits(run, [other for other in runs if other.strategy == run.strategy])}
    return describe_variant(run.strategy, told, None if option == "k" else run.settings.get("k"))


# --- growth --------------------------------------------------------------------------------------------------------


def growth(scaling: Scaling) -> list[Chart]:
    """How everything grows with the number of units, on logarithmic axes."""
    x = Axis("facts and bridging facts", is_logarithmic=True)
    plots: list[tuple[str, str, Axis, dict[str, Callable[[ScalePoint], float | None]]]] = [
        (
            "Searching the units",
            "Exact search misses nothing; the graph finds the share of the ten nearest that the table says.",
            Axis("milliseconds", is_logarithmic=True),
            {"exact": lambda p: 1000 * p.exact_seconds, "graph": lambda p: 1000 * p.graph_seconds},
        ),
        (
            "Retrieving",
            "Encoding the question included.",
            Axis("milliseconds", is_logarithmic=True),
            {
                "index.search": lambda p: 1000 * p.search_seconds,
                "naive": lambda p: 1000 * p.naive_seconds,
                "indexrag": lambda p: 1000 * p.indexrag_seconds,
                "kirag": lambda p: 1000 * p.kirag_seconds,
            },
        ),
        (
            "Size and memory",
            "Memory is the most that a process held; what it maps of the file counts as far as it was touched.",
            Axis("MB", is_logarithmic=True),
            {
                "file": lambda p: p.file_bytes / 1e6,
                "memory to build": lambda p: None if p.build_bytes is None else p.build_bytes / 1e6,
                "memory to ask": lambda p: None if p.query_bytes is None else p.query_bytes / 1e6,
            },
        ),
        (
            "Building",
            "Without encoding, which grows with the text alone.",
            Axis("seconds", is_logarithmic=True),
            {"build": lambda p: p.build_seconds},
        ),
    ]
    drawn = (_chart(title, note, x, y, _lines(scaling, lines)) for title, note, y, lines in plots)
    return [chart for chart in drawn if chart is not None]


def _lines(scaling: Scaling, lines: Mapping[str, Callable[[ScalePoint], float | None]]) -> list[Series]:
    return [
        Series(name, tuple((p.units, y) for p in scaling.points if (y := value(p)) is not None and y > 0))
        for name, value in lines.items()
    ]


def _chart(
    title: str, note: str, x: Axis, y: Axis, series: Iterable[Series], *, is_joined: bool = True
) -> Chart | None:
    """The plot; None where there is nothing of ours to show."""
    shown = tuple(each for each in series if each.points)
    if all(each.is_published for each in shown):
        return None
    return Chart(title, note, x, y, shown, is_joined)
