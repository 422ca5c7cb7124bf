"""Dates as texts write them: where they stand, and which is earlier."""

from __future__ import annotations

import re

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
# A number of three digits is a year only where the words before say so.
_YEAR = r"(?:1\d{3}|20\d{2}|(?:(?<=in )|(?<=year )|(?<=c\. )|(?<=died )|(?<=born ))[3-9]\d{2})"
DATE = re.compile(
    rf"(?<!\d[.,])(?<![$£€])\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{_MONTH}),?\s?(?P<year>\d{{3,4}})"
    rf"|(?P<month2>{_MONTH})\s(?:(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s)?(?P<year2>\d{{3,4}})"
    rf"|(?P<year3>{_YEAR}))\b(?!\s?%|,\d)"
)
_MONTH_NUMBERS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}


def when(date: re.Match[str]) -> tuple[int, int, int]:
    """A match of `DATE` as (year, month, day), 0 where it does not say."""
    month = (date["month"] or date["month2"] or "")[:3].lower()
    year = date["year"] or date["year2"] or date["year3"]
    return int(year), _MONTH_NUMBERS.get(month, 0), int(date["day"] or date["day2"] or 0)
