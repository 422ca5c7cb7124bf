"""Silver chains by a model, where a set says only which passages are gold (KiRAG, section 3.4 and appendix B.3)."""

from __future__ import annotations

from collections.abc import Sequence

from minirag.datasets import Example
from minirag.encoder import replace_surrogates
from minirag.reasoner import Reasoner
from minirag.storage.journal import Journal
from minirag.training.keeping import extend_once
from minirag.training.silver import ReadPassage, SilverStep, best_fact

MOST_STEPS = 5


async def pick_chain(
    example: Example, passages: Sequence[ReadPassage], reasoner: Reasoner, *, journal: Journal | None = None
) -> tuple[SilverStep, ...]:
    """Have the Constructor pick from the gold passages' units until it says that the answer is known.

    Args:
        example: The question, with its answer.
        passages: Its passages, read; only the gold ones are picked from.
        reasoner: A model; rules would take the first unit each time.
        journal: Keeps its replies, and has those of a run that was stopped.

    Returns:
        The chain; empty when it says nothing of any accepted answer, for such a chain teaches nothing right.

    Raises:
        LLMError: When the model cannot be called, or its reply not be used.
    """
    units = [(place, text) for place, passage in enumerate(passages) if passage.is_gold for text in _units(passage)]
    picked: list[tuple[int, str]] = []
    while units and len(picked) < MOST_STEPS:
        chain, candidates = ([text for _, text in each] for each in (picked, units))
        extension = await extend_once(reasoner, journal, replace_surrogates(example.question), chain, candidates)
        if extension.choice is None:
            break
        picked.append(units.pop(extension.choice))
    said = " ".join(text for _, text in picked).casefold()
    if not any(answer.casefold() in said for answer in example.answers):
        return ()
    return tuple(_step(number, place, text, passages[place]) for number, (place, text) in enumerate(picked))


def _units(passage: ReadPassage) -> tuple[str, ...]:
    """Triples, as in the paper; facts where a passage has none."""
    return passage.triples or passage.facts


def _step(number: int, place: int, text: str, passage: ReadPassage) -> SilverStep:
    needs = (number - 1,) if number else ()
    is_triple = text in passage.triples
    return SilverStep(place, best_fact(text, passage) if is_triple else text, text if is_triple else None, needs)
