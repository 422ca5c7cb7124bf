"""The reader without a model: finds the sentences that answer, follows names from one to the next, quotes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minirag.naming.names import normalise_name
from minirag.reasoner.claiming import is_claim, judge_claim
from minirag.reasoner.comparing import Subject, compare, subjects_in
from minirag.reasoner.context import Statement, match_subject, read_context
from minirag.reasoner.questions import Question, focus_of, read_question, steps_of, terms_of
from minirag.reasoner.relating import (
    DEFINITION,
    LIFE,
    OF_A_KIND,
    answer_by_relations,
    follow_steps,
    not_found,
    refuse,
)
from minirag.reasoner.rows import RowAnswer, RowStep, answer_from_row, is_of_another, step_from_row
from minirag.reasoner.spans import find_answer
from minirag.records import ContextItem, Reading

_PLACE = re.compile(
    r"(?:(?!\b(?:in|of|on|by|for|from|who|which|that)\b)[\w-]+\s){0,4}(?:city|town|village|hamlet|municipality|commune|county|"
    r"district|province|region|country|island|port|river|mountain|suburb|neighbou?rhood)\b(?!\s(?!(?:in|of|on|at|and)\b)\w)"
)
_LEAST_COVERAGE = 0.4
_HOPS = 3
_WIDTH = 8
_NEAR = 60


@dataclass(frozen=True, slots=True)
class _Path:
    """Statements that lead to an answer, the last of which holds it, and how well together they fit the question."""

    statements: tuple[Statement, ...]
    terms: frozenset[str]
    score: float
    answer: str


def quote_answer(question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
    """Answer with words of the context.

    Args:
        question: In any language; the rules for kinds of questions know English.
        evidence: The context.
        chain: Statements found on the way, read after the context; they are no items.

    Returns:
        A name, a date, a place, a number or a nationality where the question asks for one and the context has it in the
        right place; yes, no or one of the two options for a comparison; yes, or what is said instead, for a claim; else
        the sentence that fits best.
    """
    asked = read_question(question)
    statements = read_context([*evidence, *(ContextItem(text) for text in chain)])
    if not statements:
        return not_found()
    subjects = subjects_in(question, statements)
    reading: Reading | None
    if is_claim(asked, subjects):
        reading = judge_claim(asked, statements, subjects, _weights(asked, statements)) or not_found()
    elif asked.kind in ("yes_no", "choice"):
        reading = compare(asked, statements, subjects) if len(subjects) >= 2 else None
    else:
        reading = _read_rows(asked, statements)
        if reading is None and len(subjects) == 1:
            reading = answer_by_relations(asked, statements, subjects[0])
        reading = reading or _follow_from_row(asked, statements) or refuse(asked, statements, subjects)
    reading = reading or _follow_names(asked, statements, subjects)
    items = tuple(item for item in reading.items if item < len(evidence)) or _holders(reading, evidence, statements)
    return Reading(reading.text, found=True, items=items) if items else not_found()


def next_thought(question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
    """The sentence that fits the question best and is not among the thoughts; the answer when there is none."""
    statements = read_context(evidence)
    weights = _weights(read_question(question), statements)
    for statement in sorted(statements, key=lambda statement: -_covered(statement.terms, weights)):
        if _covered(statement.terms, weights) > 0 and statement.text not in thoughts:
            return statement.text
    return f"So the answer is: {quote_answer(question, evidence).text}"


def _read_rows(question: Question, statements: Sequence[Statement]) -> Reading | None:
    """The cell that answers all of the question, of the row of a table that speaks most of it."""
    found = [(answer, statement) for statement in statements if (answer := _cell_that_answers(question, statement))]
    if not found:
        return None
    answer, statement = max(found, key=lambda pair: pair[0].score)
    return Reading(answer.text, found=True, items=(statement.item,))


def _cell_that_answers(question: Question, statement: Statement) -> RowAnswer | None:
    """Of a row as it stands, or with what it is about put in front, as facts have it."""
    return answer_from_row(question, _bare(statement)) or answer_from_row(question, statement.text)


def _bare(statement: Statement) -> str:
    return statement.text.removeprefix(f"{statement.title}: ")


def _follow_from_row(question: Question, statements: Sequence[Statement]) -> Reading | None:
    """Answer by the relations that the question names, the first of which is a cell that it leads to."""
    known = frozenset(statement.about for statement in statements)
    for statement in statements:
        step: RowStep | None = step_from_row(question, _bare(statement)) or step_from_row(question, statement.text)
        about = match_subject(normalise_name(step.name), known) if step else ""
        if step and about:
            steps = steps_of(question.text, step.start, step.end)[1:]
            focus = focus_of(question, step.start, step.end)
            reading = follow_steps(question, statements, about, steps, focus, passed=(statement.item,))
            if reading is not None:
                return reading
    return None


def _holders(reading: Reading, evidence: Sequence[ContextItem], statements: Sequence[Statement]) -> tuple[int, ...]:
    """The first item that holds what was read in the chain alone and is about the same."""
    subjects = {statement.about for statement in statements if statement.item in reading.items}
    quoted = re.compile(rf"(?<!\w){re.escape(reading.text)}(?!\w)")
    same = dict.fromkeys(statement.item for statement in statements if statement.about in subjects)
    return tuple(item for item in same if item < len(evidence) and quoted.search(evidence[item].text))[:1]


def _follow_names(question: Question, statements: Sequence[Statement], subjects: Sequence[Subject]) -> Reading:
    """Answer from the path of statements that together speak most of the question."""
    weights = _weights(question, statements)
    excluded = {name for name, _, _ in subjects} | {
        normalise_name(name) for name in _question_names(question, statements)
    }
    if question.kind == "person":
        excluded |= {statement.about for statement in statements if _is_place(statement)}
    paths = [_path(question, (statement,), weights, excluded) for statement in statements]
    seen = [path for path in paths if not _is_of_another(question, path.statements[0])]
    for _ in range(_HOPS - 1):
        paths = sorted(paths, key=lambda path: -path.score)[:_WIDTH]
        paths = [
            _path(question, (*path.statements, statement), weights, excluded)
            for path in paths
            for statement in _next(path, statements)
        ]
        seen += paths
    if not seen:
        return not_found()
    best = max(seen, key=lambda path: path.score)
    if question.kind in OF_A_KIND and not best.answer:
        fitting = [path for path in seen if path.answer and _covered(path.terms, weights) >= _LEAST_COVERAGE]
        if not fitting:
            return not_found()
        best = max(fitting, key=lambda path: path.score)
    if _covered(best.terms, weights) < _LEAST_COVERAGE:
        return not_found()
    last = best.statements[-1]
    return Reading(
        best.answer or last.text,
        found=True,
        items=tuple(dict.fromkeys(statement.item for statement in best.statements)),
    )


def _is_of_another(question: Question, statement: Statement) -> bool:
    return is_of_another(question, _bare(statement), title=statement.title)


def _question_names(question: Question, statements: Sequence[Statement]) -> list[str]:
    """Names of the context that stand in the question."""
    text = question.text.lower()
    return [name for statement in statements for name in statement.names if name in text]


def _next(path: _Path, statements: Sequence[Statement]) -> list[Statement]:
    """Statements of another subject that the path's last one names, or that name its subject."""
    last = path.statements[-1]
    return [
        statement
        for statement in statements
        if statement.about != last.about
        and statement not in path.statements
        and (statement.about in last.names or (last.about and last.about in statement.names))
    ]


