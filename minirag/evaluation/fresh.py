"""What the bench measures in fresh processes: imports, indexing with its peak of memory, opening.

`python -m minirag.evaluation.fresh TASK ARGUMENTS…` does one task and prints one line of JSON when it is done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from minirag.errors import MiniragError

YARDSTICK = Path(__file__).with_name("plain_encoding.py")


# --- in the parent -------------------------------------------------------------------------------------------------


def run_fresh(*arguments: str | Path) -> tuple[float, dict[str, Any]]:
    """Do a task of this module in a fresh process.

    Returns:
        Seconds from the start of the process until it printed its line, and what the line holds.

    Raises:
        MiniragError: If the process failed; the message ends with what it said.
    """
    return _time_line([sys.executable, "-P", "-m", __name__, *map(str, arguments)])


def run_yardstick(folder: Path, text: str) -> float:
    """Seconds that a fresh process takes from its start until it has encoded a text without minirag.

    Raises:
        MiniragError: If the process failed.
    """
    return _time_line([sys.executable, "-P", str(YARDSTICK), str(folder), text])[0]


def time_import(module: str) -> float:
    """Seconds that `import module` takes in a fresh process, the start of Python not counted.

    Raises:
        MiniragError: If the process failed.
    """
    program = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    seconds: float = _time_line([sys.executable, "-P", "-c", program])[1]
    return seconds


def _time_line(command: Sequence[str]) -> tuple[float, Any]:
    # A file, since a pipe that nobody empties would stop a child that warns a lot.
    with tempfile.TemporaryFile() as errors:
        began = perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=child_environment()) as process:
            output = iter(process.stdout or ())
            line = next(output, b"")
            seconds = perf_counter() - began
            for _ in output:
                pass
        if process.returncode != 0 or not line:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip()[-2000:]
            raise MiniragError(f"{' '.join(command)} ended with status {process.returncode}: {said}")
    return seconds, json.loads(line)


def child_environment() -> dict[str, str]:
    """Such that a child finds this very package, installed or not."""
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


# --- in the child --------------------------------------------------------------------------------------------------


def index_documents(source: str, target: str) -> dict[str, Any]:
    """Index a data set's corpus offline; the time counts loading the encoder, and what is imported late.

    Args:
        source: A data set's folder.
        target: Where the index goes; nothing may be there.
    """
    from minirag.encoder import OnnxEncoder
    from minirag.evaluation.datasets import load_dataset
    from minirag.index import Index

    documents = load_dataset(source).documents
    began = perf_counter()
    encoder = OnnxEncoder()
    with Index(target, model="offline", encoder=encoder) as index:
        report = index.add(documents, progress=False)
        seconds = perf_counter() - began
        info = index.info()
    return {
        "seconds": seconds,
        "inference_seconds": encoder.inference_seconds,
        "documents": info.documents,
        "passages": info.passages,
        "facts": info.facts,
        "bridges": info.bridges,
        "triples": info.triples,
        "failed": len(report.failed),
        "bytes": Path(target).stat().st_size,
        "peak_bytes": peak_memory(),
    }


def open_and_retrieve(path: str, question: str) -> dict[str, Any]:
    """Open an index and retrieve once."""
    from minirag.answering import retrieve
    from minirag.index import Index

    with Index(path, mode="r", model="offline") as index:
        return {"hits": len(retrieve(question, index, strategy="indexrag").hits)}


def grow_index(source: str, target: str, units: str) -> dict[str, Any]:
    """Write a large index from a small one; the time is that of making and writing it, without any encoding."""
    from minirag.evaluation.synthetic import grow

    began = perf_counter()
    counts = grow(Path(source), Path(target), int(units))
    return {**counts, "seconds": perf_counter() - began, "peak_bytes": peak_memory()}


def query_index(path: str, questions: str) -> dict[str, Any]:
    """Search an index in every way, each for all questions."""
    from minirag.evaluation.querying import measure_queries

    return {**measure_queries(Path(path), json.loads(Path(questions).read_text())), "query_bytes": peak_memory()}


def peak_memory() -> int | None:
    """The most bytes of memory that this process has held so far; None where the system does not say."""
    try:
        # getrusage would count what the parent held before this process became another program.
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "index": index_documents,
    "open": open_and_retrieve,
    "grow": grow_index,
    "query": query_index,
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])) + "\n")
    sys.stdout.flush()
