"""Chains by a model that are stopped on the way go on, and pay for nothing twice."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minirag.cli import program
from minirag.errors import LLMSetupError
from minirag.evaluation.faults import status
from minirag.evaluation.loopback import Loopback, Request, Served, honest
from minirag.storage.journal import Journal
from minirag.training.picking import pick_chain
from tests.extras import need
from tests.test_picking import EXAMPLE, pick
from tests.test_reasoner_by_llm import think_with
from tests.test_silver import FILM, MAN
from tests.tiny_questions import questions, write_base, write_questions

pytestmark = pytest.mark.extra
need("torch")

PASSAGES = len({(title, "".join(text)) for entry in questions() for title, text in entry["context"]})
NO_CREDIT = status(402, "insufficient credit", code="insufficient_quota")
KNOWN = {"known": True, "answer": "Weston-super-Mare", "next": []}


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    files, base = write_questions(tmp_path), write_base(tmp_path / "base")
    chains = ["--stage", "chains", "--model", "openai/any", "--quiet"]
    return ["train", str(files), "--base", str(base), "--out", str(tmp_path / "out"), *chains]


def run(command: list[str], server: Loopback) -> Result:
    return CliRunner().invoke(program, [*command, "--api-base", server.api_base])


def test_replies_are_kept_when_the_credit_ends(command: list[str], tmp_path: Path) -> None:
    answered = 10

    def until_the_credit_ends(request: Request) -> Served:
        served = len(server.requests)
        return honest(request) if served <= answered else NO_CREDIT

    with Loopback(until_the_credit_ends) as server:
        result = run(command, server)
    assert result.exit_code == 1
    assert (
        f"insufficient credit. What was paid for is kept, {answered} replies: the same command goes on" in result.output
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["chains.jsonl.replies"]
    with Loopback(honest) as server:
        assert run(command, server).exit_code == 0
        assert len(server.requests) == PASSAGES - answered
    assert not (tmp_path / "out" / "chains.jsonl.replies").exists()
    whole = (tmp_path / "out" / "chains.jsonl").read_bytes()
    command[command.index("--out") + 1] = str(tmp_path / "other")
    with Loopback(honest) as server:
        assert run(command, server).exit_code == 0
    assert (tmp_path / "other" / "chains.jsonl").read_bytes() == whole


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_replies_are_kept_when_it_is_stopped(command: list[str], how: signal.Signals) -> None:
    with Loopback(lambda request: replace(honest(request), delay=0.2)) as server:
        given = [*command, "--api-base", server.api_base, "--max-parallel", "2"]
        process = subprocess.Popen([sys.executable, "-m", "minirag", *given], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.requests) < PASSAGES - 4 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(how)
        process.wait()
        assert run(command, server).exit_code == 0
        in_flight = 0 if how == signal.SIGINT else 16
        assert len(server.requests) <= PASSAGES + in_flight


def test_what_the_constructor_picked_is_not_asked_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "chains.jsonl") as journal, pytest.raises(LLMSetupError, match="insufficient credit"):
        think_with([pick(1), NO_CREDIT], lambda reasoner: pick_chain(EXAMPLE, [FILM, MAN], reasoner, journal=journal))
    for left in ([pick(2), KNOWN], []):
        with Journal(tmp_path / "chains.jsonl") as journal:
            chain, server, _ = think_with(
                list(left), lambda reasoner: pick_chain(EXAMPLE, [FILM, MAN], reasoner, journal=journal)
            )
        assert len(chain) == 2
        assert server.tasks() == ["extend"] * len(left)


def test_half_a_character_reaches_no_provider(command: list[str], tmp_path: Path) -> None:
    given = questions()
    given[0]["context"][1][1][0] += " \ud83d."
    given[0]["question"] += " \ud83d?"
    Path(command[1]).write_text(json.dumps(given), encoding="utf-8")
    with Loopback(honest) as server:
        assert run(command, server).exit_code == 0
    assert (tmp_path / "out" / "chains.jsonl").exists()


def test_a_passage_whose_reply_cannot_be_used_leaves_its_questions_out(command: list[str], tmp_path: Path) -> None:
    def refusing(request: Request) -> Served:
        return Served(refusal="I cannot") if "Adams was born" in request.prompt else honest(request)

    with Loopback(refusing) as server:
        result = run(command, server)
    assert result.exit_code == 0
    assert "left out: q0: openai/any: " in result.output
    lines = (tmp_path / "out" / "chains.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"q{number}" for number in range(1, 11)]


def test_a_fault_of_the_setup_leaves_no_question_out(command: list[str], tmp_path: Path) -> None:
    with Loopback(lambda request: status(404) if "Adams was born" in request.prompt else honest(request)) as server:
        result = run(command, server)
    assert result.exit_code == 1
    assert "the same command goes on from there" in result.output
    assert not (tmp_path / "out" / "chains.jsonl").exists()


def test_options_of_models_are_heeded(command: list[str]) -> None:
    with Loopback(lambda request: replace(honest(request), delay=0.02)) as server:
        result = run([*command, "--model-for", "extract=openai/cheap", "--max-parallel", "1"], server)
        assert (result.exit_code, {request.body["model"] for request in server.requests}) == (0, {"cheap"})
        assert server.most_parallel == 1
