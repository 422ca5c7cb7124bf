"""Ctrl-C for children, and how soon it is heard."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.loopback import Request, Served, honest

SOON = 2.0  # seconds; one is promised, and what else runs on the machine forgiven


def hear_interrupts() -> None:
    """To be run in a child before its program, as `preexec_fn`, where Ctrl-C is ignored, as in a shell's background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class SlowModel:
    """The honest model, late; a script for the loopback server.

    Attributes:
        delay: Seconds that each answer takes.
        quick: So many answers come at once before that.
        arrived: When each request came, by the monotonic clock.
    """

    delay: float
    quick: int = 0
    arrived: list[float] = field(default_factory=list)

    def __call__(self, request: Request) -> Served:
        """The answer."""
        self.arrived.append(time.monotonic())
        return replace(honest(request), delay=self.delay if len(self.arrived) > self.quick else 0.0)

    def wait_for(self, requests: int, *, seconds: float = 120) -> None:
        """Until so many have come."""
        until = time.monotonic() + seconds
        while len(self.arrived) < requests and time.monotonic() < until:
            time.sleep(0.01)
        assert len(self.arrived) >= requests

    def asked_after(self, moment: float) -> float:
        """For how many seconds after a moment requests still came; below 0 where none did."""
        return max(self.arrived) - moment


@dataclass(frozen=True)
class Interrupted:
    """What a child did with Ctrl-C.

    Attributes:
        code: With what it ended.
        printed: On standard output.
        told: On standard error.
        told_after: Seconds from the signal to the last line on standard error.
        asked_for: Seconds from the signal to the last request that reached the model; below 0 where none came after it.
    """

    code: int
    printed: str
    told: str
    told_after: float
    asked_for: float


def interrupt(
    command: Sequence[object], model: SlowModel, *, after: int, cwd: Path, env: Mapping[str, str] | None = None
) -> Interrupted:
    """Start a command, and send it Ctrl-C once so many requests have reached the model."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = dict(os.environ if env is None else env)
    with subprocess.Popen(  # type: ignore[call-overload]  # a dict of two
        [str(part) for part in command], cwd=cwd, env=environment, text=True, preexec_fn=hear_interrupts, **pipes
    ) as process:
        lines: list[tuple[float, str]] = []
        reader = threading.Thread(target=lambda: lines.extend((time.monotonic(), line) for line in process.stderr))
        reader.start()
        model.wait_for(after)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        code = process.wait(timeout=60)
        reader.join()
    told = "".join(line for _, line in lines)
    return Interrupted(code, printed, told, lines[-1][0] - sent if lines else float("inf"), model.asked_after(sent))
