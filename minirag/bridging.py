"""Bridge entities, and the bridging facts that join what documents say of them (IndexRAG)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import xxhash

from minirag.ending import current_ending
from minirag.errors import BudgetExceededError, LLMError, LLMSetupError
from minirag.extraction import run_all
from minirag.filtering import group_of
from minirag.naming.names import is_bridge_name, normalise_name
from minirag.planning import BridgeKey, Plan, Relabelled, batch_keys
from minirag.reasoner import Reasoner, bridging_version, who_does
from minirag.records import Bridge, BridgingFact, Settings, SharedEntity, SourcedFact
from minirag.storage.journal import Journal
from minirag.storage.merging import read_document
from minirag.storage.segment import Segment, StoredDocument, bridge_id, passage_id
from minirag.storage.snapshot import Snapshot
from minirag.storage.tables import hash_key

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Mention:
    """A fact that names an entity, in one of its spellings; `place` orders the mentions of a document."""

    spelling: str
    place: tuple[int, int]
    fact: SourcedFact


def share_entity(mentions: Iterable[Mention], settings: Settings) -> SharedEntity | None:
    """The bridge entity of one normalised name, or None when it does not bridge.

    Args:
        mentions: All facts that name it, in any order; a fact may come once per spelling.
        settings: Gives the limits.

    Returns:
        With the facts ordered by document id and place, so that the order of adding does not matter.
    """
    spellings: Counter[str] = Counter()
    facts: dict[tuple[str, tuple[int, int]], SourcedFact] = {}
    for mention in mentions:
        spellings[mention.spelling] += 1
        facts[mention.fact.document_id, mention.place] = mention.fact
    documents = {document_id for document_id, _ in facts}
    if not settings.bridge_min_documents <= len(documents) <= settings.bridge_max_documents:
        return None
    name = min(spellings, key=lambda spelling: (-spellings[spelling], spelling))
    if not is_bridge_name(name, min_length=settings.bridge_min_length):
        return None
    ordered = [facts[key] for key in sorted(facts)]
    most = settings.bridge_facts_per_document
    kept = [fact for _, group in groupby(ordered, lambda fact: fact.document_id) for fact in list(group)[:most]]
    return SharedEntity(name, tuple(kept))


def find_shared_entities(
    snapshot: Snapshot,
    keys: Set[int],
    documents: Sequence[StoredDocument],
    *,
    gone: Set[str],
    settings: Settings,
) -> dict[BridgeKey, SharedEntity]:
    """The bridge entities among names with these hashes.

    Args:
        snapshot: What is on disk.
        keys: Hashes of normalised names.
        documents: What comes on top.
        gone: Ids of documents on disk that are about to go.
        settings: Give the limits, and who is bridged with whom.

    Returns:
        By normalised name and group, in a fixed order.
    """
    mentions: dict[BridgeKey, list[Mention]] = {}
    for document in documents:
        within = group_of(document.metadata, settings.bridge_within)
        for name, mention in _mentions(document):
            mentions.setdefault(BridgeKey(name, within), []).append(mention)
    for segment in snapshot.segments:
        for key, mention in _stored_mentions(segment, keys, gone, settings.bridge_within):
            mentions.setdefault(key, []).append(mention)
    shared = {key: share_entity(mentions[key], settings) for key in sorted(mentions)}
    return {key: entity for key, entity in shared.items() if entity is not None and hash_key(key.name) in keys}


def _mentions(document: StoredDocument) -> Iterator[tuple[str, Mention]]:
    """Every normalised name in a document's facts, with the fact."""
    for position, passage in enumerate(document.passages):
        if passage.extraction is None:
            continue
        identity = passage_id(document.id, position, passage.text)
        for number, fact in enumerate(passage.extraction.facts):
            sourced = SourcedFact(fact.text, identity, document.id, document.title)
            for entity in fact.entities:
                if name := normalise_name(entity):
                    yield name, Mention(entity, (position, number), sourced)


def _stored_mentions(
    segment: Segment, keys: Set[int], gone: Set[str], within: str | None
) -> Iterator[tuple[BridgeKey, Mention]]:
    """The same for facts on disk whose names have these hashes, of documents that stay."""
    alive = segment.alive("facts")
    rows = {row for key in keys for row in segment.facts_by_entity.find(key).tolist()}
    for row in sorted(rows):
        if alive is not None and not alive[row]:
            continue
        owner = int(segment.passage_of_fact[row])
        document = int(segment.document_of_passage[owner])
        document_id, title, metadata, *_ = segment.documents[document]
        if document_id in gone:
            continue
        fact = segment.fact(row)
        place = (owner - int(segment.document_slices[document]), row - int(segment.fact_slices[owner]))
        sourced = SourcedFact(fact.text, fact.passage_id, document_id, title)
        for entity in fact.entities:
            if (name := normalise_name(entity)) and hash_key(name) in keys:
                yield BridgeKey(name, group_of(metadata, within)), Mention(entity, place, sourced)


def entity_keys(documents: Iterable[StoredDocument]) -> set[int]:
    """Hashes of all names in the facts of these documents."""
    return {hash_key(name) for document in documents for name, _ in _mentions(document)}


