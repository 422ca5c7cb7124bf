"""What a reader sees, as sentences that know what they are about, and how one leads to the next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from minirag.naming.names import name_spans, normalise_name, title_entity
from minirag.reasoner.facts import read_sentences, resolve_start, to_fact
from minirag.reasoner.questions import terms_of
from minirag.reasoner.spans import life_terms
from minirag.records import ContextItem


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the context.

    Attributes:
        item: Position of the context item that it stands in.
        text: Cleaned, on one line.
        resolved: The same with its subject named where it starts with a pronoun that stands for its title.
        title: The name of what its document is about; may be blank.
        about: That name, normalised.
        names: Normalised names in it.
        terms: Its content words and those of its title, as `terms_of` gives them.
    """

    item: int
    text: str
    resolved: str
    title: str
    about: str
    names: frozenset[str]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Step:
    """One relation followed: the statement that says it, and the name that it leads to."""

    statement: Statement
    name: str


def read_context(items: Sequence[ContextItem]) -> list[Statement]:
    """All sentences of the context that say something, in order.

    A sentence of a bridging fact, or of an item without a title, is about the name that it starts with.
    """
    statements = []
    for place, item in enumerate(items):
        title = "" if item.kind == "bridge" else item.title
        for sentence in read_sentences(item.text, title, headings=True):
            text = sentence.text if sentence.topic else _without_title(sentence.text, title)
            subject = sentence.topic or sentence.subject or _first_name(text)
            terms = terms_of(f"{title} {subject} {sentence.text}") | life_terms(sentence.text)
            names = frozenset(normalise_name(name) for name in sentence.names)
            starts = sentence.topic and sentence.subject_end
            resolved = to_fact(sentence, title).text if starts else resolve_start(sentence)
            statements.append(Statement(place, text, resolved, subject, normalise_name(subject), names, terms))
    return statements


def _without_title(text: str, title: str) -> str:
    """A fact without the title that it was given in front, where that names nothing in it."""
    return text.removeprefix(f"{title_entity(title)}: ") if title else text


def _first_name(text: str) -> str:
    """The name that a fact starts with, or that stands before its first colon."""
    before, colon, _ = text[:120].partition(": ")
    if colon and "." not in before:
        return before
    spans = name_spans(text)
    return text[spans[0][0] : spans[0][1]] if spans and spans[0][0] <= 4 else ""


# Words after which a text names the one who stands in a relation, the surest first.
_CUES: dict[str, tuple[str, ...]] = {
    "director": (
        r"directed(?: and \w+| and co-\w+|, \w+ and \w+)? by",
        r"directed[^.;]{0,30} by",
        r"film by|director",
        r"by",
    ),
    "performer": (
        r"(?:performed|recorded|sung|released) by",
        r"(?:song|single|album|track|ballad|hit|record|ep)\b[^.;]{0,50}? by",
        r"singers?|bands?|artists?|groups?|rappers?|duo",
        r"by",
    ),
    "composer": (
        r"(?:composed|music|score|soundtrack|songs)\b[^.;]{0,30}? by",
        r"composers?",
        r"written[^.;]{0,15} by",
        r"by",
    ),
    "writer": (
        r"(?:written|authored|screenplay)[^.;]{0,20} by",
        r"(?:novel|book|poem|story|play)[^.;]{0,20} by",
        r"author|writer",
        r"by",
    ),
    "producer": (r"produced(?: and \w+)? by", r"producers?"),
    "founder": (
        r"(?:founded|created|established|formed|started|co-founded)\b[^.;]{0,25}? by",
        r"founders?|creators?",
        r"by",
    ),
    "father": (
        r"(?:son|daughter|child|heir|heiress|children) of",
        r"(?:son|daughter|child) born to|born to|son to|daughter to",
        r"father(?:,| was| is)?",
    ),
    "mother": (
        r"mother(?:,| was| is)?",
        r"(?:son|daughter|child|children) of [^.;]{3,80}? (?:and|by)(?: his| her)?(?: \w+)?(?: wife,?)?",
    ),
    "spouse": (
        r"(?:wife|husband|spouse|consort|widow|widower) of",
        r"married(?: to)?|marriage to|wed",
        r"wife|husband|spouse",
    ),
    "child": (r"(?:father|mother|parent) of", r"(?:sons?|daughters?|children|child)(?:,| was| were)?"),
    "sibling": (r"(?:brother|sister|sibling) of", r"brothers?|sisters?|siblings?"),
    "teacher": (r"(?:taught|trained) by|(?:pupil|student) of|studied (?:with|under)|lessons from", r"teachers?"),
}
# In the other one's document: what it says before it names the one where we started.
_INVERSE = {
    "father": r"father of",
    "mother": r"mother of",
    "spouse": r"(?:wife|husband|spouse|consort|widow) of|married(?: to)?",
    "child": r"(?:son|daughter|child) of|born to",
    "sibling": r"(?:brother|sister) of",
    "director": r"directed|director of",
    "founder": r"founded|founder of",
    "performer": r"(?:song|single|album)s?",
}
# Between the one who did it and what was done: "Ada Brook wrote the novel Winter Road".
_ACTIVE = {
    "director": r"directed",
    "performer": r"performed|recorded|sang|released",
    "composer": r"composed",
    "writer": r"wrote|authored|penned",
    "producer": r"produced",
    "founder": r"founded|co-founded|established|created|started",
    "teacher": r"taught|trained",
}
_DOING = {
    step: re.compile(rf"\s(?:also |later |then )?(?:{verb})\s(?P<gap>[^.;]{{0,60}})") for step, verb in _ACTIVE.items()
}
# With how much a name after it loses; a bare "by" says nothing of the relation, where there is any other word for it.
_FORWARD = {
    step: tuple(
        (re.compile(rf"\b(?:{cue})\b,?(?P<gap>[^.;]{{0,60}})", re.IGNORECASE), 25.0 * rank + 100.0 * (cue == "by"))
        for rank, cue in enumerate(cues)
    )
    for step, cues in _CUES.items()
}
_BACKWARD = {step: re.compile(rf"\b(?:{cue})\b[^.;]{{0,60}}", re.IGNORECASE) for step, cue in _INVERSE.items()}