def _path(
    question: Question, statements: tuple[Statement, ...], weights: Mapping[str, float], excluded: set[str]
) -> _Path:
    """Score statements that lead from one to the next, and find the answer in the last one."""
    terms = frozenset().union(*(statement.terms for statement in statements))
    last, passed = statements[-1], excluded | {statement.about for statement in statements[:-1]}
    if question.kind != "person":
        passed.add(last.about)
    text = last.resolved if question.kind == "person" else last.text
    found = find_answer(question.kind, text, question.terms & LIFE or question.terms, passed)
    near = 0.0 if found is None else 0.25 if found.distance < _NEAR else 0.05
    score = _covered(terms, weights) + near - 0.06 * (len(statements) - 1)
    answer = found.text if found else ""
    if last.title and last.about not in excluded and _is_described(question, statements):
        answer = last.title
    return _Path(statements, terms, score, answer)


def _is_described(question: Question, statements: tuple[Statement, ...]) -> bool:
    """Whether the question describes the subject of the last statement without naming it, and so asks for it."""
    if question.kind not in ("thing", "person", "place"):
        return False
    defined = DEFINITION.search(statements[-1].text)
    return bool(question.types) and defined is not None and question.types <= terms_of(defined["what"])


def _is_place(statement: Statement) -> bool:
    """Whether a sentence says of what it is about that it is a town or the like."""
    defined = DEFINITION.search(statement.text)
    return defined is not None and _PLACE.match(defined["what"]) is not None


def _weights(question: Question, statements: Sequence[Statement]) -> dict[str, float]:
    """For each term of the question its share of the weight; terms that are rare in the context weigh more."""
    counts = Counter(term for statement in statements for term in statement.terms)
    weights = {term: 0.5 + math.log(1 + len(statements) / (1 + counts[term])) for term in sorted(question.terms)}
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()}


def _covered(terms: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms)
