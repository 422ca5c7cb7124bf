"""Which lines of a text are headings, which name what follows and say nothing themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from minirag.naming.names import TOKEN
from minirag.naming.words import FUNCTION_WORDS

_MARKED = re.compile(r"#{1,6}[ \t]")
_UNDERLINE = re.compile(r"\n[ \t]*([=~-])\1{2,}[ \t]*(?:\n|\Z)")
_FOLLOWED = re.compile(r"[ \t]*\n\s*(?=[\w\"“«(])([^\n]+)")
_ITEM = re.compile(r"[-*•·+>|–—]|\(?\d{1,3}[.)]\s|\(?[a-zA-Z][.)]\s")
_ENDS = frozenset(".!?…:;,。！？：；，、।॥؟۔|")
_LONGEST = 60  # characters
_MOST_WORDS = 8
_PARAGRAPH = 80  # characters of one line, or as many with the lines that follow
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|am|has|have|had|do|does|did|will|would|can|could|may|might|must|shall|should|isn't|"
    r"aren't|wasn't|won|wrote|led|left|met|made|built|held|knew|sold|bought|lost|became|began|sang|ran|taught|sent|"
    r"grew|found|fought|drew|gave|took|went|came|saw|died|[a-z]{2,}ed)\b"
    r"|\A(?:[A-Z][\w.'’-]*\s)+[a-z]{2,}s\s\S"
)


def find_headings(text: str, spans: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bool]:
    """Which sentences are headings: what a "#" stands before or a rule of "=" or "-" under, and lines that look so.

    Args:
        text: A passage.
        spans: Its sentences, in order.

    Returns:
        For each heading whether something is lost without it: its look is all that tells, and no sentence below it, up
        to the next heading, has all of its content words. Sentences in any language may look like headings.
    """
    found: dict[tuple[int, int], bool] = {}
    below: list[tuple[int, int]] = []
    for start, end in reversed(spans):
        marked = _is_marked(text, start, end)
        if marked or _looks_like_one(text, start, end):
            found[start, end] = not marked and not _is_said_in(text[start:end], (text[slice(*span)] for span in below))
            below = []
        else:
            below.append((start, end))
    return found


def _is_marked(text: str, start: int, end: int) -> bool:
    """Whether it is written as a heading, and is no sentence with a full stop."""
    sentence = text[start:end]
    if "\n" in sentence or sentence[-1] == "." or _line_start(text, start) is None:
        return False
    return _MARKED.match(sentence) is not None or _UNDERLINE.match(text, end) is not None


def _looks_like_one(text: str, start: int, end: int) -> bool:
    """Whether it is a short line without a verb and a full stop that stands alone above a paragraph."""
    if not _is_short(text[start:end]):
        return False
    line_start = _line_start(text, start)
    return line_start is not None and _stands_alone(text, line_start) and _leads(text, end)


def _line_start(text: str, start: int) -> int | None:
    """Where the line begins that has nothing but a little white space before `start`; None where it has more."""
    first = max(0, start - _LONGEST)
    before, newline, indent = text[first:start].rpartition("\n")
    if indent.strip() or (first and not newline):
        return None
    return first + len(before) + len(newline)


def _is_said_in(line: str, sentences: Iterable[str]) -> bool:
    """Whether one of the sentences has all names, numbers and content words of a line; all words where it has none."""
    words = {*_words(line)} - FUNCTION_WORDS or {*_words(line)}
    return bool(words) and any(words <= {*_words(sentence)} for sentence in sentences)


def _words(text: str) -> Iterator[str]:
    return (word.lower().removesuffix("'s").removesuffix("’s") for word in TOKEN.findall(text))


def _stands_alone(text: str, line_start: int) -> bool:
    """Whether what is above a line is blank, or ended."""
    above = text[max(0, line_start - _LONGEST) : line_start].rstrip(" \t\r").removesuffix("\n").rstrip(" \t\r")
    return not above or above[-1] in _ENDS or above[-1] == "\n"


def _is_short(line: str) -> bool:
    """Whether a line may be a heading by its own look."""
    if len(line) > _LONGEST or len(line.split()) > _MOST_WORDS or "\n" in line or line[-1] in _ENDS:
        return False
    if line[0].islower() or _ITEM.match(line) or ": " in line or " | " in line:
        return False
    return _VERB.search(line) is None


def _leads(text: str, end: int) -> bool:
    """Whether a paragraph begins in the next line that is not blank: long, or a sentence with a full stop."""
    followed = _FOLLOWED.match(text, end)
    if followed is None or _ITEM.match(followed[1]):
        return False
    line = followed[1].rstrip()
    return len(line) > _PARAGRAPH or (line[-1] in _ENDS and len(line.split()) > _MOST_WORDS // 2)
