"""How long a provider asks to wait: in a header, or in words."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

_RETRY_IN = re.compile(r"(?:retry in|retry after|try again in|retryDelay\W+)\s*([\d.]+)\s*(ms|s|m)\b", re.IGNORECASE)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def asked_wait(error: Exception, text: str) -> float | None:
    """Seconds that an exception of openai or LiteLLM asks to wait, None if it does not; `text` is what it says."""
    for headers in (getattr(getattr(error, "response", None), "headers", None), _litellm_headers(error)):
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            value = headers.get(name) if headers else None
            seconds = _seconds(value, unit) if value else None
            if seconds is not None:
                return seconds
    found = _RETRY_IN.search(text)
    return _seconds(found[1], _UNIT_SECONDS[found[2].lower()]) if found else None


def _litellm_headers(error: Exception) -> Any:  # noqa: ANN401
    return getattr(error, "litellm_response_headers", None)


def _seconds(value: str, unit: float) -> float | None:
    try:
        seconds = float(value) * unit
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, OverflowError):  # of no date, and of one in a year or zone that there is not
            return None
    return max(0.0, seconds) if seconds < float("inf") else None  # also drops nan
