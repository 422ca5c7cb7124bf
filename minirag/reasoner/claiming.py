"""Questions that claim something: answered by yes where a sentence says just that, else by what is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from minirag.reasoner.comparing import ORDER, Subject
from minirag.reasoner.context import Statement
from minirag.reasoner.questions import Question, terms_of
from minirag.records import Reading

_PAIRED = re.compile(r"\b(?:both|same|each|all|either|neither|alike|share|common|different|also|too)\b", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:and|or|nor)\b|,", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|never|no|nor|neither|none|nobody|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:()]|\s[–—-]\s|\s(?:and|but|or|nor|while|whereas|who|whom|whose|which|that|where|when|after|before|until|than)\s"
)


def is_claim(question: Question, subjects: Sequence[Subject]) -> bool:
    """Whether a question for yes or no is about one subject, be there others in it, and compares none."""
    if question.kind != "yes_no" or _PAIRED.search(question.text):
        return False
    pairs = pairwise(subjects)
    between = [question.text[end:start] for (_, _, end), (_, start, _) in pairs]
    return not any(_JOINED.search(text) or ORDER.search(text) for text in between)


def judge_claim(
    question: Question, statements: Sequence[Statement], subjects: Sequence[Subject], weights: Mapping[str, float]
) -> Reading | None:
    """Answer whether it is so.

    No is never the answer: that a text says something else, or nothing, is for whoever asks to weigh.

    Args:
        question: For yes or no.
        statements: The context.
        subjects: What documents are about and the question names.
        weights: Of the question's terms.

    Returns:
        Yes, where one clause of a sentence has all that is claimed of its subject; else the sentence about each subject
        that speaks most of it; None when none does.
    """
    for statement in statements:
        if question.terms <= statement.terms and _says(statement, question):
            return Reading("yes", found=True, items=(statement.item,))
    told = [_most_telling(statements, about, weights) for about, _, _ in subjects] or [
        max(statements, key=lambda statement: _weight(statement, weights))
    ]
    best = max(_weight(statement, weights) for statement in told)
    if best <= 0:
        return None
    told = [statement for statement in dict.fromkeys(told) if _weight(statement, weights) > best / 2]
    items = tuple(dict.fromkeys(statement.item for statement in told))
    return Reading(" ".join(statement.resolved for statement in told), found=True, items=items)


def _says(statement: Statement, question: Question) -> bool:
    """Whether a sentence that has all words of a claim also claims it: they stand together, and nothing denies them."""
    if _NEGATION.search(statement.text) or _NEGATION.search(question.text):
        return False
    of_subject = terms_of(statement.title)
    claimed = question.terms - of_subject
    if not claimed:
        return False
    return any(claimed <= terms_of(clause) | of_subject for clause in _CLAUSE.split(statement.text))


def _most_telling(statements: Sequence[Statement], about: str, weights: Mapping[str, float]) -> Statement:
    """Of the sentences about a subject the one that speaks most of the question."""
    own = [statement for statement in statements if statement.about == about]
    return max(own, key=lambda statement: _weight(statement, weights))


def _weight(statement: Statement, weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in statement.terms)
