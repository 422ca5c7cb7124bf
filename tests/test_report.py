from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minirag.errors import InputError
from minirag.evaluation.report import write_report
from minirag.evaluation.report.charts import Axis, Chart, Series, draw
from minirag.evaluation.report.content import sections_of
from minirag.evaluation.report.figures import charts_of, growth, sweeps
from minirag.evaluation.report.published import FIGURES, family_of, figure_of, figures_for
from minirag.evaluation.results import QuestionResult, Run
from minirag.evaluation.scaling import ScalePoint, Scaling
from minirag.records import Usage


def run_of(strategy: str, ranks: list[tuple[int | None, ...]], *, dataset: str = "2wiki", **settings: object) -> Run:
    results = tuple(
        QuestionResult(
            f"q{number}",
            ranks=each,
            documents=("d",),
            answer="x",
            found=True,
            em=1.0,
            f1=0.5,
            accuracy=1.0,
            usage=Usage(calls=1, cost=0.002),
            seconds=0.5,
            retrieval_seconds=0.02,
        )
        for number, each in enumerate(ranks)
    )
    return Run(dataset, strategy, "openai/x", results, 4_000_000, 1000, {"encoder": "e", **settings}, {"minirag": "1"})


RUNS = [
    run_of("naive", [(1, None), (None, 2, 3, 4)]),
    run_of("indexrag", [(1, 2), (1, 2, 9, None)]),
    run_of("indexrag", [(1, 2), (1, 2, 3, 4)], options={"k_b": 0}),
    run_of("indexrag", [(1, 2), (1, 2, 3, None)], options={"k_b": 1}),
]
POINTS = tuple(
    ScalePoint(
        n, n, n // 4, n, n * 2000, n / 1000, n * 4000, 0.01, None, 0.004, n / 1e6, 0.0002, 0.99, 0.004, 0.005, 0.02
    )
    for n in (1000, 10_000, 100_000)
)
SCALING = Scaling("2wiki", POINTS, {"cores": 2})


def test_the_page_and_the_text_say_the_same(tmp_path: Path) -> None:
    page, text = write_report(RUNS, tmp_path / "r.html", scalings=[SCALING])
    assert (page.name, text.name) == ("r.html", "r.md")
    shown, written = page.read_text(encoding="utf-8"), text.read_text(encoding="utf-8")
    for row in re.findall(r"^\| (.*) \|$", written, flags=re.MULTILINE):
        cells = [cell.strip() for cell in row.split(" | ")]
        assert all(f">{escape(cell)}<" in shown for cell in cells if not set(cell) <= set("-:")), row
    assert "<script>" not in shown
    assert not re.search(r"(src|href)=.(?!#|data:)", shown)
    assert re.findall(r"^## (.*)$", written, flags=re.MULTILINE) == [
        "2wiki",
        "Growth, from 2wiki",
        "How it was measured",
    ]


def test_which_plots_there_are() -> None:
    assert [chart.title for chart in charts_of(RUNS)] == [
        "Recall by depth",
        "Hop depth",
        "Quality against retrieval time",
        "Quality against answering time",
        "Quality against cost",
        "Sweep of k_b",
    ]
    assert [chart.title for chart in growth(SCALING)] == [
        "Searching the units",
        "Retrieving",
        "Size and memory",
        "Building",
    ]


def test_recall_by_depth_with_the_paper_s_figure() -> None:
    chart = charts_of(RUNS)[0]
    names = ["naive", "indexrag", "indexrag (k_b=0)", "indexrag (k_b=1)", "KiRAG's paper"]
    assert [series.name for series in chart.series] == names
    assert chart.series[0].points == ((2, 37.5), (3, 50.0), (5, 62.5), (10, 62.5))
    assert chart.series[4] == Series("KiRAG's paper", ((5, 85.3),), is_published=True)


def test_runs_with_options_are_drawn_beside_those_without() -> None:
    runs = [
        run_of("naive", [(1, 2)]),
        run_of("naive", [(1, 9)], options={"mode": "lexical"}),
        run_of("kirag", [(1, 2)], options={"steps": 3}),
    ]
    names = ["naive", "naive (mode=lexical)", "kirag (steps=3)"]
    for chart in charts_of(runs):
        assert [series.name for series in chart.series if not series.is_published] == names
        assert "Not drawn" not in chart.note


