"""Data sets to measure on: questions with gold answers, and the corpus that they are asked of."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minirag.errors import InputError
from minirag.records import Document


@dataclass(frozen=True, slots=True)
class Question:
    """One question with what is right.

    Attributes:
        id: Unique in its data set.
        text: The question.
        answers: Every accepted answer, at least one; the metrics take the best.
        gold_ids: The documents that it takes to answer it, each once; empty where the data set does not say.
        type: The data set's own kind of question ("bridge", "2hop", …), None where it does not say.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold_ids: tuple[str, ...] = ()
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions and the documents that they are asked of.

    Attributes:
        name: The folder's or file's name.
        documents: The corpus; empty where the data set is questions alone.
        questions: At least one.
        triples: Knowledge triples made elsewhere, by document id.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    triples: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    def sample(self, limit: int | None, *, seed: int = 0) -> Dataset:
        """The data set with `limit` of its questions, in their order, and the whole corpus.

        The choice depends on the seed and the questions' ids alone, and a smaller sample is part of a larger one, so
        that a run with a raised limit reuses what was measured.

        Args:
            limit: How many questions, at least 1. None, or more than there are, keeps all.
            seed: Another one gives another sample.

        Raises:
            ValueError: If limit < 1.
        """
        if limit is None:
            return self
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        chosen = {question.id for question in sorted(self.questions, key=lambda q: _draw(seed, q.id))[:limit]}
        return replace(self, questions=tuple(question for question in self.questions if question.id in chosen))


def load_dataset(path: str | Path) -> Dataset:
    """Read a data set.

    Args:
        path: A folder with `questions.json` and, unless the questions are asked of an index that exists, `corpus.json`;
            or a file of questions. Each may be `.jsonl`, one JSON object a line, instead. A document is `{id, text}`
            with an optional `title` and `metadata`; a question is `{question, answers}` with an optional `id` (else its
            place, from 1), `type` and `gold_passage_ids` (or `gold_ids`), which are ids of documents. One answer may
            be given as `answer`. A folder may also have `triples.json` of `{passage_id, triple}`, each three texts:
            they take the place of those that indexing would extract from that document.

    Raises:
        InputError: If something is missing, is not JSON of that form, has an id twice, or if a question has no answer
            or names a gold document that the corpus lacks. The message names file, entry and what is wrong.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Give a folder with questions.json, or such a file")
    if path.is_dir():
        questions_file, corpus_file = _find(path, "questions"), _find(path, "corpus")
        if questions_file is None:
            raise InputError(f"{path}: holds neither questions.json nor questions.jsonl")
    else:
        questions_file, corpus_file = path, None
    documents = () if corpus_file is None else _read_corpus(corpus_file)
    questions = _read_questions(questions_file)
    if documents:
        _check_gold(questions, {document.id for document in documents}, questions_file)
    triples_file = _find(path, "triples") if path.is_dir() else None
    triples = _read_triples(triples_file, {document.id for document in documents}) if triples_file else {}
    return Dataset(path.resolve().stem if path.is_file() else path.resolve().name, documents, questions, triples)


def _draw(seed: int, question_id: str) -> bytes:
    """Where a question stands in the seed's order."""
    return hashlib.sha256(f"{seed}:{question_id}".encode()).digest()


def _find(folder: Path, stem: str) -> Path | None:
    candidates = (folder / f"{stem}.json", folder / f"{stem}.jsonl")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


# --- files ---------------------------------------------------------------------------------------------------------


def _read_triples(path: Path, known: Set[str]) -> dict[str, list[list[str]]]:
    triples: dict[str, list[list[str]]] = {}
    for where, entry in _read_entries(path):
        document, triple = entry.get("passage_id"), entry.get("triple")
        if document not in known:
            raise InputError(f"{where}: passage_id {document!r} is no document of the corpus")
        if (
            not isinstance(triple, list)
            or len(triple) != 3
            or not all(isinstance(t, str) and t.strip() for t in triple)
        ):
            raise InputError(f"{where}: triple must be three texts, not {_shorten(triple)}")
        triples.setdefault(str(document), []).append(triple)
    return triples


