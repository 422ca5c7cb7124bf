"""Rows of tables as lines, "Film: Aylwin; Year: 1920": the cell that answers a question about another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from minirag.naming.names import TOKEN, name_spans
from minirag.naming.words import FUNCTION_WORDS, word_set
from minirag.reasoner.dates import DATE
from minirag.reasoner.questions import Question, stem, steps_of, terms_of
from minirag.reasoner.subjects import THINGS

_CELL = re.compile(r"(?P<column>[^:;|.?!]{1,60}): (?P<value>\S.*)\Z")
_FEWEST = 2  # cells of a row
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million)\b"
)
_TIMES = frozenset(map(stem, word_set("year date day month decade")))
_NATION = stem("country")
# What is asked for then is not what the cells say.
_BESIDES = re.compile(
    r"\b(?:before|after|since|until|not|never|except|besides|other|another|without|than|more|most|less|least)\b|n['’]t\b",
    re.IGNORECASE,
)
# Verbs that ask for nothing but when something came about.
_MAKING = frozenset(map(stem, word_set("made make happen happened take took place held occur occurred")))


class Cell(NamedTuple):
    """A cell with the name of its column."""

    column: str
    value: str


class RowAnswer(NamedTuple):
    """A cell that answers; `score` is how much of the question the row speaks of, from 0."""

    text: str
    score: float


class RowStep(NamedTuple):
    """The first relation of a question, followed in a row: where the question names the row, and whom it leads to."""

    start: int
    end: int
    name: str


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
    """The cell that a question asks for, of a row of which it names another cell, if it asks for nothing besides.

    The first cell with a name says what the row is about. Where the question names that, the answer is the cell whose
    column it names; else, when it asks for a time, the only one that is a date. Where it names another cell, it is the
    first one, if the question asks for a person or names its column.

    Args:
        question: Taken apart.
        text: A sentence.

    Returns:
        None where no cell is of the kind that is asked for, where the row lacks a name or a number of the question, and
        where the question has a content word that neither the named cells and their columns nor the answer's have.
    """
    cells = cells_of(text)
    named = _named(cells, question.text)
    if not named or not _has_names(cells, question.text) or _BESIDES.search(question.text):
        return None
    key = _key(cells)
    spoken = frozenset().union(*(terms_of(cell.value) for cell in named))
    left = question.terms - spoken - frozenset().union(*(terms_of(cell.column) for cell in named))
    left -= _appositions(named, question.text) | (_TIMES if question.kind in ("date", "year") else frozenset())
    others = [cell for cell in cells if cell not in named and _fits(question, cell)]
    if key not in named:
        others = [cell for cell in others if cell == key]
    answer = _of_column(others, question.terms - spoken, left)
    if answer is None and key in named:
        answer = _only_date(others, question, left)
    elif answer is None and question.kind == "person" and not left and others and _is_described(question, named):
        answer = others[0]
    if answer is None:
        return None
    date = DATE.search(answer.value) if question.kind == "year" else None
    return RowAnswer(date.group()[-4:] if date else answer.value, float(len(terms_of(text) & question.terms)))


def step_from_row(question: Question, text: str) -> RowStep | None:
    """The first step of a question's relations, where a row that the question names has a column for it.

    Args:
        question: Taken apart.
        text: A sentence.
    """
    cells = cells_of(text)
    key = _key(cells)
    if key is None or key not in _named(cells, question.text) or not _has_names(cells, question.text):
        return None
    place = _find(key.value, question.text)
    steps = steps_of(question.text, *place) if place else []
    for cell in cells:
        if place and steps and cell != key and steps_of(cell.column, 0, 0) == steps[:1]:
            return RowStep(*place, cell.value)
    return None


def is_of_another(question: Question, text: str, *, title: str) -> bool:
    """Whether a sentence is a row that has none of the names that the question has; its title may have one."""
    names = _names(question.text) if cells_of(text) else []
    return bool(names) and not any(_find(name, text) or _find(name, title) for name in names)


def _appositions(named: Iterable[Cell], question: str) -> frozenset[str]:
    """What a question says that the named cells are: "the film Aylwin"."""
    places = (_find(cell.value, question) for cell in named)
    before = (TOKEN.findall(question[: place[0]])[-1:] for place in places if place)
    return frozenset(stem(word) for words in before for word in words if _is_thing(word))


def _of_column(cells: Sequence[Cell], asked: frozenset[str], left: frozenset[str]) -> Cell | None:
    """The cell whose column the question names, and nothing besides."""
    shares = [len(terms_of(cell.column) & asked) for cell in cells]
    if not any(shares):
        return None
    best = cells[shares.index(max(shares))]
    return None if left - terms_of(best.column) else best


def _only_date(cells: Sequence[Cell], question: Question, left: frozenset[str]) -> Cell | None:
    dates = [cell for cell in cells if DATE.fullmatch(cell.value)]
    fits = question.kind in ("date", "year") and len(dates) == 1 and not left - _MAKING
    return dates[0] if fits else None


def _is_described(question: Question, named: Iterable[Cell]) -> bool:
    """Whether a cell is more than a name about which nothing is said: "the painter", or one with its column."""
    return any(cell.value == cell.value.lower() or terms_of(cell.column) & question.terms for cell in named)


def _key(cells: Sequence[Cell]) -> Cell | None:
    """What a row is about: its first cell with a name."""
    return next((cell for cell in cells if _is_telling(cell, cells) and not DATE.fullmatch(cell.value)), None)


def _named(cells: Sequence[Cell], question: str) -> list[Cell]:
    """Cells of which a question has all words, one behind the other, and which say which row is meant."""
    return [
        cell
        for cell in cells
        if (_is_telling(cell, cells) or DATE.fullmatch(cell.value)) and _find(cell.value, question)
    ]


def _is_telling(cell: Cell, cells: Iterable[Cell]) -> bool:
    """Whether its value has letters, and a word that is neither a general one nor a column's."""
    columns = frozenset().union(*(terms_of(other.column) for other in cells))
    words = [word for word in TOKEN.findall(cell.value) if word.lower() not in FUNCTION_WORDS and len(word) > 1]
    return any(_LETTER.search(word) and stem(word) not in columns and not _is_thing(word) for word in words)


