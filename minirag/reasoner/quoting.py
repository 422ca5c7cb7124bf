"""The reader without a model: finds the sentence that answers, follows one name to the next document, quotes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from minirag.reasoner.facts import Sentence, read_sentences
from minirag.reasoner.names import TOKEN
from minirag.reasoner.words import FUNCTION_WORDS, UNCASED
from minirag.records import ContextItem, Reading

NOT_FOUND = "The context does not hold the answer."
_ENDINGS = re.compile(r"(?<=\w{3})(?:'s|ies|es|s|ed|ing|er|or)\Z")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence of the context: where it stands, its terms, and how well it fits the question."""

    item: int
    sentence: Sentence
    terms: frozenset[str]
    score: float


def quote_answer(question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:  # noqa: ARG001
    """Answer with the words of the context."""
    candidates = _ranked(question, evidence)
    if not candidates or candidates[0].score < 0.25:
        return Reading(NOT_FOUND, found=False, items=())
    best = candidates[0]
    return Reading(best.sentence.text, found=True, items=(best.item,))


def next_thought(question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
    """The sentence that fits the question best and is not among the thoughts; the answer when there is none."""
    for candidate in _ranked(question, evidence):
        if candidate.score > 0 and candidate.sentence.text not in thoughts:
            return candidate.sentence.text
    return f"So the answer is: {quote_answer(question, evidence).text}"


def terms_of(text: str) -> frozenset[str]:
    """Stems of the content words; of scripts without spaces, pairs of characters."""
    words = {_ENDINGS.sub("", word) for word in TOKEN.findall(text.lower()) if word not in FUNCTION_WORDS}
    if not text.isascii() and UNCASED.search(text):
        words |= {text[place : place + 2] for place in range(len(text) - 1) if UNCASED.match(text, place)}
    return frozenset(words)


def _ranked(question: str, evidence: Sequence[ContextItem]) -> list[_Candidate]:
    """All sentences of the context, best first; the score is the share of the question's weight that they hold."""
    wanted = terms_of(question)
    found = [
        (place, sentence, terms_of(f"{item.title} {sentence.text}"))
        for place, item in enumerate(evidence)
        for sentence in read_sentences(item.text, item.title)
    ]
    counts = Counter(term for _, _, terms in found for term in terms)
    weights = {term: math.log(1 + len(found) / (1 + counts[term])) for term in wanted}
    total = sum(weights.values()) or 1.0
    ranked = [
        _Candidate(place, sentence, terms, sum(weights[term] for term in terms & wanted) / total)
        for place, sentence, terms in found
    ]
    return sorted(ranked, key=lambda candidate: -candidate.score)
