"""How long a provider asks to wait: in a header, or in words."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

_UNIT = r"(?:millis\w*|ms|h|hours?|hrs?|m|min(?:ute)?s?|s|sec(?:ond)?s?)(?![a-z])"
_PART = rf"\d+(?:\.\d+)?\s*{_UNIT}"
_PARTS = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_IN_WORDS = re.compile(  # "try again in 1m30.5s", "retry after 26 seconds", "wait for 1 minute and 5 s"
    r"(?:\b(?:re)?try(?: again| your request)?\s+(?:in|after)|\bresets?\s+(?:in|after)|\bwait(?:\s+for)?|retryDelay\W+)"
    rf"\s*(?:about |at least |another )?({_PART}(?:(?:,?\s+and\s+|,?\s*){_PART})*)",
    re.IGNORECASE,
)
_AS_FIELD = re.compile(  # "retry_after": 26, of a body in JSON
    r"\bretry[-_ ]?after(?:[-_]?(ms)|[-_]?sec(?:ond)?s)?[\"']?\s*[:=]\s*[\"']?(\d+(?:\.\d+)?)(?!\s*[\w.])",
    re.IGNORECASE,
)
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}  # by their first letters, but for thousandths


def asked_wait(error: Exception, text: str) -> float | None:
    """Seconds that an exception of openai or LiteLLM asks to wait, None if it does not; `text` is what it says."""
    for headers in (getattr(getattr(error, "response", None), "headers", None), _litellm_headers(error)):
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            value = headers.get(name) if headers else None
            seconds = _seconds(value, unit) if value else None
            if seconds is not None:
                return seconds
    return wait_in_words(text)


def wait_in_words(text: str) -> float | None:
    """Seconds that a text asks to wait, None if it does not."""
    found = _IN_WORDS.search(text)
    if found is not None:
        return sum(float(number) * _unit_seconds(unit) for number, unit in _PARTS.findall(found[1]))
    field = _AS_FIELD.search(text)
    return float(field[2]) * (0.001 if field[1] else 1.0) if field is not None else None


def _unit_seconds(unit: str) -> float:
    unit = unit.lower()
    return 0.001 if unit.startswith(("ms", "milli")) else _UNIT_SECONDS[unit[0]]


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