def find_touched(
    plan: Plan, documents: Sequence[StoredDocument], snapshot: Snapshot, *, within: str | None
) -> tuple[list[StoredDocument], set[str], set[int]]:
    """What a batch changes for bridging.

    Args:
        plan: Of the batch.
        documents: What it derived.
        snapshot: What is on disk.
        within: See `Settings.bridge_within`.

    Returns:
        The documents that come on top, those that only new metadata put among others included; the ids of what is about
        to go; and hashes of the names in all of these.
    """
    moved = [each.now for each in plan.relabelled.values() if _moves(each, within)]
    coming, gone = [*documents, *moved], {*plan.replaced, *(document.id for document in moved)}
    replaced = [read_document(snapshot.segments[number], row) for number, row in plan.replaced.values()]
    return coming, gone, entity_keys([*replaced, *coming])


def _moves(document: Relabelled, within: str | None) -> bool:
    """Whether new metadata put a document among others that it is bridged with."""
    return group_of(document.before.metadata, within) != group_of(document.now.metadata, within)


async def bridge_all(
    entities: Mapping[BridgeKey, SharedEntity],
    *,
    reasoner: Reasoner,
    journal: Journal | None,
    progress: Progress,
    may_fail: bool = False,
) -> tuple[list[Bridge], dict[BridgeKey, LLMError | BudgetExceededError]]:
    """Have bridging facts written for all entities, several per call.

    Args:
        entities: By normalised name and group.
        reasoner: Does the thinking.
        journal: Where replies are looked up and kept; None where they cost nothing.
        progress: Told how many entities were done.
        may_fail: Whether, when no call can succeed, that is why the entities failed for which none was answered.

    Returns:
        The bridging facts, and by name and group why an entity failed, or that the run's budget ended before it.

    Raises:
        LLMSetupError: When no call can succeed, unless it may fail.
    """
    failed: dict[BridgeKey, LLMError | BudgetExceededError] = {}
    answered: set[BridgeKey] = set()
    bridges, open_keys = _recall(entities, reasoner, journal)
    progress(len(entities) - len(open_keys))

    async def bridge_some(keys: Sequence[BridgeKey]) -> None:
        shared = [entities[key] for key in keys]
        try:
            replies = await reasoner.bridge(shared)
        except (LLMError, BudgetExceededError) as error:
            failed.update(dict.fromkeys(keys, error))
            if isinstance(error, LLMSetupError):
                current_ending().begin(error)
                raise
        else:
            for key, entity, facts in zip(keys, shared, replies, strict=True):
                if isinstance(facts, LLMError | BudgetExceededError):
                    failed[key] = facts
                    continue
                if journal is not None:
                    sources = dict.fromkeys(fact.document_id for fact in entity.facts)
                    journal.put(_key(entity, reasoner), _to_json(facts), documents=list(sources))
                bridges.extend(_to_bridges(entity, facts))
                answered.add(key)
        progress(len(keys))

    try:
        await run_all([bridge_some(keys) for keys in batch_keys(open_keys, reasoner.entities_per_call)])
    except LLMSetupError as error:
        if not may_fail:
            raise
        current_ending().withdraw()
        failed.update({key: _not_tried(error) for key in open_keys if key not in failed and key not in answered})
    return bridges, failed


def _recall(
    entities: Mapping[BridgeKey, SharedEntity], reasoner: Reasoner, journal: Journal | None
) -> tuple[list[Bridge], list[BridgeKey]]:
    """What the journal kept, and the entities of which it kept nothing."""
    if journal is None:
        return [], list(entities)
    bridges: list[Bridge] = []
    open_keys = []
    for key, entity in entities.items():
        kept = journal.get(_key(entity, reasoner))
        if kept is None:
            open_keys.append(key)
        else:
            bridges += _to_bridges(entity, [BridgingFact(text, tuple(sources)) for text, sources in kept])
    return bridges, open_keys


def _not_tried(error: LLMSetupError) -> LLMSetupError:
    """Why an entity failed when another one's call did: without the provider's words, which may quote that call."""
    return LLMSetupError(error.model, "not tried, as another call of the run found that none can succeed")


def _to_bridges(entity: SharedEntity, facts: Sequence[BridgingFact]) -> list[Bridge]:
    bridges = []
    for fact in facts:
        sources = [entity.facts[place] for place in sorted(set(fact.sources)) if 0 <= place < len(entity.facts)]
        if fact.text.strip() and len({source.document_id for source in sources}) >= 2:
            passage_ids = tuple(dict.fromkeys(source.passage_id for source in sources))
            bridges.append(Bridge(bridge_id(entity.name, fact.text, passage_ids), entity.name, fact.text, passage_ids))
    return bridges


def _key(entity: SharedEntity, reasoner: Reasoner) -> str:
    facts = [part for fact in entity.facts for part in (fact.passage_id, fact.title, fact.text)]
    writer = who_does(reasoner, "bridge")
    parts = ["bridge", writer.model, bridging_version(writer), entity.name, *facts]
    return xxhash.xxh3_128_hexdigest("\x1f".join(parts).encode())


def _to_json(facts: Sequence[BridgingFact]) -> list[Any]:
    return [[fact.text, list(fact.sources)] for fact in facts]
