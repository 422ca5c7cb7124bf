"""Ollama's window: asked for as large as the prompts need, and a prompt that was cut all the same is noticed.

Ollama gives a model a window of 4,096 tokens where nobody says more and the graphics memory is small (2,048 before
2025), however many the model was trained with, and cuts what is longer without a word; of one that does not fit, recent
versions keep what fills half of the window. Another window than the last request's makes it load the model anew, a
smaller one too. More than the model was trained with is lowered to that.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from minirag.llm.routing import Route
from minirag.llm.tokens import estimate_all

NUM_CTX = "num_ctx"  # Ollama's name of the window, a parameter that LiteLLM passes on
_SMALLEST = 8192  # tokens; holds what most prompts of minirag need, so that the model is loaded once
_REPLY = 4096  # tokens for a reply that nothing limits, a model's thoughts included
_NOTICED = 1000  # tokens; a prompt that was cut to less than this is not told from one that was cached
_PLAIN = re.compile(r"[A-Za-z ]+")

_log = logging.getLogger(__name__)


def is_ollama(route: Route) -> bool:
    """Whether a model is asked by Ollama's own protocol."""
    return route.library == "litellm" and route.model.partition("/")[0] in ("ollama", "ollama_chat")


class Window:
    """The window that one model of Ollama's is given. It grows by doubling, and never shrinks."""

    def __init__(self, model: str, given: int | None) -> None:
        """`given` is the user's own, which stays as it is."""
        self._model = model
        self._given = given
        self._tokens = _SMALLEST
        self._has_warned = False

    def parameters(self, sent: int, most_received: int | None) -> dict[str, int]:
        """What is sent beside a request of so many tokens, by estimate; nothing where the user says it."""
        if self._given is not None:
            return {}
        needed = sent + (most_received or _REPLY)
        while self._tokens < needed:
            self._tokens *= 2
        return {NUM_CTX: self._tokens}

    def check(self, messages: Sequence[Mapping[str, str]], counted: int) -> None:
        """Warn, once, where the number of tokens that the model read shows that it did not get all of the messages."""
        if self._has_warned or not _is_cut(messages, counted):
            return
        self._has_warned = True
        window = f"num_ctx={self._given or self._tokens}"
        _log.warning(
            "%s read %d tokens of a prompt that has more: Ollama cut it, as the model has a smaller window than %s. "
            "Replies may be wrong. Give the prompt less (k=), or a larger num_ctx=, or take another model",
            *(self._model, counted, window),
        )


def _is_cut(messages: Sequence[Mapping[str, str]], counted: int) -> bool:
    """Whether so many tokens are too few, though some versions do not count the constant part when they had it."""
    constant = estimate_all(str(each["content"]) for each in messages if each["role"] == "system")
    least = sum(_least_tokens(str(each["content"])) for each in messages)
    return counted >= _NOTICED and counted + constant < least


def _least_tokens(text: str) -> int:
    """Fewer than any model's tokenizer makes of a text."""
    plain = sum(map(len, _PLAIN.findall(text)))
    narrow = len(text.encode("ascii", "ignore"))
    wide = len(text.encode("utf-8", "surrogatepass")) - narrow
    return math.floor(plain / 6 + (narrow - plain) / 4 + wide / 6)


def given_window(route: Route, parameters: Mapping[str, Any]) -> int | None:
    """The window that the user gives a model of Ollama's, which bounds the prompts too; None without."""
    given = parameters.get(NUM_CTX) if is_ollama(route) else None
    return given if isinstance(given, int) and given > 0 else None
