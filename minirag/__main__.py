"""`minirag` and `python -m minirag`: the command line."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line, and end quietly when it is interrupted while its imports still run."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:  # else somebody else hears it, or nobody, as in a shell's background
        signal.signal(signal.SIGINT, _end)
    from minirag.cli import main as run

    signal.signal(signal.SIGINT, heard)
    run()


def _end(_: int, __: FrameType | None) -> None:
    """Of an exception the modules that are being imported could make something else."""
    os._exit(130)


if __name__ == "__main__":
    main()
