"""What a provider repeats of what it was sent, which says nothing of why it refused: a document is no provider."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FEWEST = 3  # words in a row that are in both: fewer are in many texts by chance
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrtbf])|\\+")  # of JSON, or of JSON within JSON
_WORD = re.compile(r"[a-zA-Z0-9_]+|[^\W\x00-\x7f]")  # elsewhere letters: not every script has blanks between words
_MARKS = "\"'`“”«»„"

Run = tuple[str, ...]


def without_echoes(said: str, sent: Sequence[str]) -> str:
    """A provider's words but for what they repeat of the texts that it was sent.

    Repeated is what has three words in a row of one of them, or just two in quotation marks, however JSON wrote either.
    A single word stays: parameters and codes are named by one. What repeats nothing is given back as it is.
    """
    as_told, said = said, _unescape(said)
    words = list(_WORD.finditer(said))
    runs = {start: _run(words[start : start + _FEWEST]) for start in range(len(words) - _FEWEST + 1)}
    pairs = {start: _run(words[start : start + 2]) for start in range(len(words) - 1) if _is_quoted(said, words, start)}
    wanted = {*runs.values(), *pairs.values()}
    echoes = {run for text in sent for run in _runs_in(text) if run in wanted} if wanted else set()
    if not echoes:
        return as_told
    starts = [(start, run) for found in (runs, pairs) for start, run in found.items() if run in echoes]
    repeated = {place for start, run in starts for place in range(start, start + len(run))}
    return _but_for(said, [words[place].span() for place in sorted(repeated)])


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)


def _run(words: Sequence[re.Match[str]]) -> Run:
    return tuple(word[0].casefold() for word in words)


def _is_quoted(said: str, words: Sequence[re.Match[str]], start: int) -> bool:
    """Whether a word and the next one stand in quotation marks, and nothing else there."""
    before, behind = words[start].start() - 1, words[start + 1].end()
    return before >= 0 and said[before] in _MARKS and said[behind : behind + 1] in set(_MARKS)


def _runs_in(text: str) -> Iterator[Run]:
    """All that stands together in a text: each two words, and each three."""
    last: Run = ()
    for word in _WORD.finditer(_unescape(text)):
        last = (*last[1 - _FEWEST :], word[0].casefold())
        yield last
        yield last[-2:]


def _but_for(said: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, behind = [], 0
    for start, end in spans:
        parts.append(said[behind:start])
        behind = end
    return "".join([*parts, said[behind:]])
