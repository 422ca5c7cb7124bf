"""About how many tokens a text has, before its model counts them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z ]+")


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, rather too many: no tokenizer is asked, as each model has its own.

    Four letters make a token, digits and signs far fewer; of other scripts, five bytes make three.
    """
    plain = sum(len(found) for found in _PLAIN.findall(text))
    narrow = len(text.encode("ascii", "ignore"))
    wide = len(text.encode("utf-8", "surrogatepass")) - narrow
    return math.ceil(plain / 4 + (narrow - plain) / 1.6 + wide * 0.6)


def estimate_all(texts: Iterable[str]) -> int:
    """The sum over several texts."""
    return sum(map(estimate_tokens, texts))
