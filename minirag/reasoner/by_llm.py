"""Thinking by an LLM: asks with the prompts, and lets through only what the given material supports by its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from minirag.errors import LLMReplyError
from minirag.llm import LLM
from minirag.reasoner.fitting import count_fitting, estimate_tokens, fit_entity, json_tokens, split_fitting
from minirag.reasoner.prompts import fingerprint, messages_for
from minirag.reasoner.replies import (
    BridgeReply,
    BridgingFactReply,
    EntityReply,
    ExtendReply,
    ExtractReply,
    FactReply,
    ReadReply,
    ThinkReply,
    TripleReply,
)
from minirag.records import (
    BridgingFact,
    ContextItem,
    Extension,
    ExtractedFact,
    Extraction,
    Ledger,
    Passage,
    Reading,
    SharedEntity,
    Task,
)

__all__ = ["LLMReasoner"]

_FRAME = 20  # tokens of JSON around an entity
_NOT_FOUND = "The context does not hold the answer."


class LLMReasoner:
    """A `Reasoner` that asks one model and accounts in one ledger.

    Attributes:
        model: The model's name.
        version: A hash of the extraction's and the bridging's prompts and reply forms.
        entities_per_call: How many bridge entities one call takes.
    """

    def __init__(self, llm: LLM, ledger: Ledger, *, entities_per_call: int = 6) -> None:
        """The model stays the caller's to close."""
        self._llm, self._ledger = llm, ledger
        self.model = llm.model
        self.version = _version()
        self.entities_per_call = entities_per_call

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """Facts, entities and triples of a passage, by one call. Blank ones are dropped, doubled ones kept once."""
        messages = messages_for("extract", {"title": title, "passage": passage.text})
        reply = await self._llm.complete(messages, reply=ExtractReply, task="extract", ledger=self._ledger)
        facts = dict.fromkeys(
            ExtractedFact(_line(fact.text), _names(fact.entities)) for fact in reply.facts if fact.text.strip()
        )
        triples = dict.fromkeys((_line(t.head), _line(t.relation), _line(t.tail)) for t in reply.triples)
        return Extraction(tuple(facts), tuple(triple for triple in triples if all(triple)))

    async def bridge(self, entities: Sequence[SharedEntity]) -> list[tuple[BridgingFact, ...]]:
        """Bridging facts for each entity. Those that the model left out are asked for once more.

        What is too much for one prompt becomes several; what is too much of one entity goes without its documents'
        last facts.

        Raises:
            LLMReplyError: If the model leaves an entity out twice.
        """
        room = self._room("bridge", {"entities": []})
        kept = [fit_entity(entity, room - json_tokens(entity.name) - _FRAME) for entity in entities]
        fitted = [replace(e, facts=tuple(e.facts[p] for p in k)) for e, k in zip(entities, kept, strict=True)]
        found = await self._bridge_all(fitted, range(len(entities)), room)
        missing = [position for position in range(len(entities)) if position not in found]
        found |= await self._bridge_all(fitted, missing, room)
        still_missing = [entities[position].name for position in missing if position not in found]
        if still_missing:
            raise LLMReplyError(self.model, f"gave no bridging facts for {', '.join(still_missing)}, asked twice")
        return [
            tuple(replace(fact, sources=tuple(kept[position][source] for source in fact.sources)) for fact in facts)
            for position, facts in sorted(found.items())
        ]

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """The first candidate of the chain that the model would complete (KiRAG's Constructor), or the answer.

        The answer counts only when there is a chain to give it and no candidate is named with it.
        """
        given = {"question": question, "chain": list(chain), "candidates": _numbered(candidates)}
        data = self._fit("extend", given, "candidates")
        messages = messages_for("extend", data)
        reply = await self._llm.complete(messages, reply=ExtendReply, task="extend", ledger=self._ledger)
        chosen = _positions(reply.next, len(data["candidates"]))
        if chosen:
            return Extension(choice=chosen[0])
        known = reply.known and bool(chain) and bool(reply.answer.strip())
        return Extension(answer=reply.answer.strip() if known else None)

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """IRCoT's next sentence; it begins with `prompts.ANSWER_MARK` once the question is answered."""
        data = {"context": _context(evidence), "question": question, "thoughts": list(thoughts)}
        messages = messages_for("think", self._fit("think", data, "context"))
        reply = await self._llm.complete(messages, reply=ThinkReply, task="think", ledger=self._ledger)
        return _line(reply.thought)

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """The answer, with the positions it rests on.

        Numbers that are not in the context are dropped. An answer that is left without any stays, with no items: it
        is then for the caller to say that nothing supports it.
        """
        given = {"context": _context(evidence), "chain": list(chain), "question": question}
        data = self._fit("read", given, "context")
        messages = messages_for("read", data)
        reply = await self._llm.complete(messages, reply=ReadReply, task="read", ledger=self._ledger)
        answer = reply.answer.strip()
        if not reply.found:
            return Reading(answer or _NOT_FOUND, found=False, items=())
        return Reading(answer, found=True, items=tuple(_positions(reply.items, len(data["context"]))))

    def _fit(self, task: Task, data: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The data with as many of the items under `key`, which come best first, as the window has room for."""
        room = self._room(task, {**data, key: []})
        return {**data, key: data[key][: count_fitting(data[key], room)]}

    def _room(self, task: Task, data: Mapping[str, Any]) -> int:
        """How many tokens the window has left beside a prompt with this data."""
        taken = sum(estimate_tokens(message["content"]) for message in messages_for(task, data))
        return self._llm.prompt_tokens - taken

    async def _bridge_all(
        self, entities: Sequence[SharedEntity], positions: Sequence[int], room: int
    ) -> dict[int, tuple[BridgingFact, ...]]:
        """`_bridge_once`, in as many prompts as it takes."""
        found: dict[int, tuple[BridgingFact, ...]] = {}
        sizes = [_FRAME + json_tokens([entities[p].name, _facts_of(entities[p], 1000)]) for p in positions]
        for some in split_fitting(positions, sizes, room):
            found |= await self._bridge_once(entities, some)
        return found

    async def _bridge_once(
        self, entities: Sequence[SharedEntity], positions: Sequence[int]
    ) -> dict[int, tuple[BridgingFact, ...]]:
        """By position, the entities that the model answered for. Facts are numbered through the whole call."""
        listed: list[dict[str, Any]] = []
        first_numbers: list[int] = []
        next_number = 1
        for number, position in enumerate(positions, start=1):
            entity = entities[position]
            first_numbers.append(next_number)
            listed.append({"n": number, "name": entity.name, "facts": _facts_of(entity, next_number)})
            next_number += len(entity.facts)
        messages = messages_for("bridge", {"entities": listed})
        reply = await self._llm.complete(messages, reply=BridgeReply, task="bridge", ledger=self._ledger)
        found: dict[int, tuple[BridgingFact, ...]] = {}
        for answered in reply.entities:
            if 1 <= answered.entity <= len(positions):
                position = positions[answered.entity - 1]
                joined = _bridging_facts(answered.facts, entities[position], first_numbers[answered.entity - 1])
                found[position] = tuple(dict.fromkeys((*found.get(position, ()), *joined)))
        return found


def _version() -> str:
    forms = (ExtractReply, FactReply, TripleReply, BridgeReply, EntityReply, BridgingFactReply)
    return "llm-" + fingerprint(*(("extract", form) for form in forms[:3]), *(("bridge", form) for form in forms[3:]))


def _facts_of(entity: SharedEntity, first_number: int) -> list[dict[str, Any]]:
    """The documents are called A, B, … in the order of their facts: titles may be empty or alike."""
    letters: dict[str, str] = {}
    listed = []
    for number, fact in enumerate(entity.facts, start=first_number):
        letter = letters.setdefault(fact.document_id, _letters(len(letters)))
        listed.append({"n": number, "document": letter, "title": fact.title, "text": fact.text})
    return listed


def _letters(position: int) -> str:
    """A, B, … Z, AA, AB, …."""
    before, last = divmod(position, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _bridging_facts(
    replies: Sequence[BridgingFactReply], entity: SharedEntity, first_number: int
) -> list[BridgingFact]:
    """Those with a text and with sources in at least two documents of the entity."""
    kept = []
    for reply in replies:
        numbers = [number - first_number + 1 for number in reply.sources]
        sources = tuple(sorted(_positions(numbers, len(entity.facts))))
        documents = {entity.facts[source].document_id for source in sources}
        if reply.text.strip() and len(documents) >= 2:
            kept.append(BridgingFact(_line(reply.text), sources))
    return kept


def _context(evidence: Sequence[ContextItem]) -> list[dict[str, Any]]:
    return [{"n": n, "title": item.title, "text": item.text} for n, item in enumerate(evidence, start=1)]


def _numbered(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"n": n, "text": text} for n, text in enumerate(texts, start=1)]


def _positions(numbers: Sequence[int], count: int) -> list[int]:
    """Numbers from 1 to positions from 0: each once, in order, without those outside the list."""
    return [number - 1 for number in dict.fromkeys(numbers) if 1 <= number <= count]


def _line(text: str) -> str:
    return " ".join(text.split())


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for line in map(_line, names) if line))
