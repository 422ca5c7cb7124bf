"""What a report says, before it is Markdown or a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minirag.evaluation.describing import describe_run
from minirag.evaluation.report.charts import Chart
from minirag.evaluation.report.figures import charts_of, growth
from minirag.evaluation.report.published import bytes_goal, figures_for, seconds_goal
from minirag.evaluation.results import DEPTHS, RUN_HEAD, Run, run_row
from minirag.evaluation.scaling import Scaling
from minirag.evaluation.significance import COMPARISON_HEAD, FEW, comparison_rows, is_without_p

_RETRIEVAL = (*(f"all-gold@{k}" for k in DEPTHS), "MRR", *(f"hit@{k}" for k in DEPTHS))


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        caption: What it shows.
        head: Names of the columns.
        rows: Each as long as the head.
        left: How many columns, from the first, hold text.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes:
        title: Its heading.
        text: A paragraph, may be empty.
        charts: Plots, on the page only.
        tables: Tables, below them.
    """

    title: str
    text: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


def sections_of(runs: Sequence[Run], scalings: Sequence[Scaling]) -> list[Section]:
    """The whole report."""
    names = list(dict.fromkeys(run.dataset for run in runs))
    parts = [_about(name, [run for run in runs if run.dataset == name]) for name in names]
    parts += [_growth(scaling) for scaling in scalings]
    return [*parts, _conditions(runs)] if runs else parts


def _about(name: str, runs: Sequence[Run]) -> Section:
    rows = [run_row(run, runs)[1:] for run in runs]
    tables = [Table("All runs, in percent, milliseconds and dollars", RUN_HEAD[1:], rows, 2)]
    tables.append(Table("Retrieval in full, in percent", ("strategy", "model", *_RETRIEVAL), _retrieval(runs), 2))
    compared = comparison_rows(runs)
    if compared:
        rows = [row[1:] for row in compared]
        few = f" ({FEW})" if any(map(is_without_p, rows)) else ""
        tables.append(Table(f"Differences, in points, over the same questions{few}", COMPARISON_HEAD[1:], rows, 3))
    goals = list(_goals(runs))
    if goals:
        head = ("what", "run", "measured", "goal", "reached")
        tables.append(Table("Against what IndexRAG's paper reports on 2WikiMultiHopQA", head, goals, 5))
    theirs = [[each.system, each.metric, f"{each.value:g}", each.source] for each in figures_for(name)]
    if theirs:
        columns = ("system", "what", "figure", "source")
        tables.append(Table("What papers report: other corpora, other encoders, other LLMs", columns, theirs, 4))
    count = len({result.id for run in runs for result in run.results})
    text = f"{count:,} questions over {runs[0].passages:,} passages."
    return Section(name, text, tuple(charts_of(runs)), tuple(tables))


def _retrieval(runs: Sequence[Run]) -> list[list[str]]:
    """What the table of all runs has no room for."""
    rows = []
    for run in runs:
        found = run.to_summary()
        scores = [*found["all_gold"].values(), found["mrr"], *found["answer_hit"].values()]
        told = ["–" if score is None else f"{100 * score:.1f}" for score in scores]
        rows.append([describe_run(run, runs), run.model, *told])
    return rows


def _goals(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Retrieval at most a twentieth of IndexRAG's time, the index at most a third of its size by passages."""
    seconds, size = seconds_goal(runs[0].dataset), bytes_goal(runs[0].dataset)
    if seconds is None or size is None or not runs[0].passages:
        return
    for run in runs:
        taken = run.to_summary()["retrieval_seconds_per_question"]
        told = ("–", "–") if taken is None else (f"{1000 * taken:.1f} ms", _say_reached(taken, seconds))
        yield ["retrieval", describe_run(run, runs), told[0], f"{1000 * seconds:.0f} ms", told[1]]
    indexes: dict[tuple[int, int], Run] = {}
    for run in runs:
        indexes.setdefault((run.index_bytes, run.passages or 1), run)
    for (size_in_bytes, count), run in indexes.items():
        held = size_in_bytes / count
        of = "all" if len(indexes) == 1 else describe_run(run, runs)
        yield ["index, bytes per passage", of, f"{held:,.0f}", f"{size:,.0f}", _say_reached(held, size)]


def _say_reached(measured: float, goal: float) -> str:
    return "yes" if measured <= goal else "no"


def _growth(scaling: Scaling) -> Section:
    head, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in scaling.table().splitlines() if "--" not in line
    ]
    text = "Indexes grown from the data set, with synthetic vectors around the real ones; encoding is not in the times."
    charts = tuple(growth(scaling))
    return Section(f"Growth, from {scaling.dataset}", text, charts, (Table("All sizes", head, rows, 0),))


def _conditions(runs: Sequence[Run]) -> Section:
    rows = []
    for run in runs:
        settings = run.settings
        drawn = "all" if settings.get("limit") is None else f"{settings['limit']:,} by seed {settings.get('seed')}"
        versions = " ".join(f"{name} {version}" for name, version in run.versions.items())
        named = [
            run.dataset,
            describe_run(run, runs),
            str(settings.get("encoder", "?")),
            str(settings.get("index_model", "?")),
        ]
        rows.append([*named, drawn, run.scoring, versions])
    head = ("data set", "run", "encoder", "indexed by", "questions", "scoring", "versions")
    return Section("How it was measured", tables=(Table("Settings and versions", head, rows, 7),))
