"""Answers by what a question names: definitions and attributes of a subject, relations that lead on from it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minirag.naming.names import TOKEN, name_spans, normalise_name
from minirag.reasoner.comparing import Subject, age_at_death
from minirag.reasoner.context import Statement, Step, follow, match_subject
from minirag.reasoner.questions import KNOWN_STEMS, Question, asks_what_it_is, focus_of, steps_of, terms_of
from minirag.reasoner.spans import find_answer
from minirag.records import Reading

NOT_FOUND = "The context does not hold the answer."
# A sentence that has nothing of such a kind does not answer a question for one.
OF_A_KIND = frozenset(("number", "date", "year", "place", "nation", "cause", "person"))
# Where these are asked for, nothing else says where a date or a place has to stand.
LIFE = frozenset(("born", "die"))
# Of where something is, a sentence need not say that it lies there.
_LYING = terms_of("located lies situated")
_PARTICLE = 3
_PARENTHESIS = re.compile(r"\([^()]*\)")
DEFINITION = re.compile(r"\b(?:is|was|are|were)\s(?P<whole>(?:an?|the|one of)\s(?P<what>[^.;]{3,120}))")


def not_found() -> Reading:
    """That the context holds no answer."""
    return Reading(NOT_FOUND, found=False, items=())


def answer_by_relations(question: Question, statements: Sequence[Statement], subject: Subject) -> Reading | None:
    """What the context says of the one subject that a question names.

    Args:
        question: Taken apart.
        statements: The context.
        subject: The one that it names.

    Returns:
        None where the question says more than is read here, or the context does not tell.
    """
    return (
        age_at_death(question, statements, subject[0])
        or _define(question, statements, subject)
        or _follow_relations(question, statements, subject)
    )


def refuse(question: Question, statements: Sequence[Statement], subjects: Sequence[Subject]) -> Reading | None:
    """What a simple question gets of which nothing is said: what else stands in the context is of others.

    Args:
        question: Taken apart, and not answered by relations.
        statements: The context.
        subjects: What documents are about and the question names.

    Returns:
        Not found, or of one's birth or death what the statements about that one say; None where the question is not so
        simple, and a path of statements may answer it.
    """
    if question.kind not in OF_A_KIND or len(subjects) > 1:
        return None
    of_subject = _refuse_of_subject(question, statements, subjects[0]) if subjects else None
    return of_subject or _refuse_unspoken(question, statements, subjects)


def _define(question: Question, statements: Sequence[Statement], subject: Subject) -> Reading | None:
    """What the subject is, where the question asks for no more: the words that define it, or its first sentence."""
    about, start, end = subject
    if not asks_what_it_is(question, start, end):
        return None
    own = [statement for statement in statements if statement.about == about]
    for statement in own:
        defined = DEFINITION.search(statement.resolved)
        if defined is not None and _is_name_of(statement.resolved[: defined.start()], about):
            is_whole = not statement.resolved[defined.end() :].strip(" .")
            return Reading(defined["whole"] if is_whole else statement.text, found=True, items=(statement.item,))
    return Reading(own[0].text, found=True, items=(own[0].item,))


def _refuse_of_subject(question: Question, statements: Sequence[Statement], subject: Subject) -> Reading | None:
    """What a question that says nothing but a name, relations and born or died gets where those lead nowhere."""
    about, start, end = subject
    focus = focus_of(question, start, end)
    if focus - LIFE - _LYING:
        return None
    if steps := steps_of(question.text, start, end):
        told = any(terms_of(steps[0]) & statement.terms for statement in statements if _names(statement, about))
        return None if told else not_found()
    if not focus:
        return None
    own = [statement for statement in statements if statement.about == about]
    return _attribute(question, focus, own, ()) or not_found()


def _refuse_unspoken(
    question: Question, statements: Sequence[Statement], subjects: Sequence[Subject]
) -> Reading | None:
    """What a question that says one word of one name gets where no statement of that name speaks of it.

    Of words that the rules do not know, a statement may speak in others.
    """
    spans = name_spans(question.text)
    if len(spans) != 1:
        return None
    start, end = spans[0]
    name = subjects[0][0] if subjects else normalise_name(question.text[start:end])
    rest = question.terms - terms_of(question.text[start:end]) - terms_of(name)
    own = [statement for statement in statements if _names(statement, name)]
    is_simple = len(rest) == 1 and rest <= KNOWN_STEMS - question.types - _LYING
    if not is_simple or not own or any(rest <= statement.terms for statement in own):
        return None
    return not_found()


def _names(statement: Statement, name: str) -> bool:
    return statement.about == name or name in statement.names


def _is_name_of(text: str, about: str) -> bool:
    """Whether what stands before the verb is the subject's name, in whatever length, and no more."""
    known = about.split()
    words = TOKEN.findall(_PARENTHESIS.sub(" ", text))
    return bool(words) and all(word.lower() in known or not word.islower() or len(word) <= _PARTICLE for word in words)


def _follow_relations(question: Question, statements: Sequence[Statement], subject: Subject) -> Reading | None:
    """Answer by the relations that the question names, from the subject that it names."""
    about, start, end = subject
    steps, focus = steps_of(question.text, start, end), focus_of(question, start, end)
    return follow_steps(question, statements, about, steps, focus) if steps else None


def follow_steps(
    question: Question,
    statements: Sequence[Statement],
    about: str,
    steps: Sequence[str],
    focus: frozenset[str],
    *,
    passed: tuple[int, ...] = (),
) -> Reading | None:
    """Answer by relations that lead on from `about`, to which the items `passed` have led."""
    subjects = frozenset(statement.about for statement in statements)
    taken: list[Step] = []
    for place, relation in enumerate(steps):
        step = follow(statements, about, relation)
        if step is None:
            return None
        taken.append(step)
        last = place == len(steps) - 1
        target = match_subject(normalise_name(step.name), subjects)
        if not target and not (last and (question.kind == "person" or _told_of(statements, step.name))):
            return None
        about = target
    items = tuple(dict.fromkeys((*passed, *(step.statement.item for step in taken))))
    if question.kind == "person":
        return Reading(taken[-1].name, found=True, items=items) if taken else None
    own = [statement for statement in statements if about and statement.about == about]
    return _attribute(question, focus, own or _told_of(statements, taken[-1].name), items)


def _told_of(statements: Sequence[Statement], name: str) -> list[Statement]:
    """Sentences that begin with a name, in whosever document."""
    return [statement for statement in statements if statement.resolved.startswith(f"{name} ")]


def _attribute(
    question: Question, focus: frozenset[str], own: Sequence[Statement], items: tuple[int, ...]
) -> Reading | None:
    """What the statements about one subject say to the question: the answer that stands nearest to what it asks."""
    best: tuple[float, str, int] | None = None
    for order, statement in enumerate(own):
        found = find_answer(question.kind, statement.text, focus, {statement.about})
        if found is not None and (best is None or found.distance + order < best[0]):
            best = (found.distance + order, found.text, statement.item)
    if best is None or question.kind == "thing":
        return None
    return Reading(best[1], found=True, items=(*items, *({best[2]} - set(items))))