def test_of_many_runs_eight_are_drawn_and_the_note_counts_the_others() -> None:
    many = [
        *(run_of("kirag", [(1, 2)], options={"without": [part]}) for part in ("asked", "facts", "followed", "lexical")),
        *(run_of("indexrag", [(1, 2)], options={"k_b": k_b}) for k_b in (0, 1, 2)),
        run_of("naive", [(1, 2)], options={"mode": "lexical"}),
        run_of("naive", [(1, 2)]),
        run_of("indexrag", [(1, 2)]),
    ]
    depth, *_, sweep = charts_of(many)
    assert [series.name for series in depth.series if not series.is_published] == [
        *(f"kirag (without={part})" for part in ("asked", "facts", "followed", "lexical")),
        "indexrag (k_b=0)",
        "naive (mode=lexical)",
        "naive",
        "indexrag",
    ]
    assert depth.note.endswith(
        " Not drawn, as no more than 8 runs can be told apart: indexrag (k_b=1); indexrag (k_b=2). Sweeps have plots "
        "of their own. The table has all."
    )
    assert sweep.series[0].points == ((0.0, 100.0), (1.0, 100.0), (2.0, 100.0), (3.0, 100.0))
    more = charts_of([*many, *(run_of("ircot", [(1, 2)], options={"over": over}) for over in ("naive", "kirag"))])
    assert "told apart: 4 of 12 runs. Sweeps" in more[0].note
    assert {"ircot (over=naive)", "ircot (over=kirag)"} <= {series.name for series in more[0].series}


def test_a_plot_says_which_runs_it_has_no_figures_of() -> None:
    read, unread = run_of("naive", [(1, 2)]), run_of("kirag", [(1, 2)], options={"steps": 1}, read=False)
    blank = [replace(each, f1=None, seconds=None) for each in unread.results]
    by_model = [replace(each, retrieval_seconds=None, usage=Usage(cost=None)) for each in read.results]
    runs = [read, replace(unread, results=tuple(blank)), replace(read, strategy="ircot", results=tuple(by_model))]
    notes = {chart.title: chart.note for chart in charts_of(runs)}
    unread_told = "Not drawn, as no answers were read: kirag (steps=1)."
    assert notes["Quality against retrieval time"].endswith(
        f"{unread_told} Not drawn, as a model takes part in retrieval, which has no time of its own then: ircot."
    )
    assert notes["Quality against answering time"] == unread_told
    assert (
        notes["Quality against cost"] == f"{unread_told} Not drawn, as nothing was paid, or a price is unknown: ircot."
    )


def test_lines_of_a_sweep_that_are_left_out_are_counted() -> None:
    parts = ("asked", "facts", "followed", "lexical", "passages")
    runs = [
        run_of("kirag", [(1, 2)], options={"steps": steps, "without": [part]}) for part in parts for steps in (1, 2, 3)
    ]
    chart = charts_of(runs)[-1]
    assert (chart.title, len(chart.series)) == ("Sweep of steps", 8)
    assert chart.note == (
        "Not drawn, as no more than 8 lines can be told apart: kirag (without=passages): recall@5; "
        "kirag (without=passages): F1. The table has all."
    )


def test_of_runs_alike_in_a_sweep_each_has_its_line() -> None:
    runs = [run_of("indexrag", [(1, None)] * n, options={"k_b": k_b}) for n in (1, 2) for k_b in (0, 1)]
    (chart,) = sweeps(runs)
    assert chart is not None
    assert [series.name for series in chart.series if series.name.endswith("F1")] == [
        "indexrag: F1",
        "indexrag (run=2): F1",
    ]


def test_a_sweep_of_retrieval_does_not_ask_whether_answers_were_read() -> None:
    unread = run_of("indexrag", [(1, 2)], options={"k_b": 0}, read=False)
    blank = replace(unread, results=tuple(replace(each, f1=None) for each in unread.results))
    (chart,) = sweeps([run_of("indexrag", [(1, 2)]), blank])
    assert chart is not None
    assert chart.series == (Series("indexrag: recall@5", ((0.0, 100.0), (3.0, 100.0))),)
    (chart,) = sweeps(
        [run_of("indexrag", [(1, 2)], options={"k_b": k_b}, read=read) for read in (1, 0) for k_b in (0, 1)]
    )
    assert chart is not None
    assert [series.name for series in chart.series if series.name.endswith("5")] == [
        "indexrag: recall@5",
        "indexrag (read=0): recall@5",
    ]


def test_the_table_of_retrieval_has_what_the_other_has_no_room_for() -> None:
    table = sections_of(RUNS, [])[0].tables[1]
    assert (table.caption, list(table.head[2:7])) == (
        "Retrieval in full, in percent",
        ["all-gold@2", "all-gold@3", "all-gold@5", "all-gold@10", "MRR"],
    )
    assert list(table.rows[1]) == ["indexrag", "openai/x", "50.0", "50.0", "50.0", "50.0", "100.0", *["0.0"] * 4]


