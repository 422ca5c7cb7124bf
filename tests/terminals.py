"""Commands on a terminal, which only Unix has."""

from __future__ import annotations

import os
import re
import subprocess
import sys


def on_terminal(*arguments: object) -> str:
    """What the command shows on a terminal, without colours."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "minirag", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "dumb"}):
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 4096):
                shown += some
        except OSError:  # how a terminal ends on Linux
            pass
    os.close(ours)
    return re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r\n", "\n")


def confirmed(*arguments: object) -> str:
    """What the command says on standard error where a terminal answers yes to what it asks."""
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, b"y\n")
    command = [sys.executable, "-m", "minirag", *map(str, arguments)]
    ended = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    return ended.stderr
