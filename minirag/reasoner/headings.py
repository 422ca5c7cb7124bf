"""Which lines of a text are headings, which name what follows and say nothing themselves."""

from __future__ import annotations

import re

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


def is_heading(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]`, a sentence, is a heading.

    One is what a "#" stands before or a rule of "=" or "-" under, and a short line without a verb and a full stop that
    stands alone above a paragraph.
    """
    line_start = text.rfind("\n", 0, start) + 1
    if text[line_start:start].strip():
        return False
    sentence = text[start:end]
    if _MARKED.match(sentence) and "\n" not in sentence:
        return True
    if _UNDERLINE.match(text, end):
        return True
    return _is_short(sentence) and _stands_alone(text, line_start) and _leads(text, end)


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
