"""Which plots there are for some runs, and the numbers in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from minirag.evaluation.metrics import mean, recall_at
from minirag.evaluation.report.charts import Axis, Chart, Series
from minirag.evaluation.report.choosing import Points, cut_lines, draw_runs
from minirag.evaluation.report.published import figure_of
from minirag.evaluation.report.sweeps import Sweep, find_sweeps
from minirag.evaluation.results import DEPTHS, Run
from minirag.evaluation.scaling import ScalePoint, Scaling

_SWEPT = {
    "k_b": "k_b, bridging facts (IndexRAG's Table 10)",
    "pool": "K0, passages of a step (KiRAG's C.6)",
    "candidates": "N, units proposed in a step (KiRAG's C.7)",
    "steps": "L, steps at most",
    "k": "k, pieces that the reader sees",
}
_PAPERS = ("k_b", "pool", "candidates")
_NO_GOLD = "there are no gold passages"
_UNREAD = "no answers were read"

Score = Callable[[Run], float | None]


def charts_of(runs: Sequence[Run]) -> list[Chart]:
    """The plots of one data set's runs. Where one leaves out a run, its note says which, or how many, and why."""
    found = [recall_by_depth(runs), recall_by_hops(runs), *quality_against(runs), *sweeps(runs)]
    return [chart for chart in found if chart is not None]


# --- quality -------------------------------------------------------------------------------------------------------


def recall_by_depth(runs: Sequence[Run]) -> Chart | None:
    """Recall@k by k; None without gold passages."""
    series, left_out = draw_runs(runs, _by_depth, lambda _: _NO_GOLD)
    theirs = figure_of(runs[0].dataset, "KiRAG", "recall@5")
    if theirs is not None:
        series.append(Series("KiRAG's paper", ((5, theirs),), is_published=True))
    note = "" if theirs is None else "The paper's figure is on a larger corpus, with a 335M encoder and an 8B LLM."
    x = Axis("k", is_logarithmic=True, ticks=DEPTHS)
    return _chart("Recall by depth", [note, left_out], x, Axis("recall@k, %"), series)


def _by_depth(run: Run) -> Points:
    return tuple((k, 100 * value) for k in DEPTHS if (value := run.recall(k)) is not None)


def recall_by_hops(runs: Sequence[Run]) -> Chart | None:
    """Recall@5 by how many gold passages a question has; None where all have the same number."""
    depths = sorted({len(result.ranks) for run in runs for result in run.results if run.counts_for_recall(result)})
    if len(depths) < 2:
        return None
    series, left_out = draw_runs(runs, _by_hops, lambda _: _NO_GOLD)
    counted = ", ".join(
        f"{sum(len(result.ranks) == depth for result in runs[0].results):,} with {depth}" for depth in depths
    )
    x = Axis("gold passages of a question", ticks=tuple(map(float, depths)))
    return _chart("Hop depth", [f"Questions: {counted}.", left_out], x, Axis("recall@5, %"), series)


def _by_hops(run: Run) -> Points:
    scored = sorted((result.ranks for result in run.results if run.counts_for_recall(result)), key=len)
    groups = groupby(scored, key=len)
    return tuple((depth, 100 * mean(recall_at(ranks, 5) for ranks in group)) for depth, group in groups)


@dataclass(frozen=True, slots=True)
class _Against:
    """What quality is drawn against: the plot's title, the axis, the values, and why a run has none, in words."""

    title: str
    x: Axis
    score: Score
    lacks: str


_RETRIEVING = _Against(
    "Quality against retrieval time",
    Axis("milliseconds to retrieve", is_logarithmic=True),
    lambda run: _in_milliseconds(run, "retrieval_seconds_per_question"),
    "a model takes part in retrieval, which has no time of its own then",
)
_ANSWERING = _Against(
    "Quality against answering time",
    Axis("milliseconds to answer", is_logarithmic=True),
    lambda run: _in_milliseconds(run, "seconds_per_question"),
    _UNREAD,
)
_PAYING = _Against(
    "Quality against cost",
    Axis("dollars for 1,000 questions", is_logarithmic=True),
    lambda run: 1000 * run.usage.cost / len(run.results) if run.usage.cost else None,
    "nothing was paid, or a price is unknown",
)


