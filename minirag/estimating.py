"""What indexing would cost, from a rehearsal in which rules stand in for the LLM."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from minirag.embedding import texts_of
from minirag.encoder.hosted_encoder import BATCH_TEXTS
from minirag.planning import BridgeKey, batch_keys
from minirag.reasoner.linking import link_documents
from minirag.records import Estimate, SharedEntity, Usage
from minirag.storage.segment import StoredDocument, StoredPassage

if TYPE_CHECKING:
    from minirag.llm import Price

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Worker:
    """Who would do one of indexing's tasks.

    Attributes:
        prompter: Writes its prompts; None where it makes no calls.
        price: Dollars per token, None where unknown.
    """

    prompter: Prompter | None
    price: Price | None

    def usage(self, prompts: Sequence[int], replies: Iterable[str], count: Count) -> Usage:
        """What prompts of these sizes with these replies take."""
        tokens = Usage(len(prompts), sum(prompts), sum(map(count, replies)))
        return replace(tokens, cost=self.price.cost(tokens) if self.price else None)


def estimate(
    documents: Sequence[StoredDocument],
    shared: Mapping[BridgeKey, SharedEntity],
    *,
    extract: Worker,
    bridge: Worker,
    encode: Price | None,
    count: Count,
) -> Estimate:
    """Calls and tokens of the very prompts that would be sent, with the rules' output as the replies.

    Args:
        documents: What would be extracted, read by rules.
        shared: The bridge entities found that way.
        extract: Who extracts.
        bridge: Who bridges.
        encode: The encoder's dollars per token, None where unknown; 0 for one that runs here.
        count: Tokens of a text.
    """
    counted = lru_cache(maxsize=4)(count)  # the constant part once
    extracting, bridging = _extracting(documents, extract, counted), _bridging(shared, bridge, counted)
    encoding = _encoding(documents, shared, encode, count)
    usage = extracting + bridging
    return Estimate(
        documents=len(documents),
        passages=sum(len(document.passages) for document in documents),
        bridge_entities=len(shared),
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=(usage + encoding).cost,
        bridging_calls=bridging.calls,
        encoding_tokens=encoding.prompt_tokens,
        encoding_calls=encoding.calls,
    )


def _extracting(documents: Sequence[StoredDocument], worker: Worker, count: Count) -> Usage:
    if (prompter := worker.prompter) is None:
        return worker.usage([], [], count)
    passages = [(passage, document.title) for document in documents for passage in document.passages]
    prompts = [_size(prompter.extraction_prompt(passage.text, title=title), count) for passage, title in passages]
    return worker.usage(prompts, (_extraction_of(passage) for passage, _ in passages), count)


def _bridging(shared: Mapping[BridgeKey, SharedEntity], worker: Worker, count: Count) -> Usage:
    if (prompter := worker.prompter) is None:
        return worker.usage([], [], count)
    batches = batch_keys(shared, prompter.entities_per_call)
    prompts = [prompt for keys in batches for prompt in prompter.bridging_prompts([shared[key] for key in keys])]
    return worker.usage([_size(prompt, count) for prompt in prompts], map(_bridges_of, shared.values()), count)


def _encoding(
    documents: Sequence[StoredDocument], shared: Mapping[BridgeKey, SharedEntity], price: Price | None, count: Count
) -> Usage:
    """What a hosted encoder reads: all but the triples, which the shipped one encodes beside it."""
    if price is not None and not price.prompt:
        return Usage()
    passages, facts, _, _ = texts_of(documents, [])
    bridges = [bridge.text for entity in shared.values() for bridge in link_documents(entity)]
    texts = [*passages, *facts, *bridges]
    if not texts:
        return Usage()
    tokens = Usage(-(-len(texts) // BATCH_TEXTS), sum(map(count, texts)))
    return replace(tokens, cost=price.cost(tokens) if price else None)


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
