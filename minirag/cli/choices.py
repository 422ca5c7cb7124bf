"""Choices that know what a mistyped one was meant to be."""

from __future__ import annotations

import click

from minirag.wording import did_you_mean


class Choice(click.Choice[str]):
    """One of several words; what is nearly one of them is told which."""

    def get_invalid_choice_message(self, value: str, ctx: click.Context | None) -> str:
        """What is wrong, what there is, and what was probably meant."""
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(value, self.choices)
