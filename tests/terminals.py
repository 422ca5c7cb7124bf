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
