"""Single fields of an entry, under each name that a data set gives them, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from minirag.datasets.entries import shorten
from minirag.datasets.examples import SubQuestion
from minirag.errors import InputError

Entry = Mapping[str, Any]


def first_of(entry: Entry, *names: str) -> Any:  # noqa: ANN401
    """The value under the first of the names that has one; None where none has."""
    return next((entry[name] for name in names if entry.get(name) is not None), None)


def identifier(value: object, where: str) -> str:
    """An id as a string; data sets number theirs too.

    Raises:
        InputError: If it is neither a string nor a whole number, or is blank.
    """
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise InputError(f"{where}: its id is {shorten(value)}, not a string or a whole number")
    return str(value)


def text(entry: Entry, *names: str, where: str, required: bool = True) -> str:
    """A string; "" where it is missing and not required.

    Raises:
        InputError: If it is something else, or is required and missing or blank.
    """
    value = first_of(entry, *names)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise InputError(f"{where}: its {names[0]} is {shorten(value)}, not {'a text' if required else 'a string'}")
    return value


def answers(entry: Entry, where: str) -> tuple[str, ...]:
    """Every accepted answer, aliases last, each once.

    Raises:
        InputError: If there is none, one is blank, or MuSiQue says that the question cannot be answered.
    """
    if entry.get("answerable") is False:
        raise InputError(
            f"{where}: is not answerable, which cannot be scored. Take MuSiQue's answerable files (musique_ans_….jsonl)"
        )
    value = first_of(entry, "answers", "answer", "Answer")
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found:
        raise InputError(f"{where}: has no answers. Give `answers`, a list of strings")
    aliases = first_of(entry, "answer_aliases") or []
    if not isinstance(aliases, list):
        raise InputError(f"{where}: its answer_aliases are {shorten(aliases)}, not a list")
    for answer in [*found, *aliases]:
        if not isinstance(answer, str) or not answer.strip():
            raise InputError(f"{where}: an answer is {shorten(answer)}, not a text")
    return tuple(dict.fromkeys([*found, *aliases]))


def gold_ids(entry: Entry, where: str) -> tuple[str, ...]:
    """Ids of gold documents, each once.

    Raises:
        InputError: If they are no list of ids.
    """
    value = first_of(entry, "gold_passage_ids", "gold_ids")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError(f"{where}: its gold ids are {shorten(value)}, not a list")
    return tuple(dict.fromkeys(identifier(gold_id, where) for gold_id in value))


def triples(entry: Entry, where: str) -> tuple[tuple[str, str, str], ...]:
    """2WikiMultiHopQA's evidences.

    Raises:
        InputError: If one is not three texts.
    """
    value = first_of(entry, "evidences", "gold_triples")
    return tuple(triple(each, where) for each in _list(value, "evidences", where))


def triple(value: object, where: str) -> tuple[str, str, str]:
    """Three texts: head, relation, tail.

    Raises:
        InputError: If it is not.
    """
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(isinstance(part, str) and part.strip() for part in value)
    ):
        raise InputError(f"{where}: triple must be three texts, not {shorten(value)}")
    head, relation, tail = value
    return head, relation, tail


def sub_questions(entry: Entry, places: Mapping[int, int], where: str) -> tuple[SubQuestion, ...]:
    """MuSiQue's decomposition.

    Args:
        entry: Of the file.
        places: Where the passage with each of the file's own numbers (`idx`) stands in the example.
        where: To complain about it.

    Raises:
        InputError: If a step has no question or answer.
    """
    value = first_of(entry, "question_decomposition", "decomposition", "sub_qa")
    return tuple(_sub_question(step, places, where) for step in objects(value, "decomposition", where))


def _sub_question(step: Entry, places: Mapping[int, int], where: str) -> SubQuestion:
    number = step.get("paragraph_support_idx")
    place = places.get(number) if isinstance(number, int) else None
    return SubQuestion(text(step, "question", where=where), text(step, "answer", where=where), place, _article_of(step))


def _article_of(step: Entry) -> str | None:
    """The title that a step names: as it is, or as an id of one of the article's paragraphs, "title_number"."""
    if isinstance(title := step.get("title"), str):
        return title
    paragraph = step.get("document_id")
    return re.sub(r"_\d+$", "", paragraph) if isinstance(paragraph, str) else None


def objects(value: object, name: str, where: str) -> Sequence[Entry]:
    """A list of objects; empty for None.

    Raises:
        InputError: If it is something else.
    """
    found = _list(value, name, where)
    for each in found:
        if not isinstance(each, dict):
            raise InputError(f"{where}: its {name} holds {shorten(each)}, not an object")
    return found


def _list(value: object, name: str, where: str) -> Sequence[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}: its {name} is {shorten(value)}, not a list")
    return value
