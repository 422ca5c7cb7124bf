"""Knowledge triples by rules: few and sure rather than many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from minirag.naming.names import name_spans
from minirag.naming.words import UNCASED
from minirag.reasoner.dates import DATE
from minirag.reasoner.facts import Sentence

Triple = tuple[str, str, str]

_OWNER = re.compile(r"(?:His|Her|Its|Their)\s(?P<what>[a-z]+(?:\s[a-z]+)?)\s(?:is|was|are|were)\s(?:the\s)?")
_LIFE = re.compile(r"\A[^()]{0,60}?\(([^()]{3,160})\)")
_BORN = re.compile(r"\bborn\b")
_PLACE = re.compile(r"\A\s*,?\s*(?:in|at)\s+([^\d,;()–-][^\d;()–-]*)")
_COPULA = re.compile(
    r"\A[\s,]*(?:\([^()]*\))?[\s,]*(?:also known as [^,]{2,40}, )?"
    r"(?P<verb>is|was|are|were)\s(?P<what>(?:an?|the|one of)\s[^,;:()]{3,})"
)
_NOUN_PHRASE_ENDS = re.compile(
    r"(?<!-)\s(?:who|which|that|whose|where|when|and (?:was|is|has)|is|was|by|from the|"
    r"\w+ed (?:by|in|at|on|to|as|from)|starring|written|based|known|born|set in|best|from \d|in \d|on the)\b"
)
_VERBS = (
    r"(?:\w+(?:ed|ing)|born|won|wrote|written|led|left|met|made|built|held|known|sold|bought|lost|became|began|sung|"
    r"sang|set|run|ran|taught|sent|grew|found|fought|drawn|stars|features|plays|lives|works|lies|includes|contains|borders)"
)
_PREPOSITIONS = r"(?:by|in|at|on|of|from|to|with|for|as|into|near|under|against|between|through)"
_RELATION = re.compile(
    rf"(?:^|[\s,;(])(?P<relation>(?:(?:is|was|are|were)\s)?{_VERBS}(?:\s(?:and|or)\s\w+ed)?(?:\s(?:as|up|out|off))?(?:\s{_PREPOSITIONS})?"
    rf"|[a-z][a-z-]{{2,}}\s(?:of|in|to|for|at|by))(?:\s(?:the|a|an|his|her|its|their|both|former|fellow|novelist|director|actor))*\s\Z"
)
_LIST_GAP = re.compile(r"\A(?:,|,?\s?and|,?\s?&|,\sand)?\s\Z")
_RANK = re.compile(
    r"(?:King|Queen|Prince|Princess|Duke|Duchess|Earl|Count|Countess|Baron|Baroness|Lord|Lady|Marquess) of\b"
)
_APPOSITION = re.compile(
    r"\A(?:\s?\(\s?(?:born|died)|,\s(?:(?:the|an?|only|\w+est|\w+nd|\w+rd|\w+th|first)\s)*[a-z-]+\sof\s)"
)
_RELATIVE = re.compile(r"\b(?:who|whose|which)\b")


def find_triples(sentence: Sentence, *, most: int = 6) -> list[Triple]:
    """Knowledge triples of one sentence; their head is its topic or subject where it is about that.

    Args:
        sentence: As `read_sentences` gives it.
        most: How many at most.

    Returns:
        (head, relation, tail), none blank, each once.
    """
    name, text = sentence.topic, sentence.text
    spans = name_spans(text)
    head, body = _head(sentence, spans)
    if not head:
        return _uncased_triples(sentence, name)[:most]
    found: dict[Triple, None] = {}
    for triple in (
        *_owned(text, head, spans),
        *_life(head, text[body:]),
        *_copula(head, text[body:]),
        *_between(head, text, body, spans),
        *_uncased_triples(sentence, name),
    ):
        head_, relation, tail = (" ".join(part.split()).strip(" ,;:") for part in triple)
        if head_ and relation and tail and head_ != tail:
            found[head_, relation, tail] = None
    return list(found)[:most]


def _head(sentence: Sentence, spans: list[tuple[int, int]]) -> tuple[str, int]:
    """What the sentence is about, and where the rest of the sentence starts."""
    name, text = sentence.topic, sentence.text
    if name and text.lower().startswith(name.lower()):
        return name, len(name)
    if sentence.subject_end:
        return sentence.subject, sentence.subject_end
    first = spans[0] if spans else None
    if first is not None and first[0] <= 4:
        return (name if sentence.about_title else text[first[0] : first[1]]), first[1]
    return name, 0


def _owned(text: str, head: str, spans: list[tuple[int, int]]) -> Iterator[Triple]:
    """Relatives and the like: "His father was Crown Prince Hyomyeong"."""
    owner = _OWNER.match(text)
    if owner is not None:
        for start, end in spans:
            if start == owner.end():
                yield head, owner["what"], text[start:end]


def _life(head: str, body: str) -> Iterator[Triple]:
    """Dates and places of birth and death in the parenthesis after a name."""
    parenthesis = _LIFE.match(body)
    if parenthesis is None:
        return
    inner = parenthesis[1]
    dates = list(DATE.finditer(inner))
    if not dates:
        return
    if _BORN.search(inner[: dates[0].start()]):
        verbs = ["born"]
    elif len(dates) > 1 and re.search(r"[–—-]|\bdied\b", inner[dates[-2].end() : dates[-1].start()]):
        verbs = ["born", "died"]
        dates = [dates[0], dates[-1]]
    else:
        return
    for verb, date in zip(verbs, dates, strict=False):
        yield head, verb, date.group()
        place = _PLACE.match(inner[date.end() :])
        if place is not None:
            yield head, f"{verb} in", place[1]


def _copula(head: str, body: str) -> Iterator[Triple]:
    copula = _COPULA.match(body)
    if copula is None:
        return
    phrase = copula["what"].rstrip(".")
    end = _NOUN_PHRASE_ENDS.search(phrase)
    words = phrase[: end.start() if end else len(phrase)].split()
    if 2 <= len(words) <= 14:
        yield head, copula["verb"], " ".join(words)


def _between(head: str, text: str, body: int, spans: list[tuple[int, int]]) -> Iterator[Triple]:
    """Each name and date with the verb or role word that leads to it; a list shares one relation."""
    dates = _date_spans(text, body)
    targets = sorted([*(span for span in spans if span[0] >= body), *dates])
    relation, previous_end, previous = "", body, ""
    for start, end in targets:
        if start < previous_end:
            continue
        gap, owner = text[previous_end:start], head
        relative = _RELATIVE.search(gap)
        if relative is not None and previous:
            head = owner = previous
            gap = gap[relative.end() :]
        if not (_LIST_GAP.match(gap) and previous_end > body):
            match = _RELATION.search(gap[-80:])
            relation = match["relation"] if match else ""
        elif _RANK.match(text, start):
            relation = ""
        if previous and _APPOSITION.match(gap):
            owner = previous
        if relation:
            yield owner, relation, text[start:end]
        previous_end = end
        if (start, end) not in dates:
            previous = text[start:end]


def _date_spans(text: str, body: int) -> list[tuple[int, int]]:
    return [match.span() for match in DATE.finditer(text, body) if text[match.start() - 1] != "("]


def _uncased_triples(sentence: Sentence, name: str) -> list[Triple]:
    """For a script without capitals: the title's entity, what stands before a name, and the name."""
    if not name or not UNCASED.search(sentence.text):
        return []
    triples: list[Triple] = []
    for other in sentence.names:
        place = sentence.text.find(other)
        before = re.split(r"[，。、,.;；،؛()（）「」《》:：]", sentence.text[max(0, place - 24) : max(place, 0)])[-1]
        before = before.removeprefix(name).strip()
        if before and other not in name and name not in other and UNCASED.search(other):
            triples.append((name, before, other))
    return triples