def follow(statements: Sequence[Statement], about: str, step: str) -> Step | None:
    """Follow one relation from what `about` names.

    Args:
        statements: The context.
        about: A normalised name, the subject.
        step: A relation that `steps_of` gives.

    Returns:
        The name that stands in the relation, rather one that another document is about; None when nothing says it.
    """
    subjects = frozenset(statement.about for statement in statements if statement.about)
    own = [statement for statement in statements if statement.about == about]
    best: tuple[float, Step] | None = None
    for cue, loss in _FORWARD[step]:
        for order, statement in enumerate(own):
            for name, distance in _names_after(statement.text, cue):
                normal = normalise_name(name)
                target = match_subject(normal, subjects - {about})
                score = (60.0 if target else 0.0) - loss - distance - 3 * order
                if normal != about and (best is None or score > best[0]):
                    best = (score, Step(statement, name))
    if best is not None and best[0] > 0:
        return best[1]
    return (
        _doer(statements, about, step) or _inverse(statements, about, step) or (best[1] if best is not None else None)
    )


def _doer(statements: Sequence[Statement], about: str, step: str) -> Step | None:
    """Who stands right before the verb of which `about` is the object."""
    verb = _DOING.get(step)
    if verb is None:
        return None
    for statement in statements:
        for start, end in name_spans(statement.resolved):
            said = verb.match(statement.resolved, end)
            name = statement.resolved[start:end]
            if said is not None and about in normalise_name(said["gap"]) and normalise_name(name) != about:
                return Step(statement, name)
    return None


def _names_after(text: str, cue: re.Pattern[str]) -> list[tuple[str, int]]:
    """Names in reach of each cue, each with its distance from the cue."""
    spans = name_spans(text)
    found = []
    for match in cue.finditer(text):
        reach = match.start("gap")
        found += [(text[start:end], start - reach) for start, end in spans if reach <= start <= match.end()]
    return found


def _inverse(statements: Sequence[Statement], about: str, step: str) -> Step | None:
    """The document that says of its own subject that it stands in the relation to `about`."""
    cue = _BACKWARD.get(step)
    if cue is None:
        return None
    for statement in statements:
        if statement.about and statement.about != about:
            for match in cue.finditer(statement.text):
                if about in normalise_name(match.group()):
                    return Step(statement, statement.about)
    return None


def match_subject(name: str, subjects: frozenset[str]) -> str:
    """The subject that a normalised name means: itself, or one that has all of its words or lacks some; else ""."""
    if name in subjects:
        return name
    words = set(name.split())
    if len(words) < 2:
        return ""
    close = [
        subject
        for subject in subjects
        if len(subject.split()) > 1 and (words <= set(subject.split()) or words >= set(subject.split()))
    ]
    return min(close, key=lambda subject: (abs(len(subject) - len(name)), subject)) if close else ""
