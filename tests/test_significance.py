from __future__ import annotations

import pytest

from minirag.errors import InputError
from minirag.evaluation.results import QuestionResult, Run
from minirag.evaluation.significance import compare, comparison_table, paired_t_test


def run_of(strategy: str, ranks: list[int | None], *, f1: list[float] | None = None, dataset: str = "films") -> Run:
    scores: list[float | None] = [*f1] if f1 else [None] * len(ranks)
    results = (QuestionResult(f"q{n}", ranks=(r,), f1=s) for n, (r, s) in enumerate(zip(ranks, scores, strict=True)))
    return Run(dataset, strategy, "offline", tuple(results), 1, 1)


# What scipy 1.17's ttest_1samp(differences, 0) gives.
@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([0.5, 0.0, 0.0, 1.0, -0.5, 0.0, 0.25], 0.3559176837495822),
        ([1.0, 2.0], 0.20483276469913345),
        ([0.1, 0.2, 0.15, 0.3], 0.021875398782757818),
        ([0.0, 1.0] * 150, 6.439332545471477e-47),
    ],
)
def test_t_test_as_scipy_s(differences: list[float], p: float) -> None:
    assert paired_t_test(differences) == pytest.approx(p, rel=1e-9, abs=0)


def test_t_test_at_its_edges() -> None:
    assert paired_t_test([1.0]) is None
    assert paired_t_test([0.0, 0.0, 0.0]) == 1.0
    assert paired_t_test([0.5, 0.5, 0.5]) == 0.0


def test_a_clear_difference() -> None:
    ranks: list[int | None] = [None] * 60 + [1] * 40
    better: list[int | None] = [None] * 20 + [1] * 80
    found = compare(run_of("naive", ranks), run_of("kirag", better), rounds=2_000)
    assert (found.metric, found.questions, found.first, found.second) == ("recall@5", 100, 0.4, 0.8)
    assert found.difference == pytest.approx(0.4)
    assert 0.29 < found.low < 0.34
    assert 0.46 < found.high < 0.51
    assert found.p_bootstrap == pytest.approx(2 / 2001)
    assert found.p_t_test is not None
    assert found.p_t_test < 1e-10
    assert found.to_dict()["difference"] == found.difference


def test_no_difference() -> None:
    ranks: list[int | None] = [1, None] * 20
    other: list[int | None] = [None, 1] * 20
    found = compare(run_of("naive", ranks), run_of("kirag", other), rounds=500)
    assert found.low < 0 < found.high
    assert found.p_bootstrap > 0.5
    assert found.p_t_test == 1.0


def test_the_seed_decides() -> None:
    runs = run_of("naive", [1, None, 2, 3, None]), run_of("kirag", [1, 1, None, 3, 2])
    assert compare(*runs, seed=1) == compare(*runs, seed=1) != compare(*runs, seed=2)


@pytest.mark.parametrize(
    ("metric", "first", "second"),
    [("recall@2", 0.5, 0.5), ("all_gold@1", 0.5, 0.0), ("mrr", 0.5, 0.25), ("answer_hit@3", 0.0, 0.0)],
)
def test_metrics(metric: str, first: float, second: float) -> None:
    found = compare(run_of("naive", [1, None]), run_of("kirag", [2, None]), metric=metric, rounds=10)
    assert (found.first, found.second) == (first, second)


def test_what_cannot_be_compared() -> None:
    naive, kirag = run_of("naive", [1, 2]), run_of("kirag", [1, 2])
    with pytest.raises(ValueError, match="unknown metric 'recall'; there are recall@K"):
        compare(naive, kirag, metric="recall")
    with pytest.raises(ValueError, match="rounds must be at least 1, not 0"):
        compare(naive, kirag, rounds=0)
    with pytest.raises(InputError, match="no question in common that f1 scores"):
        compare(naive, kirag, metric="f1")
    with pytest.raises(InputError, match="films and one over songs have no questions in common"):
        compare(naive, run_of("kirag", [1], dataset="songs"))


def test_table() -> None:
    runs = [run_of("naive", [None, None]), run_of("kirag", [1, 1]), run_of("naive", [1], dataset="songs")]
    assert comparison_table(runs) == (
        "| data set | run   | against | by       | difference |             95 % | p (bootstrap) | p (t-test) |\n"
        "| -------- | ----- | ------- | -------- | ---------: | ---------------: | ------------: | ---------: |\n"
        "| films    | kirag | naive   | recall@5 |     +100.0 | +100.0 to +100.0 |       < 0.001 |    < 0.001 |"
    )
    assert comparison_table(runs[:1]) == ""
    read = [run_of("naive", [1, 1], f1=[0.0, 1.0]), run_of("kirag", [1, 1], f1=[0.0, 1.0])]
    assert [line.split(" | ")[3].strip() for line in comparison_table(read).splitlines()[2:]] == ["recall@5", "f1"]
