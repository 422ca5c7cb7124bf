"""What indexing would cost, from a rehearsal in which rules stand in for the models that would be paid."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from minirag.bridging import bridge_all, find_shared_entities, find_touched
from minirag.deriving import Deriver
from minirag.embedding import texts_of
from minirag.encoder.batches import BATCH_TEXTS
from minirag.ending import while_wanted
from minirag.models import TASKS
from minirag.planning import failed_documents, plan_batch, plan_deletion, plan_retries
from minirag.reasoner import Reasoner, bridging_version, who_does
from minirag.reasoner.by_llm import LLMReasoner
from minirag.reasoner.by_task import ReasonerByTask
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Bridge, BridgingFact, Document, Estimate, Extraction, Failure, Passage, SharedEntity, Usage
from minirag.storage.journal import KeptReplies
from minirag.storage.kept_vectors import KeptVectors
from minirag.storage.segment import StoredDocument

if TYPE_CHECKING:
    from minirag.encoder import Encoder
    from minirag.llm import Price
    from minirag.progress import Progress
    from minirag.records import Settings
    from minirag.storage.store import Store

Count = Callable[[str], int]


class StandIn(OfflineReasoner):
    """Answers by rules in the place of another reasoner, and notes what that one would be asked.

    It goes by the other's name and versions, so that what is known already is found and not asked.

    Attributes:
        who: The other.
        extracted: Passages, each with its document's title and what rules found.
        bridged: The bridge entities of each call, with what rules made of them.
    """

    def __init__(self, who: Reasoner) -> None:
        """Nothing was asked yet."""
        super().__init__()
        self.who = who
        self.model, self.version, self.entities_per_call = who.model, who.version, who.entities_per_call
        self.bridging_version = bridging_version(who)
        self.extracted: list[tuple[Passage, str, Extraction]] = []
        self.bridged: list[tuple[Sequence[SharedEntity], Sequence[tuple[BridgingFact, ...]]]] = []

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """By rules."""
        found = await super().extract(passage, title=title)
        self.extracted.append((passage, title, found))
        return found

    async def bridge(self, entities: Sequence[SharedEntity]) -> list[tuple[BridgingFact, ...]]:
        """By rules."""
        found = await super().bridge(entities)
        self.bridged.append((entities, found))
        return found


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a run of `add` would do.

    Attributes:
        documents: Those that would be written, as far as they are not the same as before.
        bridges: The bridging facts beside them.
        extract: Stood in for who would extract.
        bridge: For who would bridge.
        embedded: What is kept of vectors that were paid for.
        encoder: The fingerprint of what would encode; empty where nothing is to be encoded.
    """

    documents: Sequence[StoredDocument]
    bridges: Sequence[Bridge]
    extract: StandIn
    bridge: StandIn
    embedded: KeptVectors
    encoder: str


async def rehearse(
    items: Sequence[Document | Failure],
    store: Store,
    *,
    encoders: Callable[[], tuple[Encoder, Encoder]],
    reasoner: Reasoner,
    settings: Settings,
    progress: Progress,
    reextract: bool,
    gone: Iterable[str] = (),
) -> Rehearsal:
    """Go through what `add` would do with these documents; nothing is called or written.

    Args:
        items: As `add` gets them.
        store: Of the index; replies that are kept beside it are used as `add` would.
        encoders: As for `Deriver`.
        reasoner: Who would think.
        settings: The index's.
        progress: Of the reading and bridging by rules.
        reextract: As for `add`.
        gone: Ids of documents that are deleted afterwards.
    """
    stand_ins = {task: StandIn(who_does(reasoner, task)) for task in TASKS}
    standing_in, snapshot, kept = ReasonerByTask(stand_ins), store.snapshot, KeptReplies(store.path)
    deriver = Deriver(encoders=encoders, reasoner=standing_in, settings=settings, progress=progress)
    plan = plan_batch(items, snapshot, reextract=reextract)
    plan_retries(plan, snapshot, failed_documents(snapshot))
    async with deriver.keeping(kept):
        documents, _ = await deriver.derive(plan)
    coming, replaced, touched = find_touched(plan, documents, snapshot, within=settings.bridge_within)
    deletion, _ = plan_deletion(gone, snapshot)
    _, deleted, left = find_touched(deletion, [], snapshot, within=settings.bridge_within)
    bridges: list[Bridge] = []
    for keys, away in ((touched | set(snapshot.pending.tolist()), replaced), (left, replaced | deleted)):
        shared = find_shared_entities(snapshot, keys, coming, gone=away, settings=settings)
        with progress.stage("bridging", len(shared)) as done:
            found, _ = await bridge_all(shared, reasoner=standing_in, journal=kept, progress=done)
        bridges += found
    encoder = encoders()[0].fingerprint if documents or bridges else ""
    embedded = KeptVectors(store.path)
    return Rehearsal(documents, bridges, stand_ins["extract"], stand_ins["bridge"], embedded, encoder)


