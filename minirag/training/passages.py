"""The passages of training questions, read as an index would read them: facts and triples of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from minirag.datasets import ContextPassage, Example
from minirag.reasoner import Reasoner
from minirag.records import Extraction, Passage
from minirag.splitting import embedded_text
from minirag.training.silver import ReadPassage

Triples = Mapping[tuple[str, str], Sequence[str]]


async def read_passages(
    examples: Sequence[Example],
    *,
    reasoner: Reasoner,
    triples: Triples | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[tuple[ReadPassage, ...]]:
    """Extract facts and triples from the passages of all examples, from each passage once.

    Args:
        examples: Of one or more sets.
        reasoner: Extracts: by rules, or by a model that is paid for.
        triples: Of passages, by title and text, that somebody else extracted; they replace the reasoner's.
        progress: Told how many passages were read.

    Returns:
        For each example its passages, in its order.
    """
    distinct = list(dict.fromkeys((p.title, p.text) for example in examples for p in example.passages))

    async def extract(number: int, title: str, text: str) -> Extraction:
        extraction = await reasoner.extract(Passage(f"{number}#0", str(number), text, 0, len(text)), title=title)
        if progress is not None:
            progress(1)
        return extraction

    extracted = await asyncio.gather(*(extract(n, title, text) for n, (title, text) in enumerate(distinct)))
    found = dict(zip(distinct, extracted, strict=True))
    given = triples or {}
    return [
        tuple(_read(p, found[p.title, p.text], given.get((p.title, p.text))) for p in example.passages)
        for example in examples
    ]


def _read(passage: ContextPassage, extraction: Extraction, triples: Sequence[str] | None) -> ReadPassage:
    return ReadPassage(
        text=embedded_text(passage.text, title=passage.title),
        title=passage.title,
        facts=tuple(fact.text for fact in extraction.facts),
        triples=tuple(triples if triples is not None else (" ".join(triple) for triple in extraction.triples)),
        is_gold=passage.is_supporting,
        supporting=tuple(passage.sentences[number] for number in passage.supporting_sentences),
    )
