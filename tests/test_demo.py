from __future__ import annotations

from pathlib import Path

import pytest

import minirag.demo
from minirag.demo import DemoQuestion, load_documents, load_questions
from minirag.evaluation.datasets import load_dataset
from minirag.loading import load
from minirag.records import Document

# What each question names, and what only the next document can tell.
NAMED = {
    "farrow-birthplace": "Hallow Head",
    "lens-founder-birthplace": "Hallow Head",
    "expedition-captain": "Northern Ice Expedition",
    "expedition-shipyard": "Northern Ice Expedition",
    "librettist-mother": "The Salt Bride",
    "composer-teacher": "The Salt Bride",
    "premiere-theatre-fire": "The Salt Bride",
    "expedition-herbarium": "Northern Ice Expedition",
}

DOCUMENTS = {document.id: document for document in load_documents()}
QUESTIONS = load_questions()


def whole(document: Document) -> str:
    return f"{document.title}\n{document.text}"


def test_there_are_24_short_documents() -> None:
    assert len(DOCUMENTS) == 24
    assert len({document.title for document in DOCUMENTS.values()}) == 24
    assert all(90 <= len(document.text.split()) <= 200 for document in DOCUMENTS.values())


def test_the_documents_can_be_added() -> None:
    assert list(load(load_documents())) == list(load_documents())


def test_there_are_ten_questions_and_one_that_is_not_answered() -> None:
    assert [question.type for question in QUESTIONS] == ["bridge"] * 8 + ["comparison"] * 2 + ["unanswerable"]
    assert QUESTIONS[-1] == DemoQuestion(
        "airport", "When was the airport of Port Ansel opened?", (), (), "unanswerable"
    )
    assert not any("airport" in document.text for document in DOCUMENTS.values())


@pytest.mark.parametrize("question", QUESTIONS[:-1], ids=lambda question: question.id)
def test_the_last_document_holds_the_answer(question: DemoQuestion) -> None:
    assert 2 <= len(question.gold_ids) <= 3
    last = -1 if question.type == "bridge" else 0
    assert question.answers[0] in whole(DOCUMENTS[question.gold_ids[last]])


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.type == "bridge"], ids=lambda question: question.id)
def test_no_document_alone_answers(question: DemoQuestion) -> None:
    named = NAMED[question.id]
    assert named in question.text
    assert named in whole(DOCUMENTS[question.gold_ids[0]])
    alone = [d.id for d in DOCUMENTS.values() if named in whole(d) and question.answers[0] in whole(d)]
    assert alone == []


def test_the_folder_is_a_data_set() -> None:
    dataset = load_dataset(Path(minirag.demo.__file__).parent)
    assert {document.id for document in dataset.documents} == DOCUMENTS.keys()
    assert [question.id for question in dataset.questions] == [question.id for question in QUESTIONS[:-1]]
