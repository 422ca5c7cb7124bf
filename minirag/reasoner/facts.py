"""Sentences made to stand alone: markup gone, pronouns resolved, the title's entity named."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence, Set
from dataclasses import dataclass

from minirag.naming.names import TOKEN, find_names, normalise_name, title_entity, words_inside_sentences
from minirag.naming.words import FUNCTION_WORDS, UNCASED
from minirag.reasoner.headings import find_headings
from minirag.reasoner.sentences import split_sentences
from minirag.reasoner.subjects import THINGS, passage_topic, pronouns_of_opening
from minirag.records import ExtractedFact

Span = tuple[int, int]

_MARKUP = re.compile(r"<[^<>\n]{1,200}>|\[\d{1,4}\]|\[\[|\]\]|\{\{|\}\}|'''?|\*\*|__+")
_BULLET = re.compile(r"\A(?:[-*•·+#>|–—]+\s+)+")
_LETTERS = re.compile(r"[^\W\d_]")
_PRONOUN = re.compile(r"(?:(?P<subject>He|She|It|They)|(?P<possessive>His|Her|Its|Their))(?=\s)")
_DEFINITE = re.compile(rf"(?:The|This)\s(?:[a-z]+\s)?(?:{'|'.join(sorted(THINGS))})\b")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, cleaned, with what is known of it.

    Attributes:
        text: On one line, without markup.
        names: Names in it, in order.
        topic: What the title says that its passage is about; empty where the title names nothing there.
        about_title: Whether its subject is the topic: it starts with that name, a pronoun, or "The film".
        subject: What that pronoun or "The film" stands for: the topic, else what the passage opens with; may be empty.
        subject_end: Where that pronoun or "The film" ends; 0 when it starts with neither.
        names_title: Whether it names the topic anywhere.
    """

    text: str
    names: tuple[str, ...]
    topic: str
    about_title: bool
    subject: str
    subject_end: int
    names_title: bool


def read_sentences(text: str, title: str, *, headings: bool = False) -> list[Sentence]:
    """The sentences of a passage that say something, each cleaned, with its names.

    Args:
        text: The passage.
        title: Its document's, may be empty.
        headings: Whether to give those headings too that say nothing, or nothing but what a sentence below them says.
            They are given in any case where there is nothing else.
    """
    spans = split_sentences(text)
    lost_without = find_headings(text, spans)
    cleaned = _cleaned(text, spans)
    bodies = [sentence for span, sentence in cleaned.items() if span not in lost_without]
    telling_spans = [span for span in cleaned if not bodies or lost_without.get(span, True)]
    kept = [cleaned[span] for span in telling_spans]
    topic = passage_topic(title, bodies or kept)
    tokens = TOKEN.findall(topic)
    known = words_inside_sentences(kept).union(tokens)
    telling = frozenset(token.lower() for token in tokens if len(token) > 2 and token.lower() not in FUNCTION_WORDS)
    subjects = {} if topic else _subjects(telling_spans, kept, lost_without)
    given = cleaned if headings else telling_spans
    return [_describe(cleaned[span], subjects.get(span, ""), topic, telling, known) for span in given]


def _cleaned(text: str, spans: Sequence[Span]) -> dict[Span, str]:
    """The sentences that say something, cleaned, by where they stand."""
    found = {(start, end): _clean(text[start:end]) for start, end in spans}
    return {span: sentence for span, sentence in found.items() if _has_content(sentence)}


def _subjects(spans: Sequence[Span], sentences: Sequence[str], headings: Container[Span]) -> dict[Span, str]:
    """What a pronoun at the start of each sentence stands for, by the first one that is no heading."""
    first = next((place for place, span in enumerate(spans) if span not in headings), 0)
    return dict(zip(spans[first:], pronouns_of_opening(sentences[first:]), strict=True))


def _describe(sentence: str, subject: str, topic: str, telling: Set[str], known: Set[str]) -> Sentence:
    name, lower = topic.lower(), sentence.lower()
    names_title = bool(name) and (name in lower or (bool(telling) and all(word in lower for word in telling)))
    found = (_PRONOUN.match(sentence) or (_DEFINITE.match(sentence) if name else None)) if name or subject else None
    starts = bool(name) and (found is not None or lower.startswith(name))
    if not starts and telling:
        first = TOKEN.match(lower)
        starts = first is not None and first.group().removesuffix("'s") in telling
    names = tuple(find_names(sentence, known=known))
    stands_for = (topic or subject) if found else ""
    return Sentence(sentence, names, topic, starts, stands_for, found.end() if found else 0, names_title)


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
    """The sentence as a fact that stands alone, with what its passage is about first among its entities.

    A pronoun at its start gives way to what it stands for; where that is not known, it stays. A title that names
    nothing there is no entity: files of one name would be bridged by it.
    """
    name = sentence.topic or title_entity(title)
    leading = dict.fromkeys(found for found in (sentence.topic, sentence.subject) if found)
    own = {normalise_name(found) for found in leading}
    parts = {part for found in own for part in found.split()}
    others = (other for other in sentence.names if (normal := normalise_name(other)) not in own and normal not in parts)
    return ExtractedFact(_resolved(sentence, name), (*leading, *others))


def resolve_start(sentence: Sentence) -> str:
    """The sentence with the pronoun at its start replaced by what it stands for, where that is known."""
    pronoun = _PRONOUN.match(sentence.text)
    if pronoun is None or not sentence.subject:
        return sentence.text
    rest = sentence.text[pronoun.end() :]
    return f"{sentence.subject}{rest}" if pronoun["subject"] else f"{sentence.subject}'s{rest}"


def _resolved(sentence: Sentence, name: str) -> str:
    """As a fact: what no word ties to the title has it in front."""
    resolved = resolve_start(sentence)
    tied = not name or sentence.names_title or (sentence.subject == name and resolved != sentence.text)
    return resolved if tied else f"{name}: {resolved}"
