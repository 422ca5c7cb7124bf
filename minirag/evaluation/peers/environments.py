"""The peers' virtual environments, kept in a folder between runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minirag.errors import MiniragError
from minirag.evaluation.peers.catalog import ENCODER_REQUIREMENTS, Peer, pip_requirements

_NOTE = "peer.json"  # written last: its presence says that the installation is whole


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in which a peer runs.

    Attributes:
        python: Its interpreter.
        install_bytes: What the peer and its dependencies take on disk, as pip leaves them; without what minirag's
            encoder needs beyond them.
        version: Of the peer's first requirement.
    """

    python: Path
    install_bytes: int
    version: str


def open_environment(peer: Peer, cache: Path, *, timeout: float) -> Environment:
    """A peer's environment, made where it is missing; peers with the same requirements share one.

    Args:
        peer: Whose.
        cache: The folder of all environments.
        timeout: Seconds for each of pip's two runs.

    Raises:
        MiniragError: If pip failed or took too long; the message ends with what it said. The next call tries again.
    """
    folder = cache / folder_name(peer)
    note, python = folder / _NOTE, _interpreter(folder)
    if note.exists():
        found = json.loads(note.read_text(encoding="utf-8"))
        return Environment(python, found["install_bytes"], found["version"])
    venv.create(folder, clear=True)
    before = count_bytes(folder)
    _install(python, pip_requirements(peer), timeout)
    environment = Environment(python, count_bytes(folder) - before, _version_of(python, peer.requirements[0]))
    if peer.encodes:
        _install(python, ENCODER_REQUIREMENTS, timeout)
    kept = {"install_bytes": environment.install_bytes, "version": environment.version}
    note.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    return environment


def folder_name(peer: Peer) -> str:
    """What the environment's folder is called: the requirements, without what a file's name may not hold."""
    return re.sub(r"[^\w.+-]+", "_", "+".join(peer.requirements))


def count_bytes(folder: Path) -> int:
    """The bytes of all files in a folder, links not followed."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_symlink() or file.is_file())


def _interpreter(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _install(python: Path, requirements: Sequence[str], timeout: float) -> None:
    """By this environment's pip into the other, which has none."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-input", "-q", *requirements]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise MiniragError(f"pip took more than {timeout:.0f} s to install {', '.join(requirements)}") from error
    if done.returncode != 0:
        raise MiniragError(f"pip cannot install {', '.join(requirements)}: {reason_in(done.stderr)}")


def reason_in(said: str) -> str:
    """The line of pip's that says why, of those that begin with ERROR or error: the first, else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|error|fatal error)\b", line)]
    return (errors or lines[-1:] or ["it said nothing"])[0]


def _version_of(python: Path, requirement: str) -> str:
    code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    done = subprocess.run([str(python), "-P", "-c", code, requirement], capture_output=True, text=True, check=True)
    return done.stdout.strip()
