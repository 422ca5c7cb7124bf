"""Candidate names in scripts without capitals: what stands in brackets, and short runs between function words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from minirag.naming.words import (
    COMMON_HAN,
    HAN,
    HAN_BREAKS,
    HANGUL,
    HIRAGANA,
    KATAKANA,
    KOREAN_ENDINGS,
    KOREAN_FUNCTION_WORDS,
    MARKS,
    SEMITIC_AND_INDIC,
    SPACED_FUNCTION_WORDS,
    UNSPACED,
    UNSPACED_BREAKS,
)

_BRACKETED = re.compile(r"[《〈「『【“‘«]([^《〈「『【“‘«》〉」』】”’»]{1,40})[》〉」』】”’»]")
_KATAKANA = re.compile(rf"[{KATAKANA}]{{2,}}(?:[=＝][{KATAKANA}]+)*")
_HAN_RUN = re.compile(rf"[{HAN}]+(?:[·・‧•][{HAN}]+)*")
_HANGUL_WORD = re.compile(rf"[{HANGUL}]+")
_SPACED_WORD = re.compile(rf"[{SEMITIC_AND_INDIC}{MARKS}]+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]+")
_SCRIPTS = re.compile(
    rf"(?P<east>[{HAN}{HIRAGANA}{KATAKANA}])|(?P<korean>[{HANGUL}])|(?P<spaced>[{SEMITIC_AND_INDIC}])|[{UNSPACED}]"
)
_MOST_HAN = 10
_MOST_UNSPACED = 24


def uncased_names(sentence: str) -> Iterator[str]:
    """Candidate names of a sentence with characters of such a script; some may come twice."""
    for match in _BRACKETED.finditer(sentence):
        yield " ".join(match[1].split())
    if re.search(rf"[{HAN}{KATAKANA}]", sentence):
        yield from _east_asian(sentence)
    if re.search(rf"[{HANGUL}]", sentence):
        yield from _korean(sentence)
    if re.search(rf"[{SEMITIC_AND_INDIC}]", sentence):
        yield from _spaced(sentence)
    if re.search(rf"[{UNSPACED}]", sentence):
        yield from _unspaced(sentence)


def _east_asian(sentence: str) -> Iterator[str]:
    for match in _KATAKANA.finditer(sentence):
        yield match.group().strip("・") if len(match.group()) < 40 else ""
    for match in _HAN_RUN.finditer(sentence):
        for piece in HAN_BREAKS.split(match.group()):
            if 2 <= len(piece) <= _MOST_HAN and piece not in COMMON_HAN:
                yield piece


def _korean(sentence: str) -> Iterator[str]:
    for match in _HANGUL_WORD.finditer(sentence):
        word = match.group()
        if word in KOREAN_FUNCTION_WORDS or word.endswith("다") or len(word) > _MOST_HAN:
            continue
        ending = next((end for end in KOREAN_ENDINGS if word.endswith(end) and len(word) - len(end) >= 2), "")
        stem = word.removesuffix(ending)
        if len(stem) >= 2 and stem not in KOREAN_FUNCTION_WORDS:
            yield stem


def _spaced(sentence: str) -> Iterator[str]:
    """Runs of up to four words between function words, and each two neighbours of a longer run."""
    run: list[str] = []
    end = 0
    for match in _SPACED_WORD.finditer(sentence):
        word = match.group()
        if run and sentence[end : match.start()] not in (" ", "-", "־"):
            yield from _pieces(run)
            run = []
        if word in SPACED_FUNCTION_WORDS:
            yield from _pieces(run)
            run = []
        else:
            run.append(word)
        end = match.end()
    yield from _pieces(run)


def _pieces(run: list[str]) -> Iterator[str]:
    if 1 <= len(run) <= 4 and (len(run) > 1 or len(run[0]) > 2):
        yield " ".join(run)
    if len(run) > 2:
        for left, right in pairwise(run):
            yield f"{left} {right}"


def _unspaced(sentence: str) -> Iterator[str]:
    for match in _UNSPACED_RUN.finditer(sentence):
        for piece in UNSPACED_BREAKS.split(match.group()):
            if 3 <= len(piece) <= _MOST_UNSPACED:
                yield piece
