"""The server that tests talk to: `minirag.evaluation.loopback`, with its faults.

In a process of its own, printing its address first: `python -m tests.loopback --port 0 --log requests.jsonl`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from minirag.evaluation.faults import (
    broken_body,
    cut,
    doubled,
    empty_choices,
    fenced,
    refusal,
    refused_parameter,
    sometimes_failing,
    status,
    truncated,
)
from minirag.evaluation.loopback import Entry, Loopback, Request, Script, Served, honest

__all__ = [
    "Entry",
    "Loopback",
    "Request",
    "Script",
    "Served",
    "broken_body",
    "cut",
    "doubled",
    "empty_choices",
    "fenced",
    "honest",
    "refusal",
    "refused_parameter",
    "sometimes_failing",
    "status",
    "truncated",
]


def main() -> None:
    """Serve the honest model until standard input closes or the process is killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--fail-rate", type=float, default=0.0, help="share of the requests that meet a fault")
    parser.add_argument("--log", type=Path, default=None, help="append every request to this file")
    options = parser.parse_args()
    script = sometimes_failing(options.fail_rate, delay=options.delay)
    with Loopback(script, port=options.port, log=options.log) as server:
        print(server.api_base, flush=True)  # noqa: T201
        sys.stdin.read()


if __name__ == "__main__":
    main()
