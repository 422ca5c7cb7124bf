from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minirag.errors import InputError
from minirag.evaluation.datasets import Question
from minirag.evaluation.results import QuestionResult
from minirag.evaluation.resuming import ResultLog
from minirag.records import Usage

QUESTIONS = [Question("q1", "Who?", ("x",), ("d1",)), Question("q2", "Wo\u2028?", ("y",))]
FIRST = QuestionResult("q1", ranks=(3,), documents=("d2", "d1"), answer="é\u2028", usage=Usage(calls=1, cost=None))
SECOND = QuestionResult("q2", answer="y", em=1.0)
CONDITIONS = {"model": "x", "k": 10, "options": {"k_b": 3}, "several": ("a",)}


def open_log(path: Path, questions: list[Question] = QUESTIONS) -> ResultLog:
    return ResultLog(path, conditions=CONDITIONS, questions=questions)


def test_results_come_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_log(path) as log:
        assert log.done == {}
        log.append(FIRST)
    with open_log(path) as log:
        assert log.done == {"q1": FIRST}
        log.append(SECOND)
    with open_log(path) as log:
        assert log.done == {"q1": FIRST, "q2": SECOND}


def test_failed_questions_are_not_kept(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.jsonl") as log:
        log.append(replace(FIRST, error="server gone"))
    with open_log(tmp_path / "run.jsonl") as log:
        assert log.done == {}


def test_results_of_other_or_changed_questions_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_log(path) as log:
        log.append(FIRST)
        log.append(SECOND)
    with open_log(path, [replace(QUESTIONS[0], answers=("z",)), Question("q3", "Who?", ("x",))]) as log:
        assert log.done == {}
    with open_log(path, QUESTIONS[1:]) as log:
        assert log.done == {"q2": SECOND}


def test_every_torn_tail_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_log(path) as log:
        log.append(FIRST)
        length = path.stat().st_size
        log.append(SECOND)
    data = path.read_bytes()
    for cut in (20, length - 1, length, length + 1, len(data) - 1):
        path.write_bytes(data[:cut])
        with open_log(path) as log:
            assert log.done == ({"q1": FIRST} if cut >= length else {})
            log.append(SECOND)
        with open_log(path) as log:
            assert log.done == ({"q1": FIRST} if cut >= length else {}) | {"q2": SECOND}


def test_other_conditions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    open_log(path).__exit__(None, None, None)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"of another run \(k 10, now 5; seed None, now 1\)\. Delete it"):
        ResultLog(path, conditions={**CONDITIONS, "k": 5, "seed": 1}, questions=QUESTIONS)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", [b"my notes", b"my\nnotes\n", b"\xff\n", b"[]\n", b"{}\n", b'{"conditions": \n'])
def test_a_file_of_something_else_is_refused_and_kept(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run\.jsonl: is no file of results that a run left"):
        open_log(path)
    assert path.read_bytes() == data


def test_unusable_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        open_log(tmp_path / "missing" / "run.jsonl")
