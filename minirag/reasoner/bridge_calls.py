"""Several bridge entities in one call: how they are numbered in the prompt, and what of the reply is let through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minirag.reasoner.fitting import fit_entity, json_tokens, split_fitting
from minirag.reasoner.numbers import foreign_numbers
from minirag.reasoner.replies import BridgeReply, BridgingFactReply
from minirag.records import BridgingFact, SharedEntity, SourcedFact

_FRAME = 20  # tokens of JSON around an entity


@dataclass(frozen=True, slots=True)
class FittedEntity:
    """A bridge entity with the facts that there is room for.

    Attributes:
        name: The entity's.
        facts: As many of each document as of the others, as far as they have them.
        places: Where they stand in `SharedEntity.facts`.
        tokens: About how many it takes in a prompt.
    """

    name: str
    facts: tuple[SourcedFact, ...]
    places: tuple[int, ...]
    tokens: int

    def halved(self) -> FittedEntity | None:
        """With half of the facts, at least one of each of two documents; None when it has no more than these."""
        smaller = fit(SharedEntity(self.name, self.facts), self.tokens // 2)
        if len(smaller.facts) >= len(self.facts):
            return None
        return replace(smaller, places=tuple(self.places[place] for place in smaller.places))


def fit(entity: SharedEntity, room: int) -> FittedEntity:
    """The entity without the last facts of its documents, if they are too many for so many tokens."""
    places = fit_entity(entity, room - json_tokens(entity.name) - _FRAME)
    facts = tuple(entity.facts[place] for place in places)
    return FittedEntity(entity.name, facts, places, _FRAME + json_tokens([entity.name, _listed(facts, 1000)]))


def batches(entities: Sequence[FittedEntity], room: int) -> Iterator[list[int]]:
    """The positions of the entities that share a call, in order; one that is too large is alone."""
    return split_fitting(range(len(entities)), [entity.tokens for entity in entities], room)


def bridge_data(entities: Sequence[FittedEntity]) -> dict[str, Any]:
    """What the prompt holds: entities are numbered from 1, and facts from 1 through the whole call."""
    firsts = _first_numbers(entities)
    listed = [
        {"n": n, "name": entity.name, "facts": _listed(entity.facts, first)}
        for n, (entity, first) in enumerate(zip(entities, firsts, strict=True), start=1)
    ]
    return {"entities": listed}


def read_bridges(reply: BridgeReply, entities: Sequence[FittedEntity]) -> dict[int, tuple[BridgingFact, ...]]:
    """By position, the entities that the model answered for, each with the bridging facts that its facts support."""
    firsts = _first_numbers(entities)
    found: dict[int, tuple[BridgingFact, ...]] = {}
    for answered in reply.entities:
        place = answered.entity - 1
        if 0 <= place < len(entities):
            supported = [_supported(fact, entities[place], firsts[place]) for fact in answered.facts]
            kept = [fact for fact in supported if fact is not None]
            found[place] = tuple(dict.fromkeys((*found.get(place, ()), *kept)))
    return found


def positions(numbers: Sequence[int], count: int) -> list[int]:
    """Numbers from 1 to positions from 0: each once, in order, without those outside the list."""
    return [number - 1 for number in dict.fromkeys(numbers) if 1 <= number <= count]


def _supported(reply: BridgingFactReply, entity: FittedEntity, first: int) -> BridgingFact | None:
    """The bridging fact, unless it lacks sources in two documents, or has a number that none of its sources has."""
    text = " ".join(reply.text.split())
    chosen = sorted(positions([number - first + 1 for number in reply.sources], len(entity.facts)))
    sources = [entity.facts[place] for place in chosen]
    if not text or len({source.document_id for source in sources}) < 2:
        return None
    if foreign_numbers(text, [entity.name, *(part for source in sources for part in (source.text, source.title))]):
        return None
    return BridgingFact(text, tuple(entity.places[place] for place in chosen))


def _first_numbers(entities: Sequence[FittedEntity]) -> list[int]:
    firsts = [1]
    for entity in entities[:-1]:
        firsts.append(firsts[-1] + len(entity.facts))
    return firsts[: len(entities)]


def _listed(facts: Sequence[SourcedFact], first: int) -> list[dict[str, Any]]:
    """The documents are called A, B, … in the order of their facts: titles may be empty or alike."""
    letters: dict[str, str] = {}
    listed = []
    for number, fact in enumerate(facts, start=first):
        letter = letters.setdefault(fact.document_id, _letters(len(letters)))
        listed.append({"n": number, "document": letter, "title": fact.title, "text": fact.text})
    return listed


def _letters(position: int) -> str:
    """A, B, … Z, AA, AB, …."""
    before, last = divmod(position, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
