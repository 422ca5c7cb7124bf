"""The child process in which a peer runs: `python -m minirag.evaluation.peers.child RUNNER FOLDER [API_BASE]`.

It reads one JSON object a line and answers each with one: `{"documents": [[id, title, text], …]}` indexes,
`{"way": …, "questions": […], "k": …}` retrieves. What the peer prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import IO, Any

from minirag.evaluation.fresh import peak_memory
from minirag.evaluation.peers.runners import Retrieve, Setup, Ways
from minirag.records import Document


def serve(runner: str, setup: Setup, requests: IO[str], replies: IO[str]) -> None:
    """Answer requests until there are no more."""
    build = import_module(f"minirag.evaluation.peers.runners.{runner}").build
    ways: Ways = {}
    for line in requests:
        request = json.loads(line)
        if "documents" in request:
            ways, reply = _index(build, [Document(*fields) for fields in request["documents"]], setup)
        else:
            reply = _retrieve(ways[request["way"]], request["questions"], request["k"])
        replies.write(json.dumps({**reply, "peak_bytes": peak_memory()}) + "\n")
        replies.flush()


def _index(build: Callable[..., Ways], documents: list[Document], setup: Setup) -> tuple[Ways, dict[str, Any]]:
    began = perf_counter()
    ways = build(documents, setup)
    seconds = perf_counter() - began
    return ways, {"ways": list(ways), "seconds": seconds, "encoding_seconds": setup.encoding_seconds}


def _retrieve(retrieve: Retrieve, questions: list[str], k: int) -> dict[str, Any]:
    """The first question is asked twice, once to warm up."""
    retrieve(questions[0], k)
    rankings, times = [], []
    for question in questions:
        began = perf_counter()
        rankings.append(retrieve(question, k))
        times.append(perf_counter() - began)
    return {"rankings": rankings, "seconds": median(times)}


def _take_over_output() -> IO[str]:
    """Standard output for the replies alone: what else is written there goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


if __name__ == "__main__":
    given = Setup(Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
    serve(sys.argv[1], given, sys.stdin, _take_over_output())
