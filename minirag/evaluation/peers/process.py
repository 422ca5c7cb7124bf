"""The driver's end of a peer's process: it is told to index and to retrieve, a line of JSON each way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self

from minirag.errors import MiniragError
from minirag.evaluation.peers.catalog import PACKAGE

_MOST_SAID = 600  # characters of what a process said before it failed


class PeerProcess:
    """A peer in a process of its own; a context manager that ends it."""

    def __init__(
        self, python: Path, runner: str, folder: Path, *, package: Path, api_base: str = "", timeout: float
    ) -> None:
        """Start it.

        Args:
            python: The peer's interpreter.
            runner: The module that drives it.
            folder: For what it keeps; beside it, a file of what it says.
            package: A folder that holds minirag and nothing else, as `copy_package` makes it.
            api_base: An OpenAI-compatible server, "" for none.
            timeout: Seconds for each request; a process that takes longer is killed.
        """
        self._timeout = timeout
        self._said = folder.with_suffix(".log")
        command = [str(python), "-P", "-m", "minirag.evaluation.peers.child", runner, str(folder), api_base]
        with self._said.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(package),
                cwd=folder,
                encoding="utf-8",
            )

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it end by itself, or kill it."""
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and await the answer.

        Raises:
            MiniragError: If the process ended without one, or took too long; the message ends with what it said.
        """
        killer = Timer(self._timeout, self._process.kill)
        killer.start()
        try:
            line = _exchange(self._process, json.dumps(request) + "\n")
        finally:
            in_time = killer.is_alive()
            killer.cancel()
        if not in_time:
            raise MiniragError(f"took more than {self._timeout:.0f} s")
        if not line:
            raise MiniragError(f"ended with status {self._process.wait()}: {self._last_words()}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _last_words(self) -> str:
        """The last line that it wrote, which of a traceback is the error."""
        lines = [line.strip() for line in self._said.read_text(encoding="utf-8", errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "it said nothing")[-_MOST_SAID:]


def copy_package(scratch: Path) -> Path:
    """A folder with this very minirag, and with nothing else of where it is installed."""
    target = scratch / "package"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, target / "minirag", ignore=ignored, dirs_exist_ok=True)
    return target


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    source, target = _pipes(process)
    try:
        target.write(line)
        target.flush()
    except BrokenPipeError:
        return ""
    return source.readline()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdout is None or process.stdin is None:
        raise MiniragError("the process was started without pipes")
    return process.stdout, process.stdin


def _environment(package: Path) -> dict[str, str]:
    """Offline libraries stay offline, and nothing of this environment's packages is seen."""
    return {
        **os.environ,
        "PYTHONPATH": str(package),
        "PYTHONIOENCODING": "utf-8",
        "OPENAI_API_KEY": "none",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
    }
