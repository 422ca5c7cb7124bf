"""Passages for questions that have none: those of other questions, where they answer a hop.

Decompositions without passages name the article of each hop. Where another question's context has a passage of that
article which says the hop's answer, the hop is learnt from it: that is what questions of three and four hops, of which
published samples have few with passages, get passages from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from minirag.datasets import ContextPassage, Example, SubQuestion
from minirag.naming.names import normalise_name
from minirag.naming.words import HANGUL, UNSPACED_LETTER, WORD_CHARACTERS

MOST_OTHERS = 12  # passages of the lenders' contexts that come along, to be told apart
_GLUED = re.compile(rf"{UNSPACED_LETTER.pattern}|[{HANGUL}]")  # words without spaces between, or with endings
_REFERENCE = re.compile(r"#(\d+)")

Sourced = tuple[str, Example]  # with the name of its data set


def borrow_passages(examples: Sequence[Sourced]) -> list[Sourced]:
    """For each question without passages, of whose hops some are answered elsewhere, another one of these hops alone.

    Args:
        examples: Of all sets.

    Returns:
        New examples, in the order of those that they were made from, each in the data set of its first lender. Their
        hops need none before them: "#1" in a hop is replaced by the answer that it stands for.
    """
    lenders: dict[str, list[tuple[int, ContextPassage]]] = {}
    for number, (_, example) in enumerate(examples):
        for passage in example.passages:
            lenders.setdefault(normalise_name(passage.title), []).append((number, passage))
    return [made for _, example in examples if not example.passages and (made := _borrow(example, lenders, examples))]


def says(text: str, answer: str) -> bool:
    """Whether an answer stands in a text in whole words, so that "no" is not in "Norway" and "1" not in "1.5".

    Upper and lower case, and other forms of the same characters, are alike. In scripts that write no spaces, and in
    Korean, which glues endings to its words, there are no whole words to be told: it stands wherever its letters do.
    """
    sought = normalise_name(answer)
    if not sought:
        return False
    before = "" if _GLUED.match(sought[0]) else rf"(?<![{WORD_CHARACTERS}])(?<!\d[.,])"
    after = "" if _GLUED.match(sought[-1]) else rf"(?![{WORD_CHARACTERS}])(?![.,]\d)"
    return re.search(before + re.escape(sought) + after, normalise_name(text)) is not None


def _borrow(
    example: Example, lenders: Mapping[str, Sequence[tuple[int, ContextPassage]]], examples: Sequence[Sourced]
) -> Sourced | None:
    found: list[tuple[SubQuestion, int, ContextPassage]] = []
    for hop in _standing_alone(example.sub_questions):
        offered = lenders.get(normalise_name(hop.title or ""), ())
        fit = next((each for each in offered if says(each[1].text, hop.answer)), None)
        if fit is not None:
            found.append((hop, *fit))
    if not found:
        return None
    gold = {passage.text: replace(passage, is_supporting=True, supporting_sentences=()) for _, _, passage in found}
    places = {text: place for place, text in enumerate(gold)}
    hops = tuple(replace(hop, passage=places[passage.text]) for hop, _, passage in found)
    source, _ = examples[found[0][1]]
    others = _others([examples[number][1] for _, number, _ in found], {passage.title for passage in gold.values()})
    passages = (*gold.values(), *others)
    return source, replace(example, id=f"{example.id} borrowed", passages=passages, sub_questions=hops, triples=())


def _standing_alone(hops: Sequence[SubQuestion]) -> Iterator[SubQuestion]:
    def answer(match: re.Match[str]) -> str:
        number = int(match[1]) - 1
        return hops[number].answer if 0 <= number < len(hops) else match[0]

    return (replace(hop, question=_REFERENCE.sub(answer, hop.question)) for hop in hops)


def _others(lenders: Sequence[Example], titles: set[str]) -> list[ContextPassage]:
    """Of the lenders' contexts what is of other articles, each passage once."""
    others = {
        p.text: replace(p, is_supporting=False) for each in lenders for p in each.passages if p.title not in titles
    }
    return list(others.values())[:MOST_OTHERS]
