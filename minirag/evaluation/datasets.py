"""Data sets to measure on: questions with gold answers, and the corpus that they are asked of."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minirag.datasets import Example, read_examples
from minirag.datasets.entries import read_entries, shorten
from minirag.datasets.fields import Entry, identifier, text, triple
from minirag.errors import InputError
from minirag.evaluation.corpora import Corpus
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
        absent: Gold ids that the corpus lacks, as HotpotQA's fullwiki contexts do: they count as not found.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    triples: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

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


def describe_question(question: Question) -> str:
    """Its id and the beginning of its text: an id may be no more than a place in a file."""
    return f"question {question.id!r} ({shorten(question.text)})"


def load_dataset(path: str | Path) -> Dataset:
    """Read a data set.

    Args:
        path: A file of questions in any form that `minirag.datasets.read_examples` takes: HotpotQA's,
            2WikiMultiHopQA's, MuSiQue's, DPR's, or `{question, answers}`. The passages beside its questions are the
            corpus, each once. Or a folder with such a file named `questions.json` and, unless the questions are asked
            of an index that exists, `corpus.json`. Each may be `.jsonl`, one JSON object a line, instead. A document is
            `{id, text}` with an optional `title` and `metadata`; gold documents are named by `gold_passage_ids` (or
            `gold_ids`), else by title. A folder may also have `triples.json` of `{passage_id, triple}`, each three
            texts: they take the place of those that indexing would extract from that document.

    Raises:
        InputError: If something is missing, is not JSON of that form, has an id twice, or if a question has no answer
            or names a gold document that the corpus lacks. The message names file, entry and what is wrong.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Give a folder with questions.json, or such a file")
    if path.is_file():
        return _join(path.resolve().stem, path, None)
    questions_file = _find(path, "questions")
    if questions_file is None:
        raise InputError(f"{path}: holds neither questions.json nor questions.jsonl")
    corpus_file, triples_file = _find(path, "corpus"), _find(path, "triples")
    dataset = _join(path.resolve().name, questions_file, None if corpus_file is None else _read_corpus(corpus_file))
    if triples_file is None:
        return dataset
    return replace(dataset, triples=_read_triples(triples_file, {document.id for document in dataset.documents}))


def files_of(path: Path) -> list[Path]:
    """The files that `load_dataset` reads of a path, or would read if they were there."""
    if not path.is_dir():
        return [path]
    return [file for stem in ("questions", "corpus", "triples") for file in _candidates(path, stem)]


def _draw(seed: int, question_id: str) -> bytes:
    """Where a question stands in the seed's order."""
    return hashlib.sha256(f"{seed}:{question_id}".encode("utf-8", "surrogatepass")).digest()


def _find(folder: Path, stem: str) -> Path | None:
    return next((candidate for candidate in _candidates(folder, stem) if candidate.is_file()), None)


def _candidates(folder: Path, stem: str) -> tuple[Path, Path]:
    return folder / f"{stem}.json", folder / f"{stem}.jsonl"


def _join(name: str, questions_file: Path, documents: tuple[Document, ...] | None) -> Dataset:
    """Questions with the corpus that was given, or with the one that stands beside them."""
    examples = tuple(read_examples(questions_file))
    corpus = Corpus.of(examples) if documents is None else Corpus(documents)
    questions = tuple(_question(example, corpus) for example in examples)
    if corpus.documents:
        _check_gold(examples, {document.id for document in corpus.documents}, questions_file)
    known = {document.id for document in corpus.documents}
    named = {gold_id for example in examples for gold_id in example.gold_ids}
    absent = {gold_id for question in questions for gold_id in question.gold_ids} - known - named
    return Dataset(name, corpus.documents, questions, absent=frozenset(absent))


def _question(example: Example, corpus: Corpus) -> Question:
    gold = example.gold_ids or (corpus.gold_of(example) if corpus.documents else ())
    return Question(example.id, example.question, example.answers, gold, example.type)


# --- a folder's own files ------------------------------------------------------------------------------------------


def _read_triples(path: Path, known: Set[str]) -> dict[str, list[tuple[str, str, str]]]:
    triples: dict[str, list[tuple[str, str, str]]] = {}
    for where, entry in read_entries(path):
        document = entry.get("passage_id")
        if document not in known:
            raise InputError(f"{where}: passage_id {document!r} is no document of the corpus")
        triples.setdefault(str(document), []).append(triple(entry.get("triple"), where))
    return triples


def _read_corpus(path: Path) -> tuple[Document, ...]:
    documents = tuple(
        Document(
            id=identifier(entry.get("id"), where),
            text=text(entry, "text", where=where),
            title=text(entry, "title", where=where, required=False),
            metadata=_metadata(entry, where),
        )
        for where, entry in read_entries(path)
    )
    _check_unique([document.id for document in documents], path)
    return documents


def _metadata(entry: Entry, where: str) -> dict[str, Any]:
    value = entry.get("metadata") or {}
    if not isinstance(value, dict):
        raise InputError(f"{where}: its metadata is {shorten(value)}, not an object")
    return value


def _check_unique(ids: Sequence[str], path: Path) -> None:
    twice = [each for each, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{path}: id {twice[0]!r} stands there {ids.count(twice[0])} times ({len(twice)} such ids)")


def _check_gold(examples: Sequence[Example], known: Set[str], path: Path) -> None:
    for example in examples:
        missing = [gold_id for gold_id in example.gold_ids if gold_id not in known]
        if missing:
            raise InputError(
                f"{path}: question {example.id!r} ({shorten(example.question)}) names the gold document "
                f"{missing[0]!r}, not in the corpus"
            )
