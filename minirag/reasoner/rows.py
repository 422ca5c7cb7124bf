"""Rows of tables as lines, "Film: Aylwin; Year: 1920": the cell that answers a question about another one."""

from __future__ import annotations

import re
from typing import NamedTuple

from minirag.naming.names import TOKEN
from minirag.reasoner.dates import DATE
from minirag.reasoner.questions import Question, terms_of

_CELL = re.compile(r"(?P<column>[^:;|.?!]{1,60}): (?P<value>\S.*)\Z")
_FEWEST = 2  # cells of a row


class Cell(NamedTuple):
    """A cell with the name of its column."""

    column: str
    value: str


class RowAnswer(NamedTuple):
    """A cell that answers; `score` is how much of the question the row speaks of, from 0."""

    text: str
    score: float


def cells_of(text: str) -> tuple[Cell, ...]:
    """The cells of a row; none where a text is no row of at least two."""
    cells: list[Cell] = []
    for part in text.removesuffix(".").split("; "):
        found = _CELL.match(part)
        if found is not None:
            cells.append(Cell(found["column"].strip(), found["value"].strip()))
        elif cells:  # a cell with a semicolon in it
            cells[-1] = Cell(cells[-1].column, f"{cells[-1].value}; {part}")
        else:
            return ()
    return tuple(cells) if len(cells) >= _FEWEST else ()


def answer_from_row(question: Question, text: str) -> RowAnswer | None:
    """The cell that a question asks for, of a row of which it names another cell.

    That is the one whose column it names; else, when it asks for a time, the only one that is a date; else, when it
    asks for a person, the row's first.

    Args:
        question: Taken apart.
        text: A sentence.
    """
    cells = cells_of(text)
    named = [cell for cell in cells if _stands_in(cell.value, question.text)]
    if not named:
        return None
    others = [cell for cell in cells if cell not in named]
    spoken = frozenset().union(*(terms_of(cell.value) for cell in named))
    asked = question.terms - spoken
    shares = [len(terms_of(cell.column) & asked) for cell in others]
    score = float(len(spoken & question.terms))
    if any(shares):
        best = max(shares)
        return RowAnswer(others[shares.index(best)].value, score + best)
    dates = [cell for cell in others if DATE.fullmatch(cell.value)]
    if question.kind in ("date", "year") and len(dates) == 1:
        return RowAnswer(dates[0].value, score)
    asked -= frozenset().union(*(terms_of(cell.column) for cell in named))
    if question.kind == "person" and cells[0] in others and not asked:
        return RowAnswer(cells[0].value, score)
    return None


def _stands_in(value: str, question: str) -> bool:
    """Whether a question has all words of a cell, one behind the other."""
    words = [word.casefold() for word in TOKEN.findall(value)]
    asked = [word.casefold().removesuffix("'s").removesuffix("’s") for word in TOKEN.findall(question)]
    return bool(words) and any(asked[at : at + len(words)] == words for at in range(len(asked) - len(words) + 1))
