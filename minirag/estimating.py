"""What indexing would cost, from a rehearsal in which rules stand in for the LLM."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

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
    reasoner: Prompter,
    count: Count,
    price: Price | None,
) -> Estimate:
    """Calls and tokens of the very prompts that would be sent, with the rules' output as the replies.

    Args:
        documents: What would be extracted, read by rules.
        shared: The bridge entities found that way.
        reasoner: Writes the prompts.
        count: Tokens of a text.
        price: Dollars per token, None where unknown.
    """
    passages = [(passage, document.title) for document in documents for passage in document.passages]
    batches = batch_keys(shared, reasoner.entities_per_call)
    bridging = [prompt for keys in batches for prompt in reasoner.bridging_prompts([shared[key] for key in keys])]
    counted = lru_cache(maxsize=4)(count)  # the constant part once
    sent = sum(_size(reasoner.extraction_prompt(passage.text, title=title), counted) for passage, title in passages)
    sent += sum(_size(prompt, counted) for prompt in bridging)
    received = sum(count(_extraction_of(passage)) for passage, _ in passages)
    received += sum(count(_bridges_of(entity)) for entity in shared.values())
    usage = Usage(prompt_tokens=sent, completion_tokens=received)
    return Estimate(
        documents=len(documents),
        passages=len(passages),
        bridge_entities=len(shared),
        calls=len(passages) + len(bridging),
        prompt_tokens=sent,
        completion_tokens=received,
        cost=price.cost(usage) if price else None,
        bridging_calls=len(bridging),
    )


class Prompter(Protocol):
    """A reasoner that can show its prompts without sending them."""

    entities_per_call: int

    def extraction_prompt(self, text: str, *, title: str) -> list[dict[str, str]]: ...  # noqa: D102
    def bridging_prompts(self, entities: Sequence[SharedEntity]) -> list[list[dict[str, str]]]: ...  # noqa: D102


def _size(prompt: Sequence[Mapping[str, str]], count: Count) -> int:
    return sum(count(message["content"]) for message in prompt)


def _extraction_of(passage: StoredPassage) -> str:
    if passage.extraction is None:
        return ""
    facts = [{"text": fact.text, "entities": fact.entities} for fact in passage.extraction.facts]
    triples = [{"head": head, "relation": rel, "tail": tail} for head, rel, tail in passage.extraction.triples]
    return json.dumps({"facts": facts, "triples": triples}, ensure_ascii=False)


def _bridges_of(entity: SharedEntity) -> str:
    return json.dumps([{"text": b.text, "sources": b.sources} for b in link_documents(entity)], ensure_ascii=False)
