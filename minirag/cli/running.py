"""What all commands share: the root command, and how errors, warnings and interrupts reach the user."""

from __future__ import annotations

import errno
import functools
import io
import os
import sys
import warnings
from typing import IO, Any

import click

from minirag import __version__
from minirag.cli.logs import verbose_option
from minirag.cli.printing import echo_note
from minirag.errors import IndexWriteError, MiniragError, OutputError
from minirag.wording import one_line

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
COMPLETION = "_MINIRAG_COMPLETE"  # the variable by which click is asked for completions
_DEBUG = "minirag.debug"

_EPILOG = """
\b
Example:
  minirag index docs/ --index notes.usearch
  minirag ask "Where was the director of Aylwin born?" --index notes.usearch

\b
Environment:
  MINIRAG_MODEL  the model where --model is not given, else "offline"
  MINIRAG_INDEX  the file where --index is not given (not for eval, which
                 adds a corpus to it)
  NO_COLOR       set to anything: no colours
  and the provider's own (OPENAI_API_KEY, ...), as LiteLLM reads them

\b
Exit codes:
  0    fine; also when an index holds no answer, which the output says
  1    something failed: a document, a question, a file, a model; each is
       named on standard error, and everything else was done
  2    wrong usage, or a place that cannot be written: an index or an output,
       whether found out before the work or while it is done
  130  interrupted; what was committed is kept

\b
Shell completion:
  minirag completion bash >> ~/.bashrc   (or zsh, fish)
"""


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


class Command(click.Command):
    """A command that also takes `--verbose` and `--debug`."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        """Add the options."""
        super().__init__(*args, **options)
        self.params += [verbose_option(), _debug_option()]


class Program(click.Group):
    """The root command: turns what goes wrong into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command that the arguments name."""
        _never_fail_to_print()
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted("Interrupted.") from interrupt
        except Exception as error:
            if ctx.meta.get(_DEBUG) or _is_closed_pipe(error):
                raise
            raise _told(error) from error


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
    return FailedError(f"{type(error).__name__}: {error} (--debug shows where)")


def _is_closed_pipe(error: Exception) -> bool:
    """Whether the reader of our output went away, as `head` does; click ends quietly then."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _never_fail_to_print() -> None:
    """Let a terminal that lacks a character show its code instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:  # noqa: ANN401
    echo_note(str(message))


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=_remember_debug, help="Show tracebacks of errors."
    )


def _remember_debug(ctx: click.Context, _: click.Parameter, chosen: bool) -> None:
    if chosen:
        ctx.meta[_DEBUG] = True


@click.group(
    cls=Program,
    params=[verbose_option(), _debug_option()],
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="minirag")
def program() -> None:
    """Answer questions that no single passage answers, from one index file."""


command = functools.partial(click.command, cls=Command)
