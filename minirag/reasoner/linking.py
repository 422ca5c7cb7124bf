"""Bridging facts by rules: sentences of two documents that share a name, put side by side."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from minirag.naming.names import normalise_name, title_entity
from minirag.records import BridgingFact, SharedEntity, SourcedFact

_MOST_WORDS = 100
_MOST_CHARACTERS = 600


def link_documents(entity: SharedEntity, *, most: int = 16, most_unexplained: int = 3) -> tuple[BridgingFact, ...]:
    """Join what the documents say of a shared name, two documents at a time.

    Where one document is about the entity, its first fact explains the name in each of the others: these are the
    bridging facts that retrieval gains by. Else each document is joined with the next one, if they are few: what many
    documents mention and none explains says little of any two, and would only stand in the way of better units.

    Args:
        entity: The name and the facts, of at least two documents.
        most: Bridging facts at most; the work grows with the number of facts, not with its square.

        most_unexplained: Documents at most where none is about the entity.

    Returns:
        Bridging facts in the order of the documents; none when the documents say the same words.
    """
    key = normalise_name(entity.name)
    chosen = _telling_facts(entity.facts, key)
    about = [place for place in chosen if _is_about(entity.facts[place], key)]
    if about:
        pairs: Iterable[tuple[int, int]] = ((place, about[0]) for place in chosen if place != about[0])
    elif len(chosen) <= most_unexplained:
        pairs = pairwise(chosen)
    else:
        return ()
    joined = (_join(entity, first, second) for first, second in pairs)
    return tuple(fact for fact in joined if fact is not None)[:most]


def _telling_facts(facts: tuple[SourcedFact, ...], key: str) -> list[int]:
    """For each document the position of the fact that says most of the entity, in the order of the documents."""
    best: dict[str, tuple[float, int]] = {}
    for place, fact in enumerate(facts):
        score = _telling(fact, key)
        if fact.document_id not in best or score > best[fact.document_id][0]:
            best[fact.document_id] = (score, place)
    return [place for _, place in best.values()]


def _telling(fact: SourcedFact, key: str) -> float:
    """The first fact of the entity's own document; elsewhere one that names it, the earlier and shorter the better."""
    if _is_about(fact, key):
        return 2.0 if fact.text.lower().startswith(key) else 1.0
    length = len(fact.text)
    named = 1.0 if key in normalise_name(fact.text) else 0.0
    return named - min(length, 1000) / 2000


def _is_about(fact: SourcedFact, key: str) -> bool:
    return bool(fact.title) and normalise_name(title_entity(fact.title)) == key


def _join(entity: SharedEntity, first: int, second: int) -> BridgingFact | None:
    """Both facts as one text, or None where they are the same words or too long together."""
    texts = [_shortened(entity.facts[place].text) for place in (first, second)]
    if texts[0] == texts[1] or entity.facts[first].document_id == entity.facts[second].document_id:
        return None
    return BridgingFact(" ".join(texts), (first, second))


def _shortened(text: str) -> str:
    """At most half of what a bridging fact may have, cut at a word."""
    if len(text) > _MOST_CHARACTERS // 2:
        text = text[: _MOST_CHARACTERS // 2].rsplit(" ", 1)[0] + " …"
    words = text.split(" ")
    return text if len(words) <= _MOST_WORDS // 2 else " ".join(words[: _MOST_WORDS // 2]) + " …"
