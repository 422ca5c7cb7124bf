from __future__ import annotations

import pytest

from minirag.errors import InputError
from minirag.evaluation.results import QuestionResult, Run
from minirag.evaluation.significance import compare, comparison_rows, comparison_table, paired_t_test


def run_of(
    strategy: str,
    ranks: list[int | None],
    *,
    f1: list[float] | None = None,
    dataset: str = "films",
    model: str = "offline",
    **settings: object,
) -> Run:
    scores: list[float | None] = [*f1] if f1 else [None] * len(ranks)
    results = (
        QuestionResult(f"q{n}", ranks=(r,), documents=() if r is None else ("d",), f1=s)
        for n, (r, s) in enumerate(zip(ranks, scores, strict=True))
    )
    return Run(dataset, strategy, model, tuple(results), 1, 1, settings)


def compared(runs: list[Run]) -> list[tuple[str, str, str]]:
    """Run, against, by."""
    return [(row[1], row[2], row[3]) for row in comparison_rows(runs)]


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
    runs = [run_of("naive", [None] * 20), run_of("kirag", [1] * 20), run_of("naive", [1], dataset="songs")]
    assert comparison_table(runs) == (
        "| data set | run   | against | by       | difference |             95 % | p (bootstrap) | p (t-test) |\n"
        "| -------- | ----- | ------- | -------- | ---------: | ---------------: | ------------: | ---------: |\n"
        "| films    | kirag | naive   | recall@5 |     +100.0 | +100.0 to +100.0 |       < 0.001 |    < 0.001 |"
    )
    assert comparison_table(runs[:1]) == ""
    read = [run_of("naive", [1, 1], f1=[0.0, 1.0]), run_of("kirag", [1, 1], f1=[0.0, 1.0])]
    assert [by for _, _, by in compared(read)] == ["recall@5", "f1"]


def test_of_few_questions_no_p_is_told() -> None:
    found = comparison_table([run_of("naive", [None] * 19), run_of("kirag", [1] * 19)])
    assert found.splitlines()[2:] == [
        "| films    | kirag | naive   | recall@5 |     +100.0 | +100.0 to +100.0 |             – |          – |",
        "",
        "–: fewer than 20 questions, of which no p says anything.",
    ]


def test_only_what_was_asked_alike_is_compared() -> None:
    naive = run_of("naive", [1, 2])
    for other in (
        run_of("kirag", [1, 2], scoring="kirag"),
        run_of("kirag", [1], limit=1),
        run_of("kirag", [1, 2], model="openai/x"),
        run_of("kirag", [1, 2], encoder="other"),
        run_of("kirag", [1, 2], index_model="openai/x"),
        run_of("naive", [1, 2], encoder="other", model="openai/x"),
    ):
        assert compared([naive, other]) == []
    # How the same questions were chosen does not matter.
    assert compared([naive, run_of("kirag", [1, 2], limit=2, seed=5)]) == [("kirag", "naive", "recall@5")]


def test_each_condition_has_its_own_first_run_and_one_that_is_the_same_but_for_it() -> None:
    runs = [run_of(name, [1, 2], encoder=encoder) for name in ("naive", "kirag") for encoder in ("a", "b")]
    assert compared(runs) == [
        ("naive (encoder=b)", "naive (encoder=a)", "recall@5"),
        ("kirag (encoder=a)", "naive (encoder=a)", "recall@5"),
        ("kirag (encoder=b)", "naive (encoder=b)", "recall@5"),
        ("kirag (encoder=b)", "kirag (encoder=a)", "recall@5"),
    ]


def test_rules_are_not_compared() -> None:
    with pytest.raises(InputError, match="scored by different rules, minirag and kirag"):
        compare(run_of("naive", [1]), run_of("naive", [1], scoring="kirag"), metric="recall@5")


def test_what_a_scoring_leaves_out_of_recall_is_left_out_of_the_comparison() -> None:
    dense, lexical = run_of("naive", [1, 1], scoring="kirag"), run_of("naive", [1, None], scoring="kirag")
    assert (dense.recall(5), lexical.recall(5)) == (1.0, 1.0)
    for metric in ("recall@5", "all_gold@5", "mrr"):
        found = compare(dense, lexical, metric=metric, rounds=10)
        assert (found.questions, found.difference) == (1, 0.0)
    assert compare(dense, lexical, metric="answer_hit@5", rounds=10).questions == 2
    none = run_of("naive", [None, None], scoring="kirag")
    assert compared([dense, none]) == []
