from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minirag.errors import InputError, OutputError
from minirag.evaluation.results import QuestionResult, Run, format_table, read_runs, table, write_runs
from minirag.records import Failure, Usage

RESULTS = (
    QuestionResult(
        id="q1",
        type="bridge",
        ranks=(1, 4),
        answer_rank=4,
        documents=("d1", "d3", "d4", "d2"),
        answer="Weston, Somerset",
        found=True,
        em=0.0,
        f1=0.5,
        accuracy=1.0,
        usage=Usage(calls=1, prompt_tokens=300, completion_tokens=10, cost=0.25, seconds=9.0),
        seconds=0.5,
        retrieval_seconds=0.02,
    ),
    QuestionResult(id="q2", ranks=(None,), em=0.0, f1=0.0, accuracy=0.0, error="server gone", retrieval_seconds=0.04),
    QuestionResult(
        id="q3",
        answer_rank=1,
        documents=("d2",),
        answer="yes",
        found=True,
        em=1.0,
        f1=1.0,
        accuracy=1.0,
        usage=Usage(calls=3, prompt_tokens=600, completion_tokens=5, cost=0.5, seconds=1.0),
        seconds=1.5,
        retrieval_seconds=0.03,
    ),
    QuestionResult(id="q4", ranks=(2,), answer="No idea.", found=False, em=0.0, f1=0.0, accuracy=0.0, seconds=0.25),
)
RUN = Run("films", "indexrag", "openai/x", RESULTS, 2_500_000, 1234, {"k": 10}, {"minirag": "0"})


def test_contract() -> None:
    entry = RUN.to_dict()
    results = entry.pop("results")
    assert entry == {
        "dataset": "films",
        "strategy": "indexrag",
        "model": "openai/x",
        "questions": 4,
        # q1, q2 and q4 name gold documents: q2 failed and counts as not found.
        "recall": {"2": 0.5, "3": 0.5, "5": 2 / 3, "10": 2 / 3},
        "all_gold": {"2": 1 / 3, "3": 1 / 3, "5": 2 / 3, "10": 2 / 3},
        "mrr": 0.5,
        "answer_hit": {"2": 0.25, "3": 0.25, "5": 0.5, "10": 0.5},
        "em": 0.25,
        "f1": 0.375,
        "accuracy": 0.5,
        "not_found": 1,
        "calls_per_question": 1.0,
        "prompt_tokens_per_question": 225.0,
        "completion_tokens_per_question": 3.75,
        "seconds_per_question": 0.75,
        "retrieval_seconds_per_question": 0.03,
        "cost": 0.75,
        "index_bytes": 2_500_000,
        "passages": 1234,
        "failed": [{"id": "q2", "reason": "server gone"}],
        "settings": {"k": 10},
        "versions": {"minirag": "0"},
    }
    assert [result["id"] for result in results] == ["q1", "q2", "q3", "q4"]
    assert results[0]["ranks"] == (1, 4)


def test_what_does_not_apply_is_none() -> None:
    entry = Run("films", "naive", "offline", (QuestionResult("q1", retrieval_seconds=0.5),), 1, 1).to_dict()
    assert entry["recall"] == entry["all_gold"] == {"2": None, "3": None, "5": None, "10": None}
    assert [entry[key] for key in ("mrr", "em", "f1", "accuracy", "seconds_per_question")] == [None] * 5
    assert entry["retrieval_seconds_per_question"] == 0.5


def test_an_unknown_price_makes_the_cost_unknown() -> None:
    run = Run("films", "naive", "x", (*RESULTS, QuestionResult("q5", usage=Usage(calls=1, cost=None))), 1, 1)
    assert run.to_dict()["cost"] is None
    assert "|    ? |" in table([run])


def test_failed() -> None:
    assert RUN.failed == (Failure("q2", "server gone"),)


