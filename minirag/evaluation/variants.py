"""Strategies with their options, and sweeps over one option."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minirag.strategies import STRATEGIES


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to ask.

    Attributes:
        strategy: Which.
        options: Of the strategy, but for k.
        k: How much the reader sees; None for the strategy's own.
    """

    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    k: int | None = None

    @property
    def name(self) -> str:
        """The strategy with the options that were given."""
        return describe_variant(self.strategy, self.options, self.k)


def describe_variant(strategy: str, options: Mapping[str, Any], k: int | None = None) -> str:
    """A strategy with its options in words, for tables."""
    given = {**({} if k is None else {"k": k}), **options}
    told = ", ".join(f"{name}={_spell(value)}" for name, value in given.items())
    return f"{strategy} ({told})" if told else strategy


def takes(strategy: str, option: str) -> bool:
    """Whether a strategy has an option."""
    return option in inspect.signature(STRATEGIES[strategy]).parameters


def sweep(variants: Sequence[Variant], option: str, values: Sequence[Any]) -> list[Variant]:
    """Each variant once for every value of an option; one whose strategy lacks the option stays as it is.

    Args:
        variants: To be varied.
        option: Of a strategy, or "k".
        values: None leaves the option at its default.

    Raises:
        ValueError: If none of the strategies has the option, or there is no value.
    """
    if not values:
        raise ValueError(f"a sweep over {option} needs values")
    if not any(takes(variant.strategy, option) for variant in variants):
        names = " or ".join(dict.fromkeys(variant.strategy for variant in variants))
        raise ValueError(f"{option} is no option of the strategy {names}")
    found: list[Variant] = []
    for variant in variants:
        swept = values if takes(variant.strategy, option) else [None]
        found += [_with(variant, option, value) for value in swept]
    return found


def _with(variant: Variant, option: str, value: Any) -> Variant:  # noqa: ANN401
    if value is None:
        return variant
    if option == "k":
        return Variant(variant.strategy, variant.options, value)
    return Variant(variant.strategy, {**variant.options, option: value}, variant.k)


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
