"""Sentences made to stand alone: markup gone, pronouns resolved, the title's entity named."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from minirag.naming.names import TOKEN, find_names, normalise_name, title_entity, words_inside_sentences
from minirag.naming.words import FUNCTION_WORDS, UNCASED
from minirag.reasoner.sentences import split_sentences
from minirag.records import ExtractedFact

_MARKUP = re.compile(r"<[^<>\n]{1,200}>|\[\d{1,4}\]|\[\[|\]\]|\{\{|\}\}|'''?|\*\*|__+")
_BULLET = re.compile(r"\A(?:[-*•·+#>|–—]+\s+)+")
_LETTERS = re.compile(r"[^\W\d_]")
_PRONOUN = re.compile(r"(?:(?P<subject>He|She|It|They)|(?P<possessive>His|Her|Its|Their))(?=\s)")
_DEFINITE = re.compile(
    r"(?:The|This)\s(?:[a-z]+\s)?(?:film|movie|picture|series|show|sitcom|documentary|album|song|single|record|track|ep|novel|"
    r"book|story|play|poem|magazine|newspaper|journal|opera|musical|game|band|group|duo|orchestra|company|firm|corporation|"
    r"brand|label|studio|organization|organisation|institution|foundation|party|club|team|school|college|university|academy|"
    r"institute|museum|library|hospital|church|cathedral|temple|monastery|castle|palace|building|house|tower|bridge|station|"
    r"airport|road|street|park|city|town|village|municipality|commune|district|county|province|region|state|country|kingdom|"
    r"empire|island|lake|river|mountain|species|genus|family|language|ship|battle|war|award|prize|festival|event|project|"
    r"product|character|episode|work|site|area|system|programme|program)\b"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, cleaned, with what is known of it.

    Attributes:
        text: On one line, without markup.
        names: Names in it, in order.
        about_title: Whether its subject is the title's entity: it starts with that name, a pronoun, or "The film".
        subject_end: Where that pronoun or "The film" ends; 0 when it starts with neither.
        names_title: Whether it names the title's entity anywhere.
    """

    text: str
    names: tuple[str, ...]
    about_title: bool
    subject_end: int
    names_title: bool


def read_sentences(text: str, title: str) -> list[Sentence]:
    """The sentences of a passage that say something, each cleaned, with its names."""
    cleaned = [_clean(text[start:end]) for start, end in split_sentences(text)]
    kept = [sentence for sentence in cleaned if _has_content(sentence)]
    name = title_entity(title)
    tokens = TOKEN.findall(name)
    known = words_inside_sentences(kept).union(tokens)
    telling = frozenset(token.lower() for token in tokens if len(token) > 2 and token.lower() not in FUNCTION_WORDS)
    return [_describe(sentence, name.lower(), telling, known) for sentence in kept]


def _describe(sentence: str, name: str, telling: Set[str], known: Set[str]) -> Sentence:
    lower = sentence.lower()
    names_title = bool(name) and (name in lower or (bool(telling) and all(word in lower for word in telling)))
    subject = (_PRONOUN.match(sentence) or _DEFINITE.match(sentence)) if name else None
    starts = bool(name) and (subject is not None or lower.startswith(name))
    if not starts and telling:
        first = TOKEN.match(lower)
        starts = first is not None and first.group().removesuffix("'s") in telling
    names = tuple(find_names(sentence, known=known))
    return Sentence(sentence, names, starts, subject.end() if subject else 0, names_title)


def _clean(sentence: str) -> str:
    """One line without markup and without the mark of a list item."""
    if "<" in sentence or "[" in sentence or "'" in sentence or "*" in sentence or "{" in sentence or "__" in sentence:
        sentence = _MARKUP.sub(" ", sentence)
    return " ".join(_BULLET.sub("", sentence).split())


def _has_content(sentence: str) -> bool:
    """At least two words with letters, or four letters of a script that needs no spaces."""
    if UNCASED.search(sentence):
        return len(_LETTERS.findall(sentence[:40])) >= 4
    words = [word for word in TOKEN.findall(sentence[:200]) if not word.isnumeric()]
    return len(words) >= 2 and any(len(word) > 2 for word in words)


def to_fact(sentence: Sentence, title: str) -> ExtractedFact:
    """The sentence as a fact that stands alone, with the title's entity first among its entities."""
    name = title_entity(title)
    if not name:
        return ExtractedFact(sentence.text, sentence.names)
    own = normalise_name(name)
    parts = own.split()
    others = tuple(
        other for other in sentence.names if (normal := normalise_name(other)) != own and normal not in parts
    )
    return ExtractedFact(_resolved(sentence, name), (name, *others))


def _resolved(sentence: Sentence, name: str) -> str:
    pronoun = _PRONOUN.match(sentence.text)
    if pronoun is None:
        return sentence.text if sentence.names_title else f"{name}: {sentence.text}"
    rest = sentence.text[pronoun.end() :]
    return f"{name}{rest}" if pronoun["subject"] else f"{name}'s{rest}"
