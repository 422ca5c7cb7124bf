"""`add` killed with SIGKILL at random points, again and again: nothing is paid for twice, and the index is the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.storage.journal import Journal
from tests.loopback import Loopback, Request, Served, honest
from tests.stored import contents_of, make_documents

MODEL = "openai/honest"
DOCUMENTS = 40
PARALLEL = 4

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be killed that way there")


def slow_and_honest(request: Request) -> Served:
    served = honest(request)
    return Served(text=served.text, usage=served.usage, delay=0.02)


def run_add(path: str, api_base: str) -> None:
    """What the killed process does."""
    with Index(path, model=MODEL, api_base=api_base, api_key="none", max_parallel=PARALLEL) as index:
        print("opened", flush=True)  # noqa: T201
        index.add(make_documents(DOCUMENTS), progress=False)


def start_add(path: Path, api_base: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.test_killed", str(path), api_base]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def add_until_done(path: Path, server: Loopback, dice: random.Random) -> int:
    """Kill at random points, later and later, until a run comes through; how many were killed."""
    kills = 0
    while True:
        child = start_add(path, server.api_base)
        assert child.stdout is not None
        child.stdout.readline()
        deadline = time.monotonic() + dice.uniform(0.0, 0.3 + 0.2 * kills)
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        child.kill()
        child.stdout.close()
        if child.wait() == 0:
            return kills
        kills += 1
        assert kills < 60


def asked_of(server: Loopback) -> Counter[str]:
    """How often each single question was asked: a passage, or one entity of a bridging call."""
    asked: Counter[str] = Counter()
    for request in server.requests:
        data = json.loads(request.prompt.split("\n", 1)[0])
        if data["task"] == "extract":
            asked[data["passage"]] += 1
        else:
            asked.update(json.dumps([entity["name"], entity["facts"]]) for entity in data["entities"])
    return asked


def entities_per_call(server: Loopback) -> int:
    questions = [json.loads(request.prompt.split("\n", 1)[0]) for request in server.requests]
    return max(len(question.get("entities", "1")) for question in questions)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    with Loopback(slow_and_honest) as server:
        with Index(tmp_path / "whole.usearch", model=MODEL, api_base=server.api_base, api_key="none") as index:
            index.add(make_documents(DOCUMENTS), progress=False)
            expected = contents_of(index.snapshot)
        once = asked_of(server)
    assert set(once.values()) == {1}
    dice = random.Random(3)
    kills = twice = 0
    for attempt in range(2):
        path = tmp_path / f"killed{attempt}.usearch"
        with Loopback(slow_and_honest) as server:
            killed = add_until_done(path, server, dice)
            asked = asked_of(server)
        assert set(asked) == set(once)
        assert sum(asked.values()) - len(once) <= killed * PARALLEL * entities_per_call(server)
        kills += killed
        twice += sum(asked.values()) - len(once)
        with Index(path, mode="r") as index:
            assert contents_of(index.snapshot) == expected
        assert sorted(file.name for file in tmp_path.glob(f"killed{attempt}.*")) == [
            f"killed{attempt}.usearch",
            f"killed{attempt}.usearch.lock",
        ]
        assert Index.verify(path).whole
    assert kills >= 8
    print(f"{kills} kills, {twice} questions asked twice, {2 * len(once)} in all")  # noqa: T201


def test_only_what_was_in_flight_is_asked_again(tmp_path: Path) -> None:
    """Killed at a known point: the server has answered so many, and the process is stopped in the midst of the rest."""
    path = tmp_path / "notes.usearch"
    with Loopback(slow_and_honest) as server:
        child = start_add(path, server.api_base)
        while len(server.requests) < 20:
            time.sleep(0.001)
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        kept, before = len(Journal(path)), len(server.requests)
        assert before - PARALLEL <= kept <= before
        with Index(path, model=MODEL, api_base=server.api_base, api_key="none") as index:
            report = index.add(make_documents(DOCUMENTS), progress=False)
            of_the_killed = index.info().usage.calls - report.usage.calls
        extracted = server.tasks().count("extract")
    assert len(report.added) == DOCUMENTS
    assert extracted - DOCUMENTS == before - kept
    assert report.usage.calls == len(server.requests) - before
    assert kept <= of_the_killed <= before  # the totals hold all that the killed run was answered
    assert not Journal(path).path.exists()


def test_other_runs_keep_what_a_killed_one_paid_for(tmp_path: Path) -> None:
    """Only what tells of a deleted document goes with it, although that document was never committed."""
    path = tmp_path / "notes.usearch"
    with Loopback(slow_and_honest) as server:
        child = start_add(path, server.api_base)
        while len(server.requests) < 20:
            time.sleep(0.001)
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        kept, before = len(Journal(path)), len(server.requests)
        with Index(path, model=MODEL, api_base=server.api_base, api_key="none") as index:
            index.add(Document("other", "Lake Lugano is deep."), progress=False)
            assert index.delete(["other", "doc0"], progress=False).missing == ("doc0",)
            assert len(Journal(path)) == kept - 1
            assert b"The Harbour Book 0 " not in Journal(path).path.read_bytes()
            index.add(make_documents(DOCUMENTS), progress=False)
        assert server.tasks().count("extract") == DOCUMENTS + (before - kept) + 1 + 1
    assert not Journal(path).path.exists()


if __name__ == "__main__":
    run_add(*sys.argv[1:])
