"""What a data set says of a question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A passage that a data set puts beside a question.

    Attributes:
        title: Of its article, may be empty.
        text: The whole passage.
        sentences: The passage in sentences; empty where the data set does not split it.
        is_supporting: Whether it takes this passage to answer the question, or in DPR's files, whether it may do.
        supporting_sentences: Positions in `sentences`, from 0; empty where the data set does not say.
    """

    title: str
    text: str
    sentences: tuple[str, ...] = ()
    is_supporting: bool = False
    supporting_sentences: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One hop of a question.

    Attributes:
        question: MuSiQue's may name an earlier answer as "#1", and some are "entity >> relation".
        answer: What it comes to.
        passage: Position in the example's passages of the one that answers it; None where the data set does not say.
        title: The article that answers it, likewise.
    """

    question: str
    answer: str
    passage: int | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One question with all that its data set says of it.

    Attributes:
        id: Unique in its file.
        question: In words.
        answers: Every accepted answer, at least one; the first is the data set's own, aliases follow.
        type: The data set's kind of question ("bridge", "compositional", "2hop", …), None where it does not say.
        passages: What stands beside the question, supporting and distracting, each once; may be empty.
        gold_titles: The articles that it takes, also those that the passages lack (HotpotQA's fullwiki setting).
        gold_ids: Ids of documents that it takes, where the file names documents instead.
        triples: The chain of facts (head, relation, tail) that leads to the answer, in order (2WikiMultiHopQA).
        sub_questions: The hops, in order (MuSiQue).
        is_any_sufficient: Whether one of the supporting passages is enough, as in DPR's files: recall over all of them
            then means nothing.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: str | None = None
    passages: tuple[ContextPassage, ...] = ()
    gold_titles: tuple[str, ...] = ()
    gold_ids: tuple[str, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    is_any_sufficient: bool = False
