"""Answers inside a sentence: names, dates, places, numbers and nationalities near the words that ask for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from minirag.reasoner.dates import DATE
from minirag.reasoner.names import TOKEN, name_spans, normalise_name
from minirag.reasoner.questions import Kind, stem
from minirag.reasoner.words import DEMONYMS

Span = tuple[int, int]

_PLACE_WORD = re.compile(r"\b(?:in|at|near|to|from|of|on|outside)\s(?:the\s)?(?:\w+\sof\s)?\Z")
_NUMBER = re.compile(
    r"\b(?:(?:about|around|over|nearly|approximately)\s)?(?:\d[\d,.]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|hundred)"
    r"(?:\s(?:hundred|thousand|million|billion|km|miles|feet|metres|meters|years))?\b"
)
_LIFE = re.compile(r"\([^()]{0,80}?(?P<born>\d{3,4})[^()\d]{1,60}[–—-][^()]{0,60}?\d{3,4}[^()]{0,40}\)")


def life_terms(sentence: str) -> frozenset[str]:
    """What a parenthesis like "(1900 – 1980)" says without words."""
    return frozenset(("born", "die")) if _LIFE.search(sentence) else frozenset()


def best_span(kind: Kind, sentence: str, wanted: Set[str], excluded: Set[str]) -> str:
    """The part of a sentence that answers.

    Args:
        kind: What kind of answer is wanted.
        sentence: Where to look.
        wanted: Terms of the question; what stands near them, rather after them, is preferred.
        excluded: Normalised names that cannot be the answer, because the question names them.

    Returns:
        The quoted part, or "" when the sentence has none of this kind.
    """
    spans = [span for span in _spans(kind, sentence) if normalise_name(sentence[span[0] : span[1]]) not in excluded]
    if not spans:
        return ""
    fixed = _of_life(kind, sentence, wanted, spans)
    if fixed is not None:
        return _quoted(kind, sentence, fixed)
    anchors = [match.span() for match in TOKEN.finditer(sentence) if stem(match.group()) in wanted]
    return _quoted(kind, sentence, min(spans, key=lambda span: _distance(span, anchors)))


def _quoted(kind: Kind, sentence: str, span: Span) -> str:
    text = sentence[span[0] : span[1]]
    return text[-4:] if kind == "year" and text[-4:].isdigit() else text


def _distance(span: Span, anchors: list[Span]) -> float:
    """How far a span is from the nearest word of the question; what stands before that word counts as further."""
    best = 1000.0 + span[0]
    for start, end in anchors:
        if start >= span[0] and end <= span[1]:
            continue
        best = min(best, span[0] - end if span[0] >= end else 2.0 * (start - span[1]) + 15)
    return best


def _of_life(kind: Kind, sentence: str, wanted: Set[str], spans: list[Span]) -> Span | None:
    """The date of birth or death out of a parenthesis of both."""
    life = _LIFE.search(sentence)
    if life is None or kind not in ("date", "year"):
        return None
    inside = [span for span in spans if life.start() <= span[0] and span[1] <= life.end()]
    if not inside or not wanted & {"born", "die"}:
        return None
    return inside[-1] if "die" in wanted else inside[0]


def _spans(kind: Kind, sentence: str) -> Iterator[Span]:
    if kind in ("date", "year"):
        yield from (match.span() for match in DATE.finditer(sentence))
    elif kind == "number":
        yield from (match.span() for match in _NUMBER.finditer(sentence))
    elif kind == "nation":
        yield from (match.span() for match in TOKEN.finditer(sentence) if match.group().lower() in DEMONYMS)
    elif kind == "place":
        yield from _places(sentence)
    else:
        yield from name_spans(sentence)


def _places(sentence: str) -> Iterator[Span]:
    """Names after "in" and the like, each with the wider place that follows a comma."""
    spans = name_spans(sentence)
    taken = 0
    for place, (start, end) in enumerate(spans):
        if start < taken or not _PLACE_WORD.search(sentence, max(0, start - 30), start):
            continue
        for following in spans[place + 1 :]:
            if sentence[end : following[0]] != ", ":
                break
            end = following[1]
        taken = end
        yield start, end
