"""How what goes wrong in a command is told: in one line on standard error, with an exit code."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from minirag.errors import IndexWriteError, MiniragError, OutputError
from minirag.redacting import redact
from minirag.wording import one_line

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
_DEBUG = "minirag.debug"


class FailedError(click.ClickException):
    """What failed, in one line."""

    exit_code = FAILED

    def __init__(self, message: str) -> None:
        """Squeeze the message to one line."""
        super().__init__(one_line(message))


class WrongUsageError(FailedError):
    """A wrong argument or a place that cannot be written, found by the library."""

    exit_code = WRONG_USAGE


class Interrupted(click.ClickException):
    """Ctrl-C, with what became of the work."""

    exit_code = INTERRUPTED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, without calling it an error."""
        click.echo(self.message, file=file, err=True)


class Script(click.Command):
    """The command of a module that is run by itself (`python -m minirag.…`); it also takes `--debug`."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        """Add the option."""
        super().__init__(*args, **options)
        self.params += [debug_option()]

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run it."""
        with telling_errors(ctx):
            return super().invoke(ctx)


@contextmanager
def telling_errors(ctx: click.Context) -> Iterator[None]:
    """Turn what goes wrong into what click prints as one line; with `--debug` it stays as it is.

    Raises:
        ClickException: For whatever else is raised, but for a closed pipe, at which click ends quietly.
    """
    _never_fail_to_print()
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(" ".join(["Interrupted.", *getattr(interrupt, "__notes__", ())])) from interrupt
    except Exception as error:
        if ctx.meta.get(_DEBUG) or _is_closed_pipe(error):
            raise
        raise _told(error) from error


def debug_option() -> click.Option:
    """Leaves errors as they are."""
    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=_remember_debug, help="Show tracebacks of errors."
    )


def _remember_debug(ctx: click.Context, _: click.Parameter, chosen: bool) -> None:
    if chosen:
        ctx.meta[_DEBUG] = True


def _told(error: Exception) -> FailedError:
    """What the user is told of an error: all of it where it is minirag's own, the system's reason, else its type."""
    if isinstance(error, OutputError | IndexWriteError):
        return WrongUsageError(str(error))
    if isinstance(error, MiniragError):
        return FailedError(str(error))
    if isinstance(error, ValueError):
        return WrongUsageError(str(error))
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        return FailedError(f"{place}{error.strerror} (--debug shows where)")
    return FailedError(f"{type(error).__name__}: {redact(str(error))} (--debug shows where)")


def _is_closed_pipe(error: Exception) -> bool:
    """Whether the reader of our output went away, as `head` does; click ends quietly then."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _never_fail_to_print() -> None:
    """Let a terminal that lacks a character show its code instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