def test_indexes_of_other_sizes_have_goals_of_their_own() -> None:
    runs = [run_of("naive", [(1,)]), replace(run_of("naive", [(1,)], encoder="b"), index_bytes=5_000_000)]
    goals = next(table for table in sections_of(runs, [])[0].tables if table.caption.startswith("Against"))
    assert [list(row) for row in goals.rows[2:]] == [
        ["index, bytes per passage", "naive (encoder=e)", "4,000", "4,418", "yes"],
        ["index, bytes per passage", "naive (encoder=b)", "5,000", "4,418", "no"],
    ]


def test_hop_depth() -> None:
    chart = charts_of(RUNS)[1]
    assert chart.series[0].points == ((2, 50.0), (4, 75.0))
    assert chart.note == "Questions: 1 with 2, 1 with 4."


def test_a_run_without_the_option_is_the_default_of_a_sweep() -> None:
    (chart,) = sweeps(RUNS)
    assert chart is not None
    assert chart.series[0] == Series("indexrag: recall@5", ((0.0, 100.0), (1.0, 87.5), (3.0, 75.0)))
    assert chart.x.ticks == (0.0, 1.0, 3.0)
    assert "could not be checked" in chart.note


def test_goals_are_compared_with_the_paper_s_figures() -> None:
    goals = next(table for table in sections_of(RUNS, [])[0].tables if table.caption.startswith("Against"))
    assert [list(row) for row in goals.rows] == [
        ["retrieval", "naive", "20.0 ms", "15 ms", "no"],
        *(["retrieval", f"indexrag{told}", "20.0 ms", "15 ms", "no"] for told in ("", " (k_b=0)", " (k_b=1)")),
        ["index, bytes per passage", "all", "4,000", "4,418", "yes"],
    ]


def test_published_figures_name_their_source() -> None:
    assert all(figure.source and figure.value > 0 for figure in FIGURES)
    assert figure_of("hotpot_dev_distractor_v1", "KiRAG", "recall@5") == 84.1
    assert family_of("notes") is None
    assert figures_for("notes") == ()
    other = sections_of([run_of("naive", [(1,)], dataset="notes")], [])[0]
    assert [table.caption for table in other.tables] == [
        "All runs, in percent, milliseconds and dollars",
        "Retrieval in full, in percent",
    ]


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no runs to report"):
        write_report([], tmp_path / "r.html")


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("values", [(5.0,), (0.001, 0.0012), (1.0, 1e9), (93.5, 94.5)])
def test_every_mark_lies_inside_the_plot(values: tuple[float, ...], logarithmic: bool) -> None:
    series = Series("a < b", tuple((value, value) for value in values))
    axis = Axis("x", is_logarithmic=logarithmic)
    drawn = ElementTree.fromstring(draw(Chart("t", "", axis, axis, (series,))))
    picture = next(iter(drawn.iter("svg")))
    marks = [path.attrib["d"] for path in picture.iter("path")]
    places = [tuple(float(number) for number in re.findall(r"-?[\d.]+", mark)[:2]) for mark in marks]
    assert len(places) == len(values)
    assert all(40 < x < 380 and 0 < y < 256 for x, y in places)
    labels = [text for text in picture.iter("text") if text.attrib.get("class") == "tick"]
    assert len(labels) >= 4
    assert next(iter(picture.iter("title"))).text.startswith("a < b: x ")  # type: ignore[union-attr]


def test_runs_under_other_conditions_are_told_apart_in_tables_and_plots() -> None:
    runs = [
        run_of(name, [(1, 2)], encoder=encoder, options=options)
        for name, options in (("naive", {}), ("indexrag", {}), ("indexrag", {"k_b": 0}))
        for encoder in ("a", "b")
    ]
    about = sections_of(runs, [])[0]
    names = [row[0] for row in about.tables[0].rows]
    assert len(set(names)) == len(names) == 6
    pairs = [tuple(row[:3]) for row in about.tables[2].rows]
    assert len(set(pairs)) == len(pairs)
    assert ("indexrag (encoder=b)", "naive (encoder=b)", "recall@5") in pairs
    assert about.tables[2].caption == (
        "Differences, in points, over the same questions (–: fewer than 20 questions, of which no p says anything)"
    )
    depth, *_, sweep = charts_of(runs)
    assert [series.name for series in depth.series[:6]] == names
    assert [series.name for series in sweep.series] == [
        f"indexrag (encoder={encoder}): {by}" for encoder in ("a", "b") for by in ("recall@5", "F1")
    ]


def test_hop_depth_leaves_out_what_the_scoring_does() -> None:
    results = (
        QuestionResult("a", ranks=(1,), documents=("d",)),
        QuestionResult("b", ranks=(1, 2), documents=("d",)),
        QuestionResult("c", ranks=(None, None)),
    )
    for scoring, recall in (("kirag", 100.0), ("minirag", 50.0)):
        run = Run("notes", "naive", "offline", results, 1, 1, {"scoring": scoring})
        assert charts_of([run])[1].series[0].points == ((1, 100.0), (2, recall))
