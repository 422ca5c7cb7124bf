"""Silver chains: which facts and triples of which passages support a question's answer, in which order.

KiRAG (arXiv 2502.18397, section 3.4 and appendix B.3) has a language model pick the triples that answer a question from
those of its gold passages; `minirag.training.picking` does that. Where a set says itself what supports the answer, it
is taken instead: 2WikiMultiHopQA's evidences, MuSiQue's decompositions, HotpotQA's supporting facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from minirag.datasets import Example
from minirag.naming.names import normalise_name, title_entity
from minirag.splitting import embedded_text

MOST_ORDERS = 2  # of the right orders of a comparison, so many are learnt from
_WORD = re.compile(r"\w+")
_REFERENCE = re.compile(r"#(\d+)")
_FROM_SENTENCE = 0.6  # the share of a sentence's words from which on a fact is taken to come from it


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage of a question's context with what was extracted from it.

    Attributes:
        text: As it is encoded, the title in front.
        title: Of its document.
        facts: The texts of its facts.
        triples: Likewise.
        is_gold: Whether it supports the answer.
        supporting: Which of its sentences do; empty where the set does not say.
    """

    text: str
    title: str
    facts: tuple[str, ...]
    triples: tuple[str, ...]
    is_gold: bool = False
    supporting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """What a question set says of one hop.

    Attributes:
        text: A triple, a sub-question with its answer, or a question with what the hop leads to.
        triple: What stands for the hop where no passage is known: a triple, or a sub-question with its answer.
        passage: The number of its passage in the context, where the set says so.
        title: Of that passage, likewise.
        needs: The numbers of the hops that come before it in every order.
        asks: The question that the hop alone answers, where the set has one.
        stand_in: What stands for a passage that is not known: the title of its article, and what it says of the hop.
    """

    text: str
    triple: str | None = None
    passage: int | None = None
    title: str | None = None
    needs: tuple[int, ...] = ()
    asks: str | None = None
    stand_in: str | None = None


@dataclass(frozen=True, slots=True)
class SilverStep:
    """One hop of a chain.

    Attributes:
        passage: The number of its passage in the context; None where the set has no passages.
        fact: The fact that says it.
        triple: The triple that says it.
        needs: The numbers of the hops that come before it in every order.
        asks: The question that the hop alone answers, where the set has one.
        stand_in: What stands for a passage that is not known: the title of its article, and what it says of the hop.
    """

    passage: int | None
    fact: str | None
    triple: str | None
    needs: tuple[int, ...] = ()
    asks: str | None = None
    stand_in: str | None = None


def supports_of(example: Example, passages: Sequence[ReadPassage]) -> tuple[Support, ...]:
    """What the set says of each hop, in the order of the hops; nothing where it says nothing and has no gold passages.

    Args:
        example: A question.
        passages: Its passages, read.
    """
    if example.triples:
        asked = [step.question for step in example.sub_questions]
        return tuple(_of_triples(example.triples, asked if len(asked) == len(example.triples) else ()))
    if example.sub_questions:
        return tuple(_of_sub_questions(example, has_passages=bool(passages)))
    return tuple(_of_passages(example, passages))


def _of_triples(triples: Sequence[tuple[str, str, str]], asked: Sequence[str]) -> Iterator[Support]:
    names = [(normalise_name(head), normalise_name(tail)) for head, _, tail in triples]
    for number, triple in enumerate(triples):
        text = " ".join(triple)
        needs = tuple(other for other in range(number) if names[other][1] == names[number][0])
        yield Support(text, text, title=triple[0], needs=needs, asks=asked[number] if asked else None)


def _of_sub_questions(example: Example, *, has_passages: bool) -> Iterator[Support]:
    steps = example.sub_questions
    for step in steps:
        earlier = [int(number) - 1 for number in _REFERENCE.findall(step.question)]
        needs = tuple(number for number in earlier if 0 <= number < len(steps))
        question = step.question.replace(" >> ", " ")
        for number in needs:
            question = question.replace(f"#{number + 1}", steps[number].answer)
        text = f"{question} {step.answer}"
        if has_passages:
            yield Support(text, passage=step.passage, needs=needs, asks=question)
        else:
            said = f"{question.rstrip(' ?')} {step.answer}."
            stand_in = embedded_text(said, title=step.title) if step.title else None
            yield Support(text, text, needs=needs, asks=question, stand_in=stand_in)