def estimate(
    rehearsal: Rehearsal, *, extract: Price | None, bridge: Price | None, encode: Price | None, count: Count
) -> Estimate:
    """Calls and tokens of the very requests that would be sent, with the rules' output as the replies.

    Args:
        rehearsal: What would be done.
        extract: Dollars per token of who extracts, None where unknown.
        bridge: Likewise of who bridges.
        encode: Likewise of the encoder; 0 for one that runs here.
        count: Tokens of a text.
    """
    counted = lru_cache(maxsize=4)(count)  # the constant parts once
    extracting = _extracting(rehearsal.extract, extract, counted)
    bridging = _bridging(rehearsal.bridge, bridge, counted)
    encoding = _encoding(rehearsal, encode, count)
    usage = extracting + bridging
    return Estimate(
        documents=len(rehearsal.documents),
        passages=sum(len(document.passages) for document in rehearsal.documents),
        bridge_entities=sum(len(entities) for entities, _ in rehearsal.bridge.bridged),
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=(usage + encoding).cost,
        bridging_calls=bridging.calls,
        encoding_tokens=encoding.prompt_tokens,
        encoding_calls=encoding.calls,
    )


def _extracting(stood_in: StandIn, price: Price | None, count: Count) -> Usage:
    asked, who = stood_in.extracted, stood_in.who
    if not isinstance(who, LLMReasoner):
        return _uncounted(who, len(asked))
    requests = (who.extraction_texts(passage, title=title) for passage, title, _ in asked)
    return _usage(requests, (_extraction_reply(found) for _, _, found in asked), price, count)


def _bridging(stood_in: StandIn, price: Price | None, count: Count) -> Usage:
    asked, who = stood_in.bridged, stood_in.who
    if not isinstance(who, LLMReasoner):
        return _uncounted(who, len(asked))
    requests = (texts for entities, _ in asked for texts in who.bridging_texts(entities))
    return _usage(requests, (_bridging_reply(found) for _, found in asked), price, count)


def _usage(requests: Iterable[Sequence[str]], replies: Iterable[str], price: Price | None, count: Count) -> Usage:
    sizes = [sum(map(count, texts)) for texts in while_wanted(requests)]
    tokens = Usage(len(sizes), sum(sizes), sum(map(count, while_wanted(replies))))
    return replace(tokens, cost=price.cost(tokens) if price else None) if sizes else Usage()


def _uncounted(who: Reasoner, calls: int) -> Usage:
    """Of a reasoner whose tokens nobody sees: rules are free, what one of the user's own takes is unknown."""
    return Usage() if isinstance(who, OfflineReasoner) or not calls else Usage(calls, cost=None)


def _encoding(rehearsal: Rehearsal, price: Price | None, count: Count) -> Usage:
    """What a hosted encoder reads, once each: all but the triples, which the shipped one encodes beside it."""
    if price is not None and not price.prompt:
        return Usage()
    passages, facts, _, bridging = texts_of(rehearsal.documents, rehearsal.bridges)
    parts = [
        [text for text in dict.fromkeys(part) if not rehearsal.embedded.holds(rehearsal.encoder, text)]
        for part in ([*passages, *facts], bridging)
    ]
    texts = [text for part in parts for text in part]
    if not texts:
        return Usage()
    calls = sum(-(-len(part) // BATCH_TEXTS) for part in parts)
    tokens = Usage(calls, sum(map(count, while_wanted(texts))))
    return replace(tokens, cost=price.cost(tokens) if price else None)


def _extraction_reply(found: Extraction) -> str:
    facts = [{"text": fact.text, "entities": fact.entities} for fact in found.facts]
    triples = [{"head": head, "relation": relation, "tail": tail} for head, relation, tail in found.triples]
    return _reply({"nothing_to_extract": not facts, "facts": facts, "triples": triples})


def _bridging_reply(found: Sequence[Sequence[BridgingFact]]) -> str:
    entities = [
        {"entity": n, "facts": [{"text": fact.text, "sources": fact.sources} for fact in facts]}
        for n, facts in enumerate(found, start=1)
    ]
    return _reply({"entities": entities})


def _reply(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
