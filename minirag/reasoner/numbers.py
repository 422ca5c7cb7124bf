"""Whether the numbers in a text stand in what it rests on, in whatever way they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set

_NUMBER = re.compile(r"\d+(?:[.,:/'’·-]\d+| \d{3}(?!\d))*")
_RANGE = re.compile(r"\b(\d{2})(\d{2})\s*[-/]\s*(\d{2})\b")
_SCALED = re.compile(
    r"(?<!\d)(\d{1,15}(?:[.,]\d{1,15})?)\s?(hundred|thousand|k|million|mn|m|billion|bn|b|trillion)\b", re.IGNORECASE
)
_WORD = re.compile(r"[a-z]+")
_SCALES = {"h": 2, "th": 3, "k": 3, "m": 6, "b": 9, "tr": 12}  # powers of ten, by how a scale's word begins
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_ORDINALS = (
    *("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", *(f"{unit}th" for unit in _UNITS[13:])),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_WORDS = {
    **{word: number for number, word in enumerate(_UNITS)},
    **{word: number for number, word in enumerate(_ORDINALS)},
    **{word: number for number, word in enumerate(_MONTHS, start=1)},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
    **{f"{word[:-1]}ieth": 10 * number for number, word in enumerate(_TENS, start=2)},
    **{"once": 1, "twice": 2, "dozen": 12, "half": 2, "hundred": 100, "thousand": 1000, "million": 10**6},
}


def foreign_numbers(text: str, sources: Iterable[str]) -> tuple[str, ...]:
    """The numbers of a text that none of its sources has, as the text writes them, each once.

    Digits of every script are the same, with or without separators ("1,920" is "1920" and "١٩٢٠"). A source's range
    ("1914–18"), scale ("1.2 million"), month and English number word ("twelve", "third") count as digits.
    """
    plain = _plain(text)
    numbers = list(_NUMBER.finditer(plain))
    if not numbers:
        return ()
    known = {value for source in sources for value in _values(_plain(source))}
    scaled = {found.start(): _scaled(found) for found in _SCALED.finditer(plain)}
    foreign = [
        number[0]
        for number in numbers
        if not (_whole(number[0]) in known or scaled.get(number.start()) in known or _has_parts(number[0], known))
    ]
    return tuple(dict.fromkeys(foreign))


def _has_parts(number: str, known: Set[str]) -> bool:
    """Whether all groups of digits are known; behind a year, two digits may stand for another one ("1914-18")."""
    groups = re.findall(r"\d+", number)
    century = groups[0][:2] if len(groups[0]) == 4 else ""
    return all(_bare(group) in known or (len(group) == 2 and century + group in known) for group in groups)


def _plain(text: str) -> str:
    """With ASCII digits and plain dashes; what only looks different is the same."""
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii():
        text = "".join(_plain_character(character) for character in text)
    return text


def _plain_character(character: str) -> str:
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.digit(character))
    if character in "٬٫":
        return ","
    return "-" if unicodedata.category(character) == "Pd" or character == "\u2212" else character


def _values(text: str) -> Iterator[str]:
    """All numbers that a source can be said to hold."""
    for run in re.findall(r"\d+", text):
        yield _bare(run)
    for number in _NUMBER.finditer(text):
        for part in re.split(r"[-/:]", number[0]):
            yield _whole(part)
    for century, _, end in _RANGE.findall(text):
        yield century + end
    for found in _SCALED.finditer(text):
        yield _scaled(found)
    before = 0
    for word in _WORD.findall(text.lower()):
        value = _WORDS.get(word, -1)
        if value >= 0:
            yield str(value)
            if before and 0 < value < 10:
                yield str(before + value)
        before = value if word in _TENS else 0


def _scaled(found: re.Match[str]) -> str:
    """The number that digits and a scale's word make."""
    power = next(power for start, power in _SCALES.items() if found[2].lower().startswith(start))
    whole, _, part = found[1].replace(",", ".").partition(".")
    return _bare(whole + part[:power].ljust(power, "0"))


def _whole(number: str) -> str:
    """Without separators."""
    return _bare(re.sub(r"\D", "", number))


def _bare(digits: str) -> str:
    return digits.lstrip("0") or "0"