def _of_passages(example: Example, passages: Sequence[ReadPassage]) -> Iterator[Support]:
    """Two gold passages make a chain where one leads to the other; otherwise each supports the answer on its own."""
    gold = [number for number, passage in enumerate(passages) if passage.is_gold]
    first = None if example.type == "comparison" or len(gold) != 2 else _first_of(example, passages, gold)
    if first is None:
        answered = f"{example.question} {example.answers[0]}"
        yield from (Support(answered, passage=number) for number in gold)
    else:
        second = gold[1] if first == gold[0] else gold[0]
        yield Support(f"{example.question} {title_entity(passages[second].title)}", passage=first)
        yield Support(f"{example.question} {example.answers[0]}", passage=second, needs=(0,))


def _first_of(example: Example, passages: Sequence[ReadPassage], gold: Sequence[int]) -> int | None:
    """Which of two passages comes first: the one that the question names, that lacks the answer, or names the other."""
    names = [title_entity(passages[number].title).casefold() for number in gold]
    said = [" ".join(passages[number].supporting or [passages[number].text]).casefold() for number in gold]
    asked, answer = example.question.casefold(), example.answers[0].casefold()
    signs = (
        [name in asked for name in names],
        [answer not in text for text in said],
        [names[1] in said[0], names[0] in said[1]],
    )
    for one, other in signs:
        if one != other:
            return gold[0] if one else gold[1]
    return None


def build_chain(supports: Sequence[Support], passages: Sequence[ReadPassage]) -> tuple[SilverStep, ...]:
    """Find for each hop the passage and the fact that say it.

    Returns:
        A step for each hop; those of which no passage was found have only a triple, and those without one are left out.
    """
    steps: list[SilverStep] = []
    numbers: dict[int, int] = {}  # of a hop: of its step
    for hop, support in enumerate(supports):
        place = _find_passage(support, passages)
        fact = None if place is None else best_fact(support.text, passages[place])
        if fact is None and support.triple is None:
            continue
        numbers[hop] = len(steps)
        needs = tuple(numbers[other] for other in support.needs if other in numbers)
        known = place if fact else None
        stand_in = support.stand_in if known is None else None
        steps.append(SilverStep(known, fact, support.triple, needs, support.asks, stand_in))
    return tuple(steps)


def orders(steps: Sequence[SilverStep], most: int = MOST_ORDERS) -> Iterator[tuple[int, ...]]:
    """The right orders of a chain's steps, at most so many: none before what it needs."""
    found = 0
    for order in permutations(range(len(steps))):
        if all(order.index(need) < place for place, step in enumerate(order) for need in steps[step].needs):
            yield order
            found += 1
            if found == most:
                return


def best_fact(support: str, passage: ReadPassage) -> str | None:
    """The fact of a passage that shares most words with what supports the answer; None if it has no facts.

    Where the set names sentences, only facts that come from one of them are looked at.
    """
    facts = [fact for fact in passage.facts if _comes_from(fact, passage.supporting)] or list(passage.facts)
    wanted = words_of(support)
    return max(facts, key=lambda fact: _overlap(wanted, words_of(fact)), default=None)


def words_of(text: str) -> frozenset[str]:
    """The words of a text, case-folded."""
    return frozenset(_WORD.findall(text.casefold()))


def _comes_from(fact: str, sentences: Sequence[str]) -> bool:
    words = words_of(fact)
    return any(len(words & words_of(sentence)) >= _FROM_SENTENCE * len(words_of(sentence)) for sentence in sentences)


def _overlap(wanted: frozenset[str], words: frozenset[str]) -> float:
    return len(wanted & words) - 0.01 * len(words)


def _find_passage(support: Support, passages: Sequence[ReadPassage]) -> int | None:
    if support.passage is not None:
        return support.passage
    gold = [number for number, passage in enumerate(passages) if passage.is_gold]
    if support.title is not None:
        name = normalise_name(title_entity(support.title))
        named = [n for n in gold if normalise_name(title_entity(passages[n].title)) == name]
        if named:
            return named[0]
    wanted = words_of(support.text)
    scored = [(_overlap(wanted, words_of(passages[number].text)), -number) for number in gold]
    return -max(scored)[1] if scored else None
