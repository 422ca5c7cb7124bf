"""Options that several commands share, and what they come to."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from minirag.cli.printing import echo_note
from minirag.errors import IndexMissingError
from minirag.models import OFFLINE, VARIABLE
from minirag.strategies import STRATEGIES

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FILE = click.Path(dir_okay=False, path_type=Path)

index_option = click.option(
    "--index",
    "path",
    envvar="MINIRAG_INDEX",
    show_envvar=True,
    required=True,
    metavar="FILE",
    type=FILE,
    help="The index file.",
)
strategy_option = click.option(
    "--strategy", type=click.Choice(list(STRATEGIES)), default="indexrag", show_default=True, help="How to retrieve."
)
k_option = click.option(
    "-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many pieces of evidence to retrieve."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print failures only.")


def model_options(function: Decorated) -> Decorated:
    """`--model` and `--api-base`."""
    model = click.option(
        "--model",
        envvar=VARIABLE,
        show_envvar=True,
        metavar="NAME",
        help='A LiteLLM name, such as openai/gpt-4o-mini, or "offline" (the default: by rules, free).',
    )
    api_base = click.option(
        "--api-base", metavar="URL", help="The address of an OpenAI-compatible server that has the model."
    )
    return model(api_base(function))


def strategy_options(function: Decorated) -> Decorated:
    """The options that only some strategies take; `chosen_options` sorts them out."""
    return click.option(
        "--k-b", type=click.IntRange(min=0), help="indexrag: at most so many bridging facts among the evidence [3]."
    )(function)


def chosen_options(strategy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The strategy options that the user gave.

    Raises:
        click.UsageError: If the strategy does not take one of them.
    """
    given = {name: value for name, value in options.items() if value is not None}
    taken = inspect.signature(STRATEGIES[strategy]).parameters
    for name in given:
        if name not in taken:
            raise click.UsageError(f"--{name.replace('_', '-')} is no option of the strategy {strategy}")
    return given


def model_arguments(model: str | None, api_base: str | None) -> dict[str, Any]:
    """What `Index` is told of the model that the user named; offline where none was.

    Raises:
        click.UsageError: If there is an address but no model to call there.
    """
    if api_base is None:
        return {"model": model or OFFLINE}
    if model in (None, OFFLINE):
        raise click.UsageError(f"--api-base needs a --model (or {VARIABLE}) that is called there")
    return {"model": model, "api_base": api_base}


def require_index(path: Path) -> None:
    """Check that there is an index, which opening it for writing would start.

    Raises:
        IndexMissingError: If there is none.
    """
    if not path.exists():
        raise IndexMissingError(path, f"there is no such file. Build it: minirag index PATHS --index {path}")


def note_offline(model: str | None, did: str) -> None:
    """Say that no model was named, so that nobody takes the rules for an LLM."""
    if model is None:
        echo_note(
            f"{did} offline, by rules that cost nothing and are weaker than an LLM; name one by --model or {VARIABLE}"
        )


def shows_bars(*, quiet: bool) -> bool:
    """Whether progress is shown: where somebody looks at standard error, and has not said otherwise."""
    return not quiet and sys.stderr.isatty()
