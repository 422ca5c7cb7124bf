"""What the encoder learns from: a question, maybe with a chain, and the texts that are right next.

Every chain is cut into (question, partial chain) and the units that may follow. The bare question is to find all that
supports its answer, so that one search works too; with a chain, it is to find what is left. Where a set has the
question that one hop alone answers, that is to find its hop, so that plain questions are not forgotten. Targets are
passages, facts and triples alike, so that one encoder does all jobs. Where a set only names the article of a hop, its
title with what it says of the hop stands for the passage: bare questions of many hops learn to find each of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from minirag.records import Kind
from minirag.training.silver import ReadPassage, SilverStep, orders

_OTHER_FACT = 0.25  # how often a chain holds another fact of the right passage: retrieval errs like that


@dataclass(frozen=True, slots=True)
class ChainedQuestion:
    """A question with its context and its silver chain.

    Attributes:
        id: Of the question.
        source: The name of its data set.
        text: The question.
        passages: Its context, gold passages and others; may be empty.
        steps: The chain.
    """

    id: str
    source: str
    text: str
    passages: tuple[ReadPassage, ...]
    steps: tuple[SilverStep, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing to learn.

    Attributes:
        question: The number of its question.
        kind: Of the texts that are to be found.
        query: The question, maybe with a chain.
        target: A text that is to be found.
        gold: All texts that support the question's answer: no negatives.
        chained: Whether the query has a chain.
        source: The name of the question's data set.
        stands_in: Whether the target stands for a passage that is not known.
    """

    question: int
    kind: Kind
    query: str
    target: str
    gold: frozenset[str]
    chained: bool
    source: str = ""
    stands_in: bool = False


def cut_chains(
    questions: Sequence[ChainedQuestion], *, chain_queries: bool = True, stand_ins: bool = True, seed: int = 0
) -> tuple[Lesson, ...]:
    """All lessons of these questions.

    Args:
        questions: With their chains.
        chain_queries: False learns from bare questions only, for the ablation.
        stand_ins: False leaves out what stands for passages that are not known.
        seed: Of what the chains hold.

    Returns:
        Without doubles, in the order of the questions.
    """
    chance = random.Random(seed)
    lessons: dict[Lesson, None] = {}
    for number, question in enumerate(questions):
        gold = gold_texts(question)
        for lesson in _cut(question, chance):
            if (chain_queries or not lesson.chained) and (stand_ins or not lesson.stands_in):
                lessons[replace(lesson, question=number, gold=gold, source=question.source)] = None
    return tuple(lessons)


def gold_texts(question: ChainedQuestion) -> frozenset[str]:
    """All texts that support the answer: the chain's, and gold passages that the chain does without."""
    passages = [passage.text for passage in question.passages if passage.is_gold]
    stand_ins = [step.stand_in for step in question.steps if step.stand_in is not None]
    return frozenset([*passages, *stand_ins, *(text for step in question.steps for _, text in _texts(question, step))])


def _cut(question: ChainedQuestion, chance: random.Random) -> Iterator[Lesson]:
    for step in question.steps:
        if step.stand_in is not None:
            yield Lesson(0, "passage", question.text, step.stand_in, frozenset(), chained=False, stands_in=True)
        if step.asks is not None:
            for kind, text in _texts(question, step):
                yield Lesson(0, kind, step.asks, text, frozenset(), chained=False)
    for order in orders(question.steps):
        for length in range(len(order)):
            taken, left = order[:length], order[length:]
            ready = [n for n in left if set(question.steps[n].needs) <= {*taken}] if taken else left
            for step in (question.steps[number] for number in ready):
                for kind, text in _texts(question, step):
                    chain = [_say(question, question.steps[number], kind, chance) for number in taken]
                    query = " ".join([question.text, *chain])
                    yield Lesson(0, kind, query, text, frozenset(), bool(taken))


def _texts(question: ChainedQuestion, step: SilverStep) -> list[tuple[Kind, str]]:
    """What says a step: a passage, a fact, a triple, as far as there are any."""
    texts: list[tuple[Kind, str]] = []
    if step.passage is not None:
        texts.append(("passage", question.passages[step.passage].text))
    if step.fact is not None:
        texts.append(("fact", step.fact))
    if step.triple is not None:
        texts.append(("triple", step.triple))
    return texts


def _say(question: ChainedQuestion, step: SilverStep, kind: Kind, chance: random.Random) -> str:
    """How a chain says a step that is taken: chains of triples hold triples, others facts."""
    if step.triple is not None and (kind == "triple" or step.fact is None or step.passage is None):
        return step.triple
    if step.passage is not None and chance.random() < _OTHER_FACT:
        return chance.choice(question.passages[step.passage].facts)
    return step.fact or ""
