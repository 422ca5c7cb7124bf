"""Children that hear Ctrl-C, even when the tests were started in a shell's background, where it is ignored."""

import signal


def hear_interrupts() -> None:
    """To be run in a child before its program, as `preexec_fn`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
