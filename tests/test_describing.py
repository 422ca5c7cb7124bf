from __future__ import annotations

from minirag.evaluation.describing import describe_run, differing_conditions, differing_traits
from minirag.evaluation.results import QuestionResult, Run, table


def run_of(strategy: str = "indexrag", *, dataset: str = "films", model: str = "offline", **settings: object) -> Run:
    results = (QuestionResult("q1", ranks=(1,), documents=("d",)),)
    given = {"encoder": "shipped", "index_model": "offline", "limit": None, "seed": 0, "scoring": "minirag"}
    return Run(dataset, strategy, model, results, 1, 1, {**given, **settings}, {"minirag": "1"})


def test_alone_a_run_is_its_strategy_with_options() -> None:
    assert describe_run(run_of(k=3, options={"k_b": 1})) == "indexrag (k=3, k_b=1)"
    runs = [run_of(), run_of("naive", encoder="other"), run_of(dataset="songs", scoring="kirag")]
    assert [describe_run(run, runs) for run in runs] == ["indexrag", "naive", "indexrag"]


def test_runs_that_are_called_alike_tell_what_they_differ_in() -> None:
    runs = [
        run_of(),
        run_of(scoring="kirag"),
        run_of(encoder="other"),
        run_of(limit=5, seed=3),
        run_of(model="openai/x", options={"k_b": 0}),
        run_of(index_model="openai/x", options={"k_b": 0}, read=False),
    ]
    names = [describe_run(run, runs) for run in runs]
    assert names == [
        "indexrag (encoder=shipped, scoring=minirag, questions=all)",
        "indexrag (encoder=shipped, scoring=kirag, questions=all)",
        "indexrag (encoder=other, scoring=minirag, questions=all)",
        "indexrag (encoder=shipped, scoring=minirag, questions=5 by seed 3)",
        "indexrag (k_b=0, model=openai/x, indexed_by=offline, read=yes)",
        "indexrag (k_b=0, model=offline, indexed_by=openai/x, read=no)",
    ]
    rows = table(runs).splitlines()[2:]
    assert [row.split("|")[2].strip() for row in rows] == names


def test_runs_that_differ_in_nothing_are_numbered() -> None:
    runs = [run_of(), run_of(), run_of(encoder="other")]
    assert [describe_run(run, runs) for run in runs] == [
        "indexrag (encoder=shipped, run=1)",
        "indexrag (encoder=shipped, run=2)",
        "indexrag (encoder=other)",
    ]


def test_runs_with_the_same_traits_tell_vectors_and_index() -> None:
    runs = [
        run_of(encoder_fingerprint="a" * 64, index={"content": "c" * 64}),
        run_of(encoder_fingerprint="b" * 64, index={"content": "c" * 64}),
        run_of(encoder="other", encoder_fingerprint="d" * 64),
    ]
    assert [describe_run(run, runs) for run in runs] == [
        "indexrag (encoder=shipped, vectors=aaaaaaaa)",
        "indexrag (encoder=shipped, vectors=bbbbbbbb)",
        "indexrag (encoder=other)",
    ]
    assert differing_conditions(runs[0], runs[1]) == ["encoder"]
    assert differing_conditions(runs[0], runs[2]) == ["encoder"]
    assert differing_conditions(runs[0], run_of()) == []  # a file of before, which has no fingerprint


def test_models_of_tasks_and_prompts_are_conditions() -> None:
    runs = [run_of(), run_of(models={"read": "openai/x"}), run_of(prompts={"read": {"system": "Be brief."}})]
    assert [describe_run(run, runs) for run in runs] == [
        "indexrag (models=one, prompts=standard)",
        "indexrag (models=read:openai/x, prompts=standard)",
        "indexrag (models=one, prompts=19d22e1e)",
    ]
    assert differing_conditions(runs[1], runs[2]) == ["models", "prompts"]


def test_a_seed_without_a_sample_says_nothing() -> None:
    assert differing_traits(run_of(seed=1), [run_of(seed=1), run_of(seed=2)]) == {}
