"""`--sweep OPTION=VALUE,VALUE`: an option of a strategy, once for each of several values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from minirag.wording import did_you_mean

_DEFAULT = "default"
_SWITCH = {"yes": None, "no": False}  # switches are on unless they are off

sweep_option = click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="OPTION=V,V,…",
    help='A run for each value, such as k-b=0,1,2,3; "default" leaves it out, "+" joins several.',
)


def parse_sweep(text: str) -> tuple[str, list[Any]]:
    """The option's name in the library, and its values as the option would take them.

    Raises:
        click.UsageError: If there is no such option of a strategy, or it cannot have such a value.
    """
    spelled, _, listed = text.partition("=")
    name = spelled.strip().lstrip("-").replace("-", "_")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not values:
        raise click.UsageError(f"--sweep {text}: give it as OPTION=VALUE,VALUE, such as k-b=0,1,2,3")
    params = click.get_current_context().command.params
    param = next((each for each in params if each.name == name and isinstance(each, click.Option)), None)
    if param is None:
        known = [each.opts[0] for each in params if isinstance(each, click.Option)]
        given = f"--{name.replace('_', '-')}"
        raise click.UsageError(f"--sweep {text}: there is no option {given}.{did_you_mean(given, known)}")
    return name, [_convert(param, value, text) for value in values]


def _convert(param: click.Option, value: str, text: str) -> Any:  # noqa: ANN401
    if value == _DEFAULT:
        return None
    if param.is_flag:
        if value not in _SWITCH:
            raise click.UsageError(f"--sweep {text}: {param.name} is a switch, yes or no")
        return _SWITCH[value]
    try:
        parts: Sequence[Any] = [param.type.convert(part, param, None) for part in value.split("+")]
    except click.BadParameter as error:
        raise click.UsageError(f"--sweep {text}: {error.message}") from error
    if not param.multiple and len(parts) > 1:
        raise click.UsageError(f"--sweep {text}: {param.name} takes one value at a time")
    return tuple(parts) if param.multiple else parts[0]
