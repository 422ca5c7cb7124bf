"""`--verbose`: what the library logs, on standard error."""

from __future__ import annotations

import logging
import sys

import click

_LEVELS = (logging.INFO, logging.DEBUG)


def verbose_option() -> click.Option:
    """Once for what is done, twice for each call to a model with its prompt."""
    return click.Option(
        ["-v", "--verbose"],
        count=True,
        expose_value=False,
        callback=_show_log,
        help="Log what is done; twice: each call with its prompt, too.",
    )


def _show_log(ctx: click.Context, _: click.Parameter, count: int) -> None:
    if not count:
        return
    logger = logging.getLogger("minirag")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
    level = logger.level
    logger.setLevel(_LEVELS[min(count, len(_LEVELS)) - 1])
    logger.addHandler(handler)

    def put_back() -> None:
        logger.removeHandler(handler)
        logger.setLevel(level)

    ctx.call_on_close(put_back)
