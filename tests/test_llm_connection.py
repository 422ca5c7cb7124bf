"""What a model has open: each process its own, and indexes share a model that neither of them made."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.evaluation.honest import honest_reply
from minirag.llm import LLM
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, honest
from tests.test_llm import ASK

ONE = Document("a", "Aylwin was directed by Henry Edwards.", "Aylwin")

_FORKING = """
import asyncio, os, sys, threading, time
from minirag import loop
from minirag.llm import LLM
from minirag.records import Ledger
model, base, how = sys.argv[1:]
llm = LLM(model, api_base=base, api_key="key", max_parallel=1)
def say(text):
    return loop.run(llm.complete([{"role": "user", "content": text}], task="read", ledger=Ledger()))
assert say("warm") == "warm"
if how == "open":  # the only place is taken as it forks
    threading.Thread(target=say, args=("slow",), daemon=True).start()
    time.sleep(0.3)
child = os.fork()
who = "parent" if child else "child"
good = all(say(f"{who} {i}") == f"{who} {i}" for i in range(5))
if not child:
    loop.run(llm.close())
    os._exit(0 if good else 5)
ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert say("after") == "after"
sys.exit(ended if good else 6)
"""


def echo(request: Request) -> Served:
    text = str(request.body["messages"][-1]["content"])
    return Served(text=text, delay=1.0 if text == "slow" else 0.05)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("how", ["idle", "open"])
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_a_forked_child_and_its_parent_each_get_their_own_answers(model: str, how: str) -> None:
    with Loopback(echo) as server:
        command = [sys.executable, "-W", "ignore", "-c", _FORKING, model, server.api_base, how]
        done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def replying(messages: Any) -> str:  # noqa: ANN401
    return json.dumps(honest_reply(messages[-1]["content"]))


def test_a_model_that_the_caller_made_serves_one_index_after_another(tmp_path: Path) -> None:
    path, model = tmp_path / "a.usearch", LLM(replying)
    with Index(path, model=model) as index:
        assert index.add([ONE]).added == ("a",)
    for _ in range(2):
        assert ask("Who directed Aylwin?", path, model=model).found
    until = time.monotonic() + 5
    while any(thread.name.startswith("minirag-function") for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_one_index_closes_no_connection_that_another_uses(tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    asked, goes_on = threading.Event(), threading.Event()

    def patient(messages: Any) -> str:  # noqa: ANN401
        if '"read"' in messages[-1]["content"].split("\n")[0]:
            asked.set()
            assert goes_on.wait(30)
        return replying(messages)

    model = LLM(patient, max_parallel=3)
    with Index(path, model=model) as index:
        index.add([ONE])
        texts: list[str] = []
        question = "Who directed Aylwin?"
        askers = [threading.Thread(target=lambda: texts.append(ask(question, index).text)) for _ in range(2)]
        for asker in askers:
            asker.start()
        assert asked.wait(30)
        with Index(tmp_path / "b.usearch", model=model) as other:
            assert other.add([ONE]).failed == ()
        goes_on.set()
        for asker in askers:
            asker.join()
    assert texts == ["Aylwin was directed by Henry Edwards."] * 2


def test_nothing_is_left_open_where_only_the_indexes_are_closed(tmp_path: Path) -> None:
    code = f"""
from minirag import Document, Index, ask
from minirag.llm import LLM
import sys
path, base = sys.argv[1:]
model = LLM("openai/any", api_base=base)
with Index(path, model=model) as index:
    index.add([Document("a", {ONE.text!r}, "Aylwin")])
print(ask("Who directed Aylwin?", path, model=model))
del model
"""
    with Loopback(lambda request: replace(honest(request), delay=0.05)) as server:
        command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", code]
        command += [str(tmp_path / "a.usearch"), server.api_base]
        done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("Aylwin was directed by Henry Edwards.\n", 0)
    assert "ResourceWarning" not in done.stderr


def test_a_closed_model_opens_again() -> None:
    async def main(base: str) -> list[str]:
        model = LLM("openai/any", api_base=base)
        texts = []
        for _ in range(2):
            texts.append(await model.complete(ASK, task="read", ledger=Ledger()))
            await model.close()
        return texts

    with Loopback(["one", "two"]) as server:
        assert asyncio.run(main(server.api_base)) == ["one", "two"]