def quality_against(runs: Sequence[Run]) -> list[Chart | None]:
    """F1, or recall@5 where nothing was read, against time and against dollars."""
    note, published = "", []
    theirs = [figure_of(runs[0].dataset, "IndexRAG", metric) for metric in ("retrieval seconds", "f1")]
    if any(_f1(run) is not None for run in runs) and theirs[0] is not None and theirs[1] is not None:
        published = [Series("IndexRAG's paper", ((1000 * theirs[0], theirs[1]),), is_published=True)]
        note = "The paper's point is another corpus, read by gpt-4o-mini; offline runs are read by rules."
    return [_quality(runs, _RETRIEVING, published, note), _quality(runs, _ANSWERING), _quality(runs, _PAYING)]


def _quality(runs: Sequence[Run], against: _Against, published: Sequence[Series] = (), note: str = "") -> Chart | None:
    reads = any(_f1(run) is not None for run in runs)
    quality, unknown = (_f1, _UNREAD) if reads else (_recall, _NO_GOLD)

    def points(run: Run) -> Points:
        across, up = against.score(run), quality(run)
        return ((across, 100 * up),) if across and up is not None else ()

    series, left_out = draw_runs(runs, points, lambda run: unknown if quality(run) is None else against.lacks)
    y = Axis("F1, %" if reads else "recall@5, %", starts_at_zero=True)
    return _chart(against.title, [note, left_out], against.x, y, [*series, *published], is_joined=False)


def _recall(run: Run) -> float | None:
    return run.recall(5)


def _f1(run: Run) -> float | None:
    found: float | None = run.to_summary()["f1"]
    return found


def _in_milliseconds(run: Run, name: str) -> float | None:
    seconds = run.to_summary()[name]
    return None if seconds is None else 1000 * seconds


# --- sweeps --------------------------------------------------------------------------------------------------------


def sweeps(runs: Sequence[Run]) -> Iterator[Chart | None]:
    """A plot for each option of which the runs have several numbers, all else being equal."""
    for option, lines in find_sweeps(runs).items():
        series, left_out = cut_lines([line for name, sweep in lines.items() for line in _swept(name, sweep)])
        if series:
            x = Axis(_SWEPT.get(option, option), ticks=tuple(sorted({x for each in series for x, _ in each.points})))
            note = "The paper's own curve is not printed here: it could not be checked." if option in _PAPERS else ""
            yield _chart(f"Sweep of {option}", [note, left_out], x, Axis("%"), series)


def _swept(name: str, sweep: Sweep) -> Iterator[Series]:
    scores: list[tuple[str, Score]] = [("recall@5", _recall), ("F1", _f1)]
    for label, score in scores:
        points = tuple((value, 100 * y) for value, run in sorted(sweep.items()) if (y := score(run)) is not None)
        if len(points) > 1:
            yield Series(f"{name}: {label}", points)


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
    drawn = (_chart(title, [note], x, y, _lines(scaling, lines)) for title, note, y, lines in plots)
    return [chart for chart in drawn if chart is not None]


def _lines(scaling: Scaling, lines: Mapping[str, Callable[[ScalePoint], float | None]]) -> list[Series]:
    return [
        Series(name, tuple((p.units, y) for p in scaling.points if (y := value(p)) is not None and y > 0))
        for name, value in lines.items()
    ]


def _chart(
    title: str, notes: Iterable[str], x: Axis, y: Axis, series: Iterable[Series], *, is_joined: bool = True
) -> Chart | None:
    """The plot; None where there is nothing of ours to show."""
    shown = tuple(each for each in series if each.points)
    if all(each.is_published for each in shown):
        return None
    return Chart(title, " ".join(filter(None, notes)), x, y, shown, is_joined)
