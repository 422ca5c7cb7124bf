"""The command line: answers that stream on a terminal, limits of cost, and the log."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minirag import Document, Index
from minirag.cli import program
from tests.loopback import Entry, Loopback, Served, honest

pty = pytest.importorskip("pty")  # not on Windows

QUESTION = "Who directed Aylwin?"
REPLY = json.dumps({"found": True, "answer": "Henry Edwards\u0007 directed it.", "items": [1]})
MODEL = ("--model", "openai/any", "--price", "10", "30")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("COLUMNS", "100")
    path = tmp_path / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(Document("aylwin", "Aylwin was directed by Henry Edwards.", "Aylwin (film)"), progress=False)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, [str(argument) for argument in arguments])


def on_terminal(*arguments: object) -> str:
    """What the command shows on a terminal, without colours."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "minirag", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "dumb"}):
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 4096):
                shown += some
        except OSError:  # how a terminal ends on Linux
            pass
    os.close(ours)
    return re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r\n", "\n")


def asked(script: list[Entry], notes: Path, *options: str) -> tuple[str, bool]:
    with Loopback(script) as server:
        shown = on_terminal("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base, *options)
    return shown, bool(server.requests[0].body.get("stream"))


def test_an_answer_streams_on_a_terminal(notes: Path) -> None:
    shown, streamed = asked([Served(text=REPLY, piece_delay=0.01)], notes)
    assert streamed
    assert shown.startswith("Henry Edwards directed it.\n\n[1] Aylwin (film)")
    assert re.search(r"openai/any, indexrag: 1 call, \$0\.0013, \d", shown)


def test_it_does_not_where_that_is_not_wanted_or_nobody_looks(notes: Path) -> None:
    shown, streamed = asked([REPLY], notes, "--no-stream")
    assert (streamed, shown.startswith("Henry Edwards directed it.\n\n[1] ")) == (False, True)
    with Loopback([REPLY]) as server:
        result = run("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base)
    assert result.stdout.startswith("Henry Edwards directed it.\n\n[1] ")
    assert "stream" not in server.requests[0].body


def test_what_was_repaired_is_shown_again(notes: Path) -> None:
    broken = json.dumps({"found": True, "answer": "Somebody.", "items": "one"})
    shown, _ = asked([broken, REPLY], notes)
    assert shown.startswith("Somebody.\nHenry Edwards directed it.\n\n[1] ")


def test_indexing_stops_at_a_cost_and_says_how_to_go_on(tmp_path: Path, notes: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"{name.upper()} Holm was born in Bergen.", encoding="utf-8")
    arguments = ("index", *(tmp_path / f"{name}.txt" for name in "abc"), "--index", notes, *MODEL)
    with Loopback(honest) as server:
        result = run(*arguments, "--api-base", server.api_base, "--max-cost", "0.0001")
        assert result.exit_code == 1
        assert "added 0, updated 0" in result.stdout
        assert "stopped at $0.0000 of max_cost=$0.0001: the next call may cost up to $0.0" in result.stderr
        assert server.requests == []
        assert run(*arguments, "--api-base", server.api_base, "--max-cost", "1").exit_code == 0
    shown = run("info", notes).stdout
    assert re.search(r"\n  extract +3 calls, \$0\.0\d+, ", shown)
    with Index(notes, mode="r", model="offline") as index:
        usage = index.info().usage
    assert json.loads(run("info", notes, "--json").stdout)["usage"] == usage.to_dict()
    assert usage.tasks["extract"].calls == 3


def test_a_price_needs_a_model(notes: Path) -> None:
    result = run("ask", QUESTION, "--index", notes, "--price", "1", "2")
    assert result.exit_code == 2
    assert "--price needs a --model" in result.stderr


@pytest.mark.parametrize(("flags", "levels"), [((), set()), (("-v",), {"INFO"}), (("-vv",), {"INFO", "DEBUG"})])
def test_the_log_is_shown_where_it_is_asked_for(notes: Path, flags: tuple[str, ...], levels: set[str]) -> None:
    with Loopback([REPLY]) as server:
        result = run("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base, *flags)
    assert set(re.findall(r"^\d\d:\d\d:\d\d ([A-Z]+) minirag", result.stderr, re.MULTILINE)) == levels
    assert ("answered by indexrag with openai/any: 1 call" in result.stderr) is bool(levels)
    assert "secret" not in result.stderr
