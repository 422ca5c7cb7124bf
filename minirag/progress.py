"""What a long run shows while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Listener = Callable[[str, int, int], None]
_DELAY = 1.0  # seconds before a bar appears


class Progress:
    """Bars of tqdm, a listener of the user's own, or silence."""

    def __init__(self, show: bool | Listener) -> None:
        """Choose.

        Args:
            show: True for bars where somebody sees them, on a terminal or below a notebook's cell; False for nothing;
                or a function that is told the stage's name, how many of its steps are done, and how many there are.
        """
        self._show = show

    @property
    def is_shown(self) -> bool:
        """Whether anybody is told anything."""
        return self._show is not False

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], None]]:
        """One stage of a run; gives the function that counts steps done, from any thread."""
        if total == 0 or self._show is False:
            yield lambda steps: None  # noqa: ARG005
        elif self._show is True:
            with _bar(name, total) as bar:
                yield lambda steps: bar.update(steps)
        else:
            yield _listening(self._show, name, total)


def _listening(listener: Listener, name: str, total: int) -> Callable[[int], None]:
    done = 0

    def count(steps: int) -> None:
        nonlocal done
        done += steps
        listener(name, done, total)

    return count


def _bar(name: str, total: int) -> Any:  # noqa: ANN401  tqdm has no types
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets falls back to text
        from tqdm.auto import tqdm

    in_notebook = any(each.__module__ == "tqdm.notebook" for each in tqdm.__mro__)
    return tqdm(total=total, desc=name, delay=_DELAY, leave=False, disable=not (in_notebook or sys.stderr.isatty()))
