"""The strategies: each one function from a question and an index to evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from minirag.models import OFFLINE
from minirag.records import Evidence, Task
from minirag.wording import did_you_mean

_OF_ALL = ("strategy", "k", "model", "models", "where", "prompts", "max_cost", "time_limit")  # what `ask` itself takes
Strategy = Callable[..., Coroutine[Any, Any, Evidence]]


class _Strategies(Mapping[str, Strategy]):
    """By name; imported when asked for: a function that answers by one of them opens sooner."""

    _names = ("naive", "indexrag", "kirag", "ircot")

    def __getitem__(self, name: str) -> Strategy:
        if name not in self._names:
            raise KeyError(name)
        strategy: Strategy = import_module(f"minirag.strategies.{name}").retrieve
        return strategy

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


STRATEGIES: Mapping[str, Strategy] = _Strategies()


def default_strategy(model: str) -> str:
    """What is asked by when nobody says: one call with a model; offline, where calls are free, the best evidence."""
    return "kirag" if model == OFFLINE else "indexrag"


def check_options(strategy: str, options: Collection[str]) -> None:
    """Check that there is such a strategy, and that it takes such options.

    Raises:
        ValueError: If not; the message names what there is.
    """
    if strategy not in STRATEGIES:
        near = did_you_mean(str(strategy), STRATEGIES)
        raise ValueError(f"unknown strategy {strategy!r}; there are {', '.join(STRATEGIES)}.{near}")
    known = _options_of(strategy)
    if unknown := sorted(set(options) - {*known, "k"}):
        has = ", ".join(name for name in known if name != "k") or "none"
        takers = [name for name in STRATEGIES if unknown[0] in _options_of(name)]
        elsewhere = [option for name in STRATEGIES for option in _options_of(name)]
        near = did_you_mean(unknown[0], [*known, *_OF_ALL, *elsewhere])
        near = f" {' and '.join(takers)} {'have' if len(takers) > 1 else 'has'} it." if takers else near
        raise ValueError(f"strategy {strategy!r} has no option {unknown[0]!r}; it has {has}.{near}")


def tasks_of(strategy: str, options: Mapping[str, Any]) -> tuple[Task, ...]:
    """What a strategy, with these options, has done by a model before the reader."""
    if strategy == "kirag":
        return ("extend",) if options.get("constructor", True) else ()
    return ("think",) if strategy == "ircot" else ()


def _options_of(strategy: str) -> list[str]:
    parameters = signature(STRATEGIES[strategy]).parameters
    return [name for name, value in parameters.items() if value.kind is value.KEYWORD_ONLY]
