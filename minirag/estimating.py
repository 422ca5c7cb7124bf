"""What indexing would cost, from a rehearsal in which rules stand in for the LLM."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minirag.planning import BridgeKey, batch_keys
from minirag.reasoner.linking import link_documents
from minirag.records import Estimate, SharedEntity, Usage
from minirag.storage.segment import StoredDocument, StoredPassage

if TYPE_CHECKING:
    from minirag.llm import Price

Count = Callable[[str], int]


def estimate_offline(documents: Sequence[StoredDocument], shared: Mapping[BridgeKey, SharedEntity]) -> Estimate:
    """Rules call nobody and cost nothing."""
    passages = sum(len(document.passages) for document in documents)
    return Estimate(len(documents), passages, len(shared), 0, 0, 0, 0.0)


def estimate_llm(
    documents: Sequence[StoredDocument],
    shared: Mapping[BridgeKey, SharedEntity],
    *,
    count: Count,
    price: Price | None,
    entities_per_call: int,
) -> Estimate:
    """Calls and tokens of the real prompts over the real passages, with the rules' output as the reply.

    Args:
        documents: What would be extracted, read by rules.
        shared: The bridge entities found that way.
        count: Tokens of a text.
        price: Dollars per token, None where unknown.
        entities_per_call: How many bridge entities one call takes.
    """
    passages = [(passage, document.title) for document in documents for passage in document.passages]
    batches = list(batch_keys(shared, entities_per_call))
    sent = _constant("extract", count) * len(passages) + _constant("bridge", count) * len(batches)
    sent += sum(count(f"{title} {passage.text}") for passage, title in passages)
    sent += sum(count(_facts_of(entity)) for entity in shared.values())
    received = sum(count(_extraction_of(passage)) for passage, _ in passages)
    received += sum(count(_bridges_of(entity)) for entity in shared.values())
    usage = Usage(prompt_tokens=sent, completion_tokens=received)
    calls = len(passages) + len(batches)
    cost = price.cost(usage) if price else None
    return Estimate(len(documents), len(passages), len(shared), calls, sent, received, cost)


def _constant(task: Any, count: Count) -> int:  # noqa: ANN401  a Task
    from minirag.reasoner.prompts import messages_for

    return sum(count(str(message["content"])) for message in messages_for(task, {}))


def _extraction_of(passage: StoredPassage) -> str:
    if passage.extraction is None:
        return ""
    facts = [{"text": fact.text, "entities": fact.entities} for fact in passage.extraction.facts]
    triples = [{"head": head, "relation": rel, "tail": tail} for head, rel, tail in passage.extraction.triples]
    return json.dumps({"facts": facts, "triples": triples}, ensure_ascii=False)


def _facts_of(entity: SharedEntity) -> str:
    facts = [{"n": n, "document": f.document_id, "title": f.title, "text": f.text} for n, f in enumerate(entity.facts)]
    return json.dumps({"name": entity.name, "facts": facts}, ensure_ascii=False)


def _bridges_of(entity: SharedEntity) -> str:
    return json.dumps([{"text": b.text, "sources": b.sources} for b in link_documents(entity)], ensure_ascii=False)
