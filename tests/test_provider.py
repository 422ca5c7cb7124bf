"""The provider that fails, as a command to try things against."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.evaluation.loopback import Loopback

COMMAND = [sys.executable, "-m", "minirag.evaluation.provider"]


def test_help_says_what_it_is_for_and_how_it_fails() -> None:
    told = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    words = " ".join(told.split())
    assert "python -m minirag.evaluation.provider --port 8700 --rate 0.3" in words
    assert (
        "429, Retry-After; 429; 500; 503; late; cut; cut in the body; broken body; empty choices; truncated;" in words
    )
    assert all(f"{option} " in words for option in ("--rate", "--delay", "--port", "--seed"))


def test_it_prints_its_address_and_in_the_end_what_it_did(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "--rate", "0", "--delay", "0"], text=True, **pipes) as process:  # type: ignore[call-overload]  # a dict of two
        api_base = process.stdout.readline().strip()
        with Index(tmp_path / "a.usearch", model="openai/any", api_base=api_base) as index:
            index.add([Document("a", "Aylwin was directed by Henry Edwards.", "Aylwin")], progress=False)
        said, _ = process.communicate("")
    report = json.loads(said)
    assert (report["requests"], report["kinds"], report["answered_twice"]) == (1, {"answered": 1}, 0)
    assert report["met"] == {"extract": [["answered"]]}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rate", "3"], "argument --rate: '3' is not a number from 0 to 1"),
        (["--rate", "nan"], "argument --rate: 'nan' is not a number from 0 to 1"),
        (["--delay", "-1"], "argument --delay: '-1' is not a number from 0 to 3600"),
        (["--port", "70000"], "argument --port: '70000' is not a whole number from 0 to 65535"),
        (["--port", "x"], "argument --port: 'x' is not a whole number from 0 to 65535"),
    ],
)
def test_numbers_that_cannot_be_are_told(options: list[str], told: str) -> None:
    ended = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr


def test_a_port_that_is_taken_is_told() -> None:
    with Loopback() as server:
        taken = server.api_base.removesuffix("/v1").rpartition(":")[2]
        ended = subprocess.run([*COMMAND, "--port", taken], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert f"error: port {taken} cannot be had: " in ended.stderr
    assert "Traceback" not in ended.stderr
