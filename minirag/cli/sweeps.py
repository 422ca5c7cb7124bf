"""`--sweep OPTION=VALUE,VALUE`: an option of a strategy, once for each of several values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import click

from minirag.strategies import STRATEGIES
from minirag.wording import did_you_mean

_DEFAULT = "default"
_SWITCH = {"yes": None, "no": False}  # switches are on unless they are off
_SWITCH_OFF = {"yes": False, "no": None}

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
    option = f"--{spelled.strip().lstrip('-').replace('_', '-')}"
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not values:
        raise click.UsageError(f"--sweep {text}: give it as OPTION=VALUE,VALUE, such as k-b=0,1,2,3")
    params = [each for each in click.get_current_context().command.params if _is_swept(each)]
    param = next((each for each in params if option in (*each.opts, _named(each))), None)
    if param is None:
        near = did_you_mean(option, [each.opts[0] for each in params])
        raise click.UsageError(f"--sweep {text}: there is no option {option} of a strategy.{near}")
    return str(param.name), [_convert(param, value, text, is_off=option != _named(param)) for value in values]


def _is_swept(param: click.Parameter) -> TypeGuard[click.Option]:
    """Whether it is an option of a strategy."""
    from minirag.evaluation.variants import takes

    return isinstance(param, click.Option) and any(takes(strategy, str(param.name)) for strategy in STRATEGIES)


def _named(param: click.Option) -> str:
    """An option by its name in the library: a switch that turns something off is spelled otherwise."""
    return f"--{str(param.name).replace('_', '-')}"


def _convert(param: click.Option, value: str, text: str, *, is_off: bool) -> Any:  # noqa: ANN401
    """A value as the option would take it; `is_off` says that a switch was named by what turns it off."""
    if value == _DEFAULT:
        return None
    if param.is_flag:
        if value not in _SWITCH:
            raise click.UsageError(f"--sweep {text}: {param.name} is a switch, yes or no")
        return (_SWITCH_OFF if is_off else _SWITCH)[value]
    try:
        parts: Sequence[Any] = [param.type.convert(part, param, None) for part in value.split("+")]
    except click.BadParameter as error:
        raise click.UsageError(f"--sweep {text}: {error.message}") from error
    if not param.multiple and len(parts) > 1:
        raise click.UsageError(f"--sweep {text}: {param.name} takes one value at a time")
    return tuple(parts) if param.multiple else parts[0]