def _read_entries(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each object of a JSON list or of a file of JSON lines, with a name to complain about it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    found = False
    for where, entry in _parse(path, text):
        if not isinstance(entry, dict):
            raise InputError(f"{where} is {_shorten(entry)}, not an object")
        found = True
        yield where, entry
    if not found:
        raise InputError(f"{path}: is empty")


def _parse(path: Path, text: str) -> Iterator[tuple[str, object]]:
    if path.suffix == ".jsonl":
        # Not splitlines: JSON may hold U+2028 and its like unescaped.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                where = f"{path}, line {number}"
                yield where, _decode(line, where)
        return
    entries = _decode(text, str(path))
    if not isinstance(entries, list):
        raise InputError(f"{path}: is {_shorten(entries)}, not a list of objects")
    yield from ((f"{path}, entry {number}", entry) for number, entry in enumerate(entries, start=1))


def _decode(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON: {error}") from error


def _read_corpus(path: Path) -> tuple[Document, ...]:
    documents = tuple(
        Document(
            id=_identifier(entry.get("id"), where),
            text=_text(entry, "text", where),
            title=_text(entry, "title", where, required=False),
            metadata=_metadata(entry, where),
        )
        for where, entry in _read_entries(path)
    )
    _check_unique([document.id for document in documents], path)
    return documents


def _read_questions(path: Path) -> tuple[Question, ...]:
    questions = tuple(
        Question(
            id=_identifier(entry.get("id", number), where),
            text=_text(entry, "question", where),
            answers=_answers(entry, where),
            gold_ids=_gold_ids(entry, where),
            type=_text(entry, "type", where, required=False) or None,
        )
        for number, (where, entry) in enumerate(_read_entries(path), start=1)
    )
    _check_unique([question.id for question in questions], path)
    return questions


# --- fields --------------------------------------------------------------------------------------------------------


def _identifier(value: object, where: str) -> str:
    """An id as a string; data sets number theirs too."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise InputError(f"{where}: its id is {_shorten(value)}, not a string or a whole number")
    return str(value)


def _text(entry: Mapping[str, Any], key: str, where: str, *, required: bool = True) -> str:
    value = entry.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise InputError(f"{where}: its {key} is {_shorten(value)}, not {'a text' if required else 'a string'}")
    return value


def _metadata(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    value = entry.get("metadata") or {}
    if not isinstance(value, dict):
        raise InputError(f"{where}: its metadata is {_shorten(value)}, not an object")
    return value


def _answers(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = entry.get("answers", entry.get("answer"))
    answers = [value] if isinstance(value, str) else value
    if not isinstance(answers, list) or not answers:
        raise InputError(f"{where}: has no answers. Give `answers`, a list of strings")
    for answer in answers:
        if not isinstance(answer, str) or not answer.strip():
            raise InputError(f"{where}: an answer is {_shorten(answer)}, not a text")
    return tuple(answers)


def _gold_ids(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = entry.get("gold_passage_ids", entry.get("gold_ids"))
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError(f"{where}: its gold ids are {_shorten(value)}, not a list")
    return tuple(dict.fromkeys(_identifier(gold_id, where) for gold_id in value))


def _shorten(value: object) -> str:
    """A value for a message."""
    if value is None:
        return "missing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


# --- the whole -----------------------------------------------------------------------------------------------------


def _check_unique(ids: Sequence[str], path: Path) -> None:
    twice = [identifier for identifier, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{path}: id {twice[0]!r} stands there {ids.count(twice[0])} times ({len(twice)} such ids)")


def _check_gold(questions: Sequence[Question], known: set[str], path: Path) -> None:
    for question in questions:
        missing = [gold_id for gold_id in question.gold_ids if gold_id not in known]
        if missing:
            raise InputError(
                f"{path}: question {question.id!r} names the gold document {missing[0]!r}, not in the corpus"
            )
