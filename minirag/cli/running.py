"""What all commands share: the root command, their options, and how warnings reach the user."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

import click

from minirag.cli.logs import verbose_option
from minirag.cli.printing import echo_note
from minirag.telling import debug_option, telling_errors
from minirag.version import __version__

COMPLETION = "_MINIRAG_COMPLETE"  # the variable by which click is asked for completions

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


class Command(click.Command):
    """A command that also takes `--verbose` and `--debug`."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        """Add the options."""
        super().__init__(*args, **options)
        self.params += [verbose_option(), debug_option()]


class Program(click.Group):
    """The root command: turns what goes wrong into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command that the arguments name."""
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        with telling_errors(ctx), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return super().invoke(ctx)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:  # noqa: ANN401
    echo_note(str(message))


@click.group(
    cls=Program,
    params=[verbose_option(), debug_option()],
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="minirag")
def program() -> None:
    """Answer questions that no single passage answers, from one index file."""


command = functools.partial(click.command, cls=Command)