def _is_thing(word: str) -> bool:
    return word.lower() in THINGS or word.lower().removesuffix("s") in THINGS


def _fits(question: Question, cell: Cell) -> bool:
    """Whether a cell is of the kind that a question asks for."""
    value, column, kind = cell.value, terms_of(cell.column), question.kind
    if kind in ("date", "year"):
        return DATE.search(value) is not None
    if kind == "number":
        return _NUMBER.search(value.lower()) is not None and not column & _TIMES
    if kind == "thing":
        return True
    if DATE.search(value) or not _LETTER.search(value):
        return False
    if kind == "person":
        return value != value.lower() and not any(map(_is_thing, TOKEN.findall(cell.column)))
    if kind == "nation":
        return _NATION in column
    return kind != "place" or not steps_of(cell.column, 0, 0)


def _has_names(cells: Iterable[Cell], question: str) -> bool:
    """Whether all names and numbers of a question stand in a row."""
    numbers = [word for word in TOKEN.findall(question) if word.isdigit()]
    whole = " ; ".join(cell.value for cell in cells)
    return all(_find(number, whole) for number in numbers) and all(
        any(_find(name, cell.value) or _find(name, cell.column) for cell in cells) for name in _names(question)
    )


def _names(question: str) -> list[str]:
    spans = name_spans(question)
    return [question[start:end].removesuffix("'s").removesuffix("’s") for start, end in spans]


def _find(part: str, text: str) -> tuple[int, int] | None:
    """Where a text has all words of a part, one behind the other."""
    words = [re.escape(word) for word in TOKEN.findall(part)]
    found = re.search(r"(?<!\w)" + r"\W{1,3}".join(words) + r"(?!\w)", text, re.IGNORECASE) if words else None
    return found.span() if found else None
