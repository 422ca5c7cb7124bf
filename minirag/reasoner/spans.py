"""Answers inside a sentence: names, dates, places, numbers and nationalities near the words that ask for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from minirag.naming.names import TOKEN, name_spans, normalise_name
from minirag.naming.words import DEMONYMS
from minirag.reasoner.dates import DATE
from minirag.reasoner.questions import Kind, stem

Span = tuple[int, int]

_FAR = 1000.0
_PLACE_WORD = re.compile(r"\b(?:in|at|near|to|from|of|on|outside)\s(?:the\s)?(?:\w+\sof\s)?\Z")
_ARTICLE = re.compile(r"\b[Aa]n?\s(?:\d{4}\s)?\Z")
_NOUN = re.compile(r"\s(?!(?:and|or|in|on|of|at|by|for|from|to|with|who|that|which|is|was|where|when|as)\b)[a-z]")
_IN_PLACE = re.compile(r"\b(?:in|at|near|outside)\s(?:the\s)?\Z")
# From a word of the question to who did it, with no other verb on the way.
_BY = re.compile(r"(?:(?!\w{2,20}ed\b)[^,.;])*\bby\s(?:(?:the|his|her|its|their)\s)?")
_CLAUSE = 80
_AGENT = 45.0
_NUMBER = re.compile(
    r"\b(?:(?:about|around|over|nearly|approximately)\s)?(?:\d[\d,.]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|hundred)"
    r"(?:\s(?:hundred|thousand|million|billion))?"
    r"(?:\s(?:(?:square|cubic)\s)?(?:km|kilomet(?:re|er)s?|miles?|m|met(?:re|er)s?|cm|centimet(?:re|er)s?|mm|millimet(?:re|er)s?|"
    r"feet|foot|ft|inches|inch|acres?|hectares?|ha|tonnes?|tons?|kg|kilograms?|lit(?:re|er)s?|years?))?\b"
)
_CAUSE = re.compile(
    r"\b(?:died|dies|death|killed)\b[^.;]{0,60}?\b(?:of|from|by|due to|after)\s(?P<cause>[^.,;()]{3,60})"
)
_PARENTHESIS = re.compile(r"\((?P<inner>[^()]{4,200})\)")
_LIFE_PARTS = re.compile(r"\s?[–—]\s?|\s-\s|;\s?died\s|,\s?died\s|(?<=\d)-\s?(?=[\dA-Z])")
_NO_PLACE = re.compile(r"\b(?:born|died|in|at|on|c|ca|circa|née|or|aged?|about|before|after)\b\.?")


@dataclass(frozen=True, slots=True)
class Found:
    """A possible answer.

    Attributes:
        text: Quoted.
        distance: How far it is from what the question asks for, in characters, roughly; from 1000 on, nothing of that
            is in the sentence.
    """

    text: str
    distance: float


def life_terms(sentence: str) -> frozenset[str]:
    """What a parenthesis like "(1900 – 1980)" says without words."""
    return frozenset(("born", "die")) if len(_life(sentence)) == 2 else frozenset()


def find_answer(kind: Kind, sentence: str, wanted: Set[str], excluded: Set[str]) -> Found | None:
    """The part of a sentence that answers.

    Args:
        kind: What kind of answer is wanted.
        sentence: Where to look.
        wanted: Terms of the question; what stands near them, rather after them, is preferred.
        excluded: Normalised names that cannot be the answer, because the question names them.

    Returns:
        None when the sentence has nothing of this kind.
    """
    known = _of_life(kind, sentence, wanted)
    if known:
        return Found(known, 0.0)
    anchors = [match.span() for match in TOKEN.finditer(sentence) if stem(match.group()) in wanted]
    best: Found | None = None
    for span in _spans(kind, sentence):
        text = sentence[span[0] : span[1]]
        distance = _distance(span, anchors) + (_strangeness(span, sentence, anchors) if kind == "person" else 0.0)
        if (best is None or distance < best.distance) and normalise_name(text) not in excluded:
            best = Found(text[-4:] if kind == "year" and text[-4:].isdigit() else text, distance)
    return best


def _distance(span: Span, anchors: list[Span]) -> float:
    """How far a span is from the nearest word of the question; what stands before that word counts as further."""
    best = _FAR + span[0]
    for start, end in anchors:
        if start >= span[0] and end <= span[1]:
            continue
        best = min(best, span[0] - end if span[0] >= end else 2.0 * (start - span[1]) + 15)
    return best


def _strangeness(span: Span, sentence: str, anchors: list[Span]) -> float:
    """What to add to the distance of a person's name: less where it names who did it, more where it names a place."""
    if _IN_PLACE.search(sentence, max(0, span[0] - 12), span[0]):
        return _AGENT
    after = max((end for _, end in anchors if end <= span[0]), default=span[0])
    return -_AGENT if span[0] - after < _CLAUSE and _BY.fullmatch(sentence, after, span[0]) else 0.0


def _life(sentence: str) -> list[str]:
    """The parts for birth and death of the first parenthesis with a date in it."""
    for parenthesis in _PARENTHESIS.finditer(sentence[:600]):
        inner = parenthesis["inner"]
        if DATE.search(inner):
            parts = [part for part in _LIFE_PARTS.split(inner) if DATE.search(part)]
            return parts if len(parts) <= 2 else [parts[0], parts[-1]]
    return []


def _of_life(kind: Kind, sentence: str, wanted: Set[str]) -> str:
    """The date or place of birth or death out of a parenthesis; "" when it has none or none is asked for."""
    if kind not in ("date", "year", "place") or not wanted & {"born", "die"}:
        return ""
    parts = _life(sentence)
    if not parts or ("die" in wanted and len(parts) < 2 and "died" not in parts[0]):
        return ""
    part = parts[-1] if "die" in wanted else parts[0]
    date = DATE.search(part)
    if kind == "place":
        place = _NO_PLACE.sub(" ", DATE.sub(" ", part))
        name = " ".join(place.split()).strip(" ,;:?.")
        return name if name[:1].isupper() and len(name) < 60 else ""
    return "" if date is None else date.group()[-4:] if kind == "year" else date.group()


def _spans(kind: Kind, sentence: str) -> Iterator[Span]:
    if kind in ("date", "year"):
        yield from (match.span() for match in DATE.finditer(sentence))
    elif kind == "number":
        yield from (match.span() for match in _NUMBER.finditer(sentence))
    elif kind == "nation":
        yield from _nations(sentence)
    elif kind == "cause":
        yield from (match.span("cause") for match in _CAUSE.finditer(sentence))
    elif kind == "place":
        yield from _places(sentence)
    elif kind == "person":
        yield from (
            span for span in name_spans(sentence) if not _IN_PLACE.search(sentence, max(0, span[0] - 12), span[0])
        )
    else:
        yield from (span for span in name_spans(sentence) if not _is_adjective(span, sentence))


def _is_adjective(span: Span, sentence: str) -> bool:
    """Whether a name only says of what kind something is: "a Norwegian film director", "a 1920 British film"."""
    return bool(_ARTICLE.search(sentence, max(0, span[0] - 12), span[0]) and _NOUN.match(sentence, span[1]))


def _nations(sentence: str) -> Iterator[Span]:
    for match in TOKEN.finditer(sentence):
        if match.group().lower().rsplit("-", 1)[-1] in DEMONYMS:
            yield match.end() - len(match.group().rsplit("-", 1)[-1]), match.end()


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
