"""Kinds of options: choices that know what a mistyped one was meant to be, and numbers that are some."""

from __future__ import annotations

import math
from typing import Any

import click

from minirag.wording import IS_ADDRESS, address_in, did_you_mean


class Choice(click.Choice[str]):
    """One of several words; what is nearly one of them is told which."""

    def get_invalid_choice_message(self, value: str, ctx: click.Context | None) -> str:
        """What is wrong, what there is, and what was probably meant."""
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(value, self.choices)


class Place(click.Path):
    """A file or folder; an address of the web in its place is told to be one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Make a path of it."""
        if isinstance(value, str) and (address := address_in(value)):
            self.fail(f"{address} {IS_ADDRESS}", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number within limits, which neither `nan` nor `inf` is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Read it."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


DOLLARS = Number(min=0)
SECONDS = Number(min=0, min_open=True)
