from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from minirag.errors import InputError, OutputError
from minirag.evaluation.datasets import Question
from minirag.evaluation.results import QuestionResult
from minirag.evaluation.resuming import ResultLog, name_run
from minirag.records import Usage

QUESTIONS = [Question("q1", "Who?", ("x",), ("d1",)), Question("q2", "Wo\u2028?", ("y",))]
FIRST = QuestionResult(
    "q1", ranks=(3,), documents=("d2", "d1"), passages=("d2#0",), answer="é\u2028", usage=Usage(calls=1, cost=None)
)
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
        assert (log.done["q1"].passages, log.done["q2"].passages) == (FIRST.passages, ())


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
    with pytest.raises(OutputError, match=r"run\.jsonl: cannot be written: its folder .*missing is gone"):
        open_log(tmp_path / "missing" / "run.jsonl")
    with pytest.raises(InputError, match="is no file of results that a run left, but a folder or a device"):
        open_log(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_log(path) as log:
        log.append(FIRST)
        with pytest.raises(InputError, match=r"run\.jsonl: another run is writing its results there\. Wait .* --runs"):
            open_log(path, QUESTIONS[1:])
        command = [sys.executable, "-c", OPENING, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr.splitlines()[-1].startswith(
            f"minirag.errors.InputError: {path}: process {os.getpid()} is writing its results there. Wait until it is"
        )
        log.append(SECOND)
    with open_log(path, QUESTIONS) as log:
        assert log.done == {"q1": FIRST, "q2": SECOND}
    assert list(tmp_path.iterdir()) == [path]


OPENING = """
import sys
from minirag.evaluation.resuming import ResultLog, name_run
ResultLog(sys.argv[1], conditions={}, questions=[])
"""


def test_a_log_that_is_refused_or_closed_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    open_log(path).__exit__(None, None, None)
    for _ in range(2):
        with pytest.raises(InputError, match="of another run"):
            ResultLog(path, conditions={}, questions=QUESTIONS)
    assert list(tmp_path.iterdir()) == [path]


FILLING = """
import resource, sys
from minirag.errors import OutputError
from tests.test_resuming import FIRST, SECOND, open_log
from pathlib import Path
path = Path(sys.argv[1])
with open_log(path) as log:
    log.append(FIRST)
    size = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
    try:
        log.append(SECOND)
    except OutputError as error:
        print(error)
    print(path.stat().st_size == size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.append(SECOND)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size there")
def test_a_log_that_may_not_grow_says_so_and_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-c", FILLING, str(path)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=root)
    assert done.stdout.splitlines() == [
        f"{path}: cannot be written: File too large. What it holds is kept, and the same run goes on from there",
        "True",
    ]
    with open_log(path) as log:
        assert log.done == {"q1": FIRST, "q2": SECOND}
        assert (log.done["q1"].passages, log.done["q2"].passages) == (FIRST.passages, ())


def test_lone_surrogates_come_back(tmp_path: Path) -> None:
    path, question = tmp_path / "run.jsonl", Question("q\ud83d", "Wo\ud83d?", ("y\ud83d",))
    result = replace(SECOND, id="q\ud83d", answer="y\ud83d")
    with open_log(path, [question]) as log:
        log.append(result)
    with open_log(path, [question]) as log:
        assert log.done == {"q\ud83d": result}


@pytest.mark.parametrize("name", ["数" * 80, "é" * 250, "x" * 250, "ab" + "数" * 60])
def test_the_name_of_a_run_fits_a_file(name: str) -> None:
    named = name_run({"dataset": name, "strategy": "naive", "options": {}, "model": "offline"})
    assert 140 < len(f"{named}.jsonl.lock".encode()) < 200
