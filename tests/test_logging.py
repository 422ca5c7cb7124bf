"""What minirag tells the standard library's logging: nothing set up, no prompt above DEBUG, never a key."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from minirag import Document, Index, ask, stream
from minirag.errors import MiniragError
from minirag.llm import Retries
from tests.loopback import Loopback, Request, Served, honest, status

KEY = "pw-0123456789-very-secret"
DOCUMENT = Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)")
QUESTION = "Who directed Aylwin?"


def opened(path: Path, server: Loopback) -> Index:
    return Index(path, model="openai/any", api_base=server.api_base, retries=Retries(attempts=2, first_wait=0.001))


def test_importing_sets_nothing_up() -> None:
    code = """
import logging
import minirag, minirag.cli, minirag.index, minirag.answering, minirag.llm
logger = logging.getLogger("minirag")
print(logger.handlers, logger.level, logger.propagate, logging.getLogger().handlers)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 0 True []"


def test_what_is_told_at_which_level(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level("DEBUG", logger="minirag")

    def serve(request: Request) -> Served:  # quotes what it was sent, as some servers do
        if len(server.requests) in (1, 3):
            return status(500, f"cannot do {request.prompt} for {request.headers['authorization']}")
        if "temperature" in request.body:
            return status(400, f"no temperature with {request.prompt}", param="temperature")
        return honest(request)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENT, progress=False)
        list(stream(QUESTION, index))
        ask(QUESTION, index)
    told = [record for record in caplog.records if record.name.startswith("minirag")]
    above = [record.getMessage() for record in told if record.levelno > logging.DEBUG]
    assert any("answered by indexrag with openai/any: 1 call" in message for message in above)
    assert any("added 1, updated 0, unchanged 0, failed 0" in message for message in above)
    assert any("openai/any refuses temperature, which is left out from now on" in message for message in above)
    assert not any("Aylwin" in message or "Henry" in message for message in above)
    below = " ".join(record.getMessage() for record in told if record.levelno == logging.DEBUG)
    assert "Aylwin" in below
    assert "read by openai/any, json_schema: 1 attempts" in below
    assert KEY not in " ".join(record.getMessage() for record in told)


@pytest.mark.parametrize("code", [401, 400, 500])
def test_a_key_is_nowhere_even_if_the_server_repeats_it(
    tmp_path: Path, code: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level("DEBUG")
    with Index(tmp_path / "notes.usearch", model="offline") as index:
        index.add(DOCUMENT, progress=False)
    with (
        Loopback(lambda _: status(code, f"Incorrect API key provided: {KEY}")) as server,
        opened(tmp_path / "notes.usearch", server) as index,
        pytest.raises(MiniragError, match=r"Incorrect API key provided: \[key\]") as caught,
    ):
        ask(QUESTION, index)
    told = "".join(traceback.format_exception(caught.value))
    told += " ".join(r.getMessage() for r in caplog.records if r.name.startswith("minirag"))
    assert KEY not in told + json.dumps(vars(caught.value), default=str)


def test_the_trace_is_json_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def serve(request: Request) -> Served:
        return status(500, KEY) if len(server.requests) == 2 else honest(request)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENT, progress=False)
        answer = ask(QUESTION, index, strategy="ircot", steps=2)
    trace = json.loads(answer.trace.to_json())
    assert trace == json.loads(json.dumps(answer.to_dict()["trace"]))
    assert (trace["strategy"], len(trace["searches"])) == ("ircot", len(answer.steps))
    assert trace["searches"][0]["query"] == QUESTION
    assert 0 < trace["searches"][0]["seconds"] <= trace["retrieval_seconds"] <= trace["seconds"]
    first, last = trace["calls"][0], trace["calls"][-1]
    assert (first["task"], first["model"], first["mode"], first["attempts"]) == (
        "think",
        "openai/any",
        "json_schema",
        2,
    )
    assert last["task"] == "read"
    assert set(last["usage"]) == {
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "cost",
        "seconds",
        "uncounted",
    }
    assert (last["usage"]["cost"], last["error"]) == (None, None)
    assert KEY not in answer.trace.to_json()


def test_one_shot_and_offline_answers_have_a_trace_too(tmp_path: Path) -> None:
    with Index(tmp_path / "notes.usearch", model="offline") as index:
        index.add(DOCUMENT, progress=False)
        trace = ask(QUESTION, index, strategy="naive").trace
    assert (trace.strategy, trace.calls, [search.query for search in trace.searches]) == ("naive", (), [QUESTION])
    assert trace.searches[0].hits == 1
