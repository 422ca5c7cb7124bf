"""Models and their limits on the command line, and Ctrl-C while a slow model is asked."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Index
from tests.interrupts import SOON, SlowModel, interrupt
from tests.loopback import Loopback, honest
from tests.test_cli import environment, run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        (folder / f"clerk{number}.txt").write_text(f"Clerk Nils{number} kept the ledgers of Holm{number // 2}.")
    return folder


def test_models_for_tasks(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    with Loopback(lambda request: replace(honest(request), delay=0.05)) as server:
        options = ["--model", "openai/plain", "--api-base", server.api_base, "--max-parallel", "2", "--timeout", "30"]
        result = run("index", corpus, "--index", path, *options, "--model-for", "bridge=openai/strong", "-q")
        assert (result.exit_code, result.output) == (0, "")
        models = {(task, r.body["model"]) for task, r in zip(server.tasks(), server.requests, strict=True)}
        assert models == {("extract", "plain"), ("bridge", "strong")}
        assert server.most_parallel == 2
        server.requests.clear()
        where = ["--api-base", server.api_base, "--json"]
        result = run("ask", "Who kept the ledgers?", "--index", path, "--model-for", "read=openai/strong", *where)
        assert json.loads(result.stdout)["model"] == "openai/strong"
        assert server.tasks() == ["read"]


def test_the_models_that_were_called_are_named(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    with Loopback(lambda request: replace(honest(request), usage=None)) as server:
        options = ["--model", "openai/plain", "--api-base", server.api_base]
        built = run("index", corpus, "--index", path, *options, "--model-for", "bridge=openai/strong")
        plain = run("ask", "Who kept the ledgers of Holm3?", "--index", path, "--json")
        assert plain.stderr.endswith("name one by --model or MINIRAG_MODEL (the index was built by openai/plain)\n")
        assert "built by openai/plain" in json.loads(plain.stdout)["trace"]["notes"][0]
        assert f"\nopenai/plain, openai/strong: {len(server.requests)} calls, tokens and cost unknown, " in built.stdout
        names = ["--strategy", "kirag", "--model-for", "read=openai/strong", "--model-for", "extend=openai/small"]
        asked = run("ask", "Who kept the ledgers of Holm3?", "--index", path, *options, *names)
        assert asked.stdout.splitlines()[-1].startswith("openai/strong, openai/small, kirag: ")
        assert {request.body["model"] for request in server.requests} == {"plain", "strong", "small"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--model-for", "reed=openai/any"], "models names the task 'reed'; there are extract, bridge, extend"),
        (["--model-for", "read"], "model must not be blank"),
        (["--timeout", "0"], "--timeout"),
    ],
)
def test_wrong_ones_are_wrong_usage(tmp_path: Path, wrong: list[str], told: str) -> None:
    result = run("ask", "Who?", "--index", tmp_path / "none.usearch", "--model", "openai/any", *wrong)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_stops_soon_keeps_what_was_paid_for_and_says_how_to_go_on(corpus: Path, tmp_path: Path) -> None:
    slow, path = SlowModel(0.5), tmp_path / "a.usearch"
    with Loopback(slow) as server:
        options = ["--model", "openai/any", "--api-base", server.api_base, "--max-parallel", "4"]
        command = [sys.executable, "-m", "minirag", "index", corpus, "--index", path, *options]
        ended = interrupt(command, slow, after=10, cwd=tmp_path, env=environment())
        before = [r.prompt for r in server.requests]
        assert (ended.code, ended.printed) == (130, "")
        assert "replies that were paid for are kept beside it" in ended.told
        assert "Run the same command again to go on" in ended.told
        assert ended.told_after < SOON
        assert ended.asked_for < SOON
        slow.delay = 0.0
        server.requests.clear()
        with Index(path, model="openai/any", api_base=server.api_base) as index:
            report = index.add(corpus, progress=False)
    asked = [r.prompt for r in server.requests if '"task": "extract"' in r.prompt]
    again = set(asked) & set(before)
    assert report.failed == ()
    assert len(asked) + len(before) - len(again) == 40
    assert len(again) <= 4  # what was on its way


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_before_the_first_reply_tells_of_none(corpus: Path, tmp_path: Path) -> None:
    slow = SlowModel(20.0)
    with Loopback(slow) as server:
        options = ["--index", "a.usearch", "--model", "openai/any", "--api-base", server.api_base]
        command = [sys.executable, "-m", "minirag", "index", corpus, *options]
        ended = interrupt(command, slow, after=1, cwd=tmp_path, env=environment())
    told = "Interrupted. a.usearch is not kept, as nothing came into it. Run the same command again.\n"
    assert (ended.code, ended.printed, ended.told) == (130, "", told)
    assert list(tmp_path.glob("a.usearch*")) == []
    assert ended.told_after < SOON


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_question_soon(corpus: Path, tmp_path: Path) -> None:
    slow, path = SlowModel(20.0), tmp_path / "a.usearch"
    with Index(path, model="offline") as index:
        index.add(corpus, progress=False)
    with Loopback(slow) as server:
        options = ["--index", path, "--model", "openai/any", "--api-base", server.api_base]
        command = [sys.executable, "-m", "minirag", "ask", "Who kept the ledgers of Holm3?", *options]
        ended = interrupt(command, slow, after=1, cwd=tmp_path, env=environment())
    assert (ended.code, ended.printed, ended.told) == (130, "", "Interrupted.\n")
    assert ended.told_after < SOON
    assert ended.asked_for < 0