def test_runs_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    write_runs([RUN, RUN], path)
    assert read_runs(path) == (RUN, RUN)
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["runs"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"results": []}, "runs[1]: results is empty"),
        ({"results": None}, "runs[1].results: input should be a valid array"),
        ({"strategy": 3}, "runs[1].strategy: input should be a valid string"),
        ({"passages": "3"}, "runs[1].passages: input should be a valid integer"),
        ({"settings": []}, "runs[1].settings: input should be an object"),
        ({"settings": {"options": [1]}}, "runs[1]: settings.options is [1], not an object"),
        ({"settings": {"limit": "x"}}, "runs[1]: settings.limit is 'x', not a number"),
        ({"settings": {"scoring": "x"}}, "runs[1]: settings.scoring is 'x', not minirag, kirag, indexrag"),
        ({"results": [{"id": "q1"}]}, "runs[1]: 'ranks' is missing"),
    ],
)
def test_what_is_wrong_in_a_run_is_named(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    entry = json.loads(json.dumps(RUN.to_dict()))
    _check_refusal(tmp_path / "runs.json", {"runs": [entry, {**entry, **change}]}, reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"usage": None}, "runs[0].results[1].usage: input should be"),
        ({"f1": "x"}, "runs[0].results[1].f1: input should be a valid number"),
        ({"ranks": [0]}, "runs[0]: results[1]: a rank is below 1"),
        ({"ranks": ["a"]}, "runs[0].results[1].ranks[0]: input should be a valid integer"),
        ({"more": 1}, "unexpected keyword argument 'more'"),
    ],
)
def test_what_is_wrong_in_a_result_is_named(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    entry = json.loads(json.dumps(RUN.to_dict()))
    entry["results"][1] |= change
    _check_refusal(tmp_path / "runs.json", {"runs": [entry]}, reason)


def _check_refusal(path: Path, content: dict[str, Any], reason: str) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(reason)) as raised:
        read_runs(path)
    assert str(raised.value).startswith(f"{path}: is no file of runs, as `minirag eval --json` writes it: ")


def test_halves_of_characters_come_back(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    run = replace(RUN, results=(replace(RESULTS[0], answer="a\udce9 \\ud83d \U0001f600"),))
    write_runs([run], path)
    assert read_runs(path) == (run,)


def test_broken_run_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    for text in ("", "[]", "[" * 100_000, '{"runs": [{}]}', '{"results": []}', "{}"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"runs\.json: is no file of runs"):
            read_runs(path)
    with pytest.raises(OutputError, match=r"missing/runs\.json: could not be written: No such file or directory"):
        write_runs([RUN], tmp_path / "missing" / "runs.json")


def test_passages_are_for_going_on_and_not_in_the_contract(tmp_path: Path) -> None:
    run = replace(RUN, results=(replace(RESULTS[0], passages=("d1#0", "d3#0")),))
    write_runs([run], tmp_path / "runs.json")
    assert "passages" not in run.to_dict()["results"][0]
    assert read_runs(tmp_path / "runs.json") == (run,)


def test_table() -> None:
    head, rule, row = (line.replace(" ", "") for line in table([RUN]).split("\n"))
    named = "|dataset|strategy|model|questions|R@2|R@3|R@5|R@10|hit@5|EM|F1|Acc|calls|ms|retrievalms"
    assert head == f"{named}|cost|indexMB|passages|"
    assert set(rule) == set("|-:")
    assert (
        row
        == "|films|indexrag(k=10)|openai/x|4|50.0|50.0|66.7|66.7|50.0|25.0|37.5|50.0|1.0|750.0|30.0|$0.75|2.5|1,234|"
    )
    assert len({len(line) for line in table([RUN]).split("\n")}) == 1


def test_bars_in_cells_are_escaped() -> None:
    assert format_table(["a", "b"], [["x|y", "1"]], left=1) == "| a    |   b |\n| ---- | --: |\n| x\\|y |   1 |"
