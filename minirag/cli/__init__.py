"""The command line: `minirag COMMAND …`, over the same functions that the library offers."""

from __future__ import annotations

import os
import sys

from minirag.cli.asking import ask, search
from minirag.cli.benching import bench
from minirag.cli.completing import completion
from minirag.cli.customising import prompts
from minirag.cli.demonstrating import demo
from minirag.cli.drawing import graph
from minirag.cli.evaluating import evaluate
from minirag.cli.exchanging import export, import_
from minirag.cli.indexing import compact, delete, index
from minirag.cli.inspecting import info
from minirag.cli.reembedding import reembed
from minirag.cli.repairing import repair
from minirag.cli.running import program
from minirag.cli.serving import mcp
from minirag.cli.training import train
from minirag.telling import INTERRUPTED

__all__ = ["main", "program"]

for _command in (
    index,
    ask,
    search,
    info,
    delete,
    compact,
    repair,
    reembed,
    demo,
    evaluate,
    bench,
    graph,
    export,
    import_,
    train,
    prompts,
    mcp,
    completion,
):
    program.add_command(_command)


def main() -> None:
    """Run the command line with the process's arguments, and end the process."""
    try:
        program(prog_name="minirag")
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            # Threads that encode would finish their batch first, and Python waits for them. Nothing is lost by not
            # waiting: a commit is on disk or it is not.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
