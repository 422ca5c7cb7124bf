"""Thinking by an LLM: asks with the prompts, and lets through only what the given material supports by its numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from minirag.errors import BudgetExceededError, LLMError, LLMReplyError, LLMSetupError, PromptTooLongError
from minirag.llm import LLM, Listener
from minirag.reasoner import Bridged
from minirag.reasoner.bridge_calls import FittedEntity, batches, bridge_data, fit, positions, read_bridges
from minirag.reasoner.fitting import count_fitting, estimate_tokens, halve
from minirag.reasoner.numbers import foreign_numbers
from minirag.reasoner.prompts import fingerprint, messages_for
from minirag.reasoner.replies import (
    REPLIES,
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
    Prompts,
    Reading,
    SharedEntity,
    Thinking,
)
from minirag.records.places import titled

if TYPE_CHECKING:
    from pydantic import BaseModel

    R = TypeVar("R", bound=BaseModel)

__all__ = ["BRIDGING_TOKENS", "ENTITIES_PER_CALL", "LLMReasoner"]

ENTITIES_PER_CALL = 8
BRIDGING_TOKENS = 4_000  # of material in one bridging call: beyond it models skip some of it, and replies get long
_CHECKS = 1  # counts up when other replies are let through
_NOT_FOUND = "The context does not hold the answer."

Messages = list[dict[str, str]]


class LLMReasoner:
    """A `Reasoner` that asks one model and accounts in one ledger.

    Attributes:
        model: The model's name.
        version: A hash of the extraction's prompt and reply forms.
        bridging_version: The same of the bridging's.
        entities_per_call: How many bridge entities one call takes.
    """

    def __init__(
        self,
        llm: LLM,
        ledger: Ledger,
        *,
        prompts: Prompts | None = None,
        entities_per_call: int = ENTITIES_PER_CALL,
    ) -> None:
        """The model stays the caller's to close; `prompts` are what the user has set of them."""
        self._llm, self._ledger, self._prompts = llm, ledger, prompts or Prompts()
        self.model = llm.model
        self.version = self._version("extract", ExtractReply, FactReply, TripleReply)
        self.bridging_version = self._version("bridge", BridgeReply, EntityReply, BridgingFactReply)
        self.entities_per_call = entities_per_call

    # --- indexing --------------------------------------------------------------------------------------------------

    def extraction_texts(self, passage: Passage, *, title: str) -> list[str]:
        """All that `extract` sends of a passage, the form of the reply included."""
        return self._texts("extract", self._extraction_prompt(passage.text, titled(title, passage.headings)))

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """Facts, entities and triples of a passage, by one call.

        Blank ones are dropped, doubled ones kept once. What has a number that neither passage nor title have is
        dropped, too.
        """
        title = titled(title, passage.headings)
        reply = await self._extract_text(passage.text, title)
        sources = (passage.text, title)
        facts = dict.fromkeys(
            ExtractedFact(_line(fact.text), _names(fact.entities)) for fact in reply.facts if fact.text.strip()
        )
        triples = dict.fromkeys((_line(t.head), _line(t.relation), _line(t.tail)) for t in reply.triples)
        return Extraction(
            tuple(fact for fact in facts if not foreign_numbers(fact.text, sources)),
            tuple(t for t in triples if all(t) and not foreign_numbers(" ".join(t), sources)),
        )

    async def _extract_text(self, text: str, title: str) -> ExtractReply:
        """The reply to a text, or to its halves where the model finds the whole too long."""
        messages = self._extraction_prompt(text, title)
        try:
            return await self._llm.complete(messages, reply=ExtractReply, task="extract", ledger=self._ledger)
        except PromptTooLongError:
            halves = halve(text)
            if halves is None:
                raise
        first, second = await asyncio.gather(*(self._extract_text(half, title) for half in halves))
        facts, triples = [*first.facts, *second.facts], [*first.triples, *second.triples]
        return ExtractReply(nothing_to_extract=not facts, facts=facts, triples=triples)

    def _extraction_prompt(self, text: str, title: str) -> Messages:
        return self._messages("extract", {"title": title, "passage": text})

    def bridging_texts(self, entities: Sequence[SharedEntity]) -> list[list[str]]:
        """All that each call of `bridge` sends of these entities, if the model leaves none out."""
        fitted, room = self._fit_entities(entities)
        prompts = (self._bridging_prompt([fitted[place] for place in some]) for some in batches(fitted, room))
        return [self._texts("bridge", prompt) for prompt in prompts]

    async def bridge(self, entities: Sequence[SharedEntity]) -> list[Bridged]:
        """Bridging facts for each entity, or why there are none.

        What is too much for one prompt becomes several; what is too much of one entity goes without its documents'
        last facts. An entity that the model left out, and each of those of a call whose reply cannot be used, is asked
        for once more, alone.
        """
        fitted, room = self._fit_entities(entities)
        found: dict[int, Bridged] = {}
        for some in batches(fitted, room):
            found |= await self._bridge_some(fitted, some)
        return [found[position] for position in range(len(entities))]

    async def _bridge_some(self, entities: Sequence[FittedEntity], some: Sequence[int]) -> dict[int, Bridged]:
        """By position; what one entity fails of, the others do not."""
        found: dict[int, Bridged] = {}
        try:
            replies = await self._bridge_once([entities[position] for position in some])
            found |= {some[place]: facts for place, facts in replies.items()}
        except LLMReplyError as error:
            if len(some) == 1:
                return {some[0]: await self._bridge_smaller(entities[some[0]], error)}
        except LLMSetupError:
            raise
        except (LLMError, BudgetExceededError) as error:
            return dict.fromkeys(some, error)
        missing = [position for position in some if position not in found]
        alone = await asyncio.gather(*(self._bridge_alone(entities[position]) for position in missing))
        return found | dict(zip(missing, alone, strict=True))

    async def _bridge_alone(self, entity: FittedEntity) -> Bridged:
        try:
            found = await self._bridge_once([entity])
        except LLMSetupError:
            raise
        except PromptTooLongError as error:
            return await self._bridge_smaller(entity, error)
        except (LLMError, BudgetExceededError) as error:
            return error
        if 0 in found:
            return found[0]
        return LLMReplyError(self.model, f"gave no bridging facts for {entity.name}, asked twice")

    async def _bridge_smaller(self, entity: FittedEntity, error: LLMReplyError) -> Bridged:
        """With half of its facts if they were too long; any other error is final."""
        smaller = entity.halved() if isinstance(error, PromptTooLongError) else None
        return error if smaller is None else await self._bridge_alone(smaller)

    async def _bridge_once(self, entities: Sequence[FittedEntity]) -> dict[int, tuple[BridgingFact, ...]]:
        messages = self._bridging_prompt(entities)
        reply = await self._llm.complete(messages, reply=BridgeReply, task="bridge", ledger=self._ledger)
        return read_bridges(reply, entities)

    def _bridging_prompt(self, entities: Sequence[FittedEntity]) -> Messages:
        return self._messages("bridge", bridge_data(entities))

    def _fit_entities(self, entities: Sequence[SharedEntity]) -> tuple[list[FittedEntity], int]:
        room = min(self._room("bridge", {"entities": []}), BRIDGING_TOKENS)
        return [fit(entity, room) for entity in entities], room

    # --- answering -------------------------------------------------------------------------------------------------

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """The first candidate of the chain that the model would complete (KiRAG's Constructor), or the answer.

        The answer counts only when there is a chain to give it and no candidate is named with it.
        """
        given = {"question": question, "chain": list(chain), "candidates": _numbered(candidates)}
        reply, shown = await self._complete("extend", given, "candidates", ExtendReply)
        chosen = positions(reply.next, shown)
        if chosen:
            return Extension(choice=chosen[0])
        known = reply.known and bool(chain) and bool(reply.answer.strip())
        return Extension(answer=reply.answer.strip() if known else None)

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """IRCoT's next sentence; it begins with `prompts.ANSWER_MARK` once the question is answered."""
        given = {"context": _context(evidence), "question": question, "thoughts": list(thoughts)}
        reply, _ = await self._complete("think", given, "context", ThinkReply)
        return _line(reply.thought)

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """The answer, with the positions it rests on.

        Numbers that are not in the context are dropped. An answer that is left without any stays, with no items: it
        is then for the caller to say that nothing supports it.
        """
        return await self._read(question, evidence, chain, None)

    async def read_aloud(
        self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = (), tell: Callable[[str], None]
    ) -> Reading:
        """`read`, which tells the answer's text while the model writes it."""
        return await self._read(question, evidence, chain, Listener("answer", tell))

    async def _read(
        self, question: str, evidence: Sequence[ContextItem], chain: Sequence[str], listener: Listener | None
    ) -> Reading:
        given = {"context": _context(evidence), "chain": list(chain), "question": question}
        reply, shown = await self._complete("read", given, "context", ReadReply, listener=listener)
        answer = reply.answer.strip()
        if not reply.found:
            return Reading(answer or _NOT_FOUND, found=False, items=())
        return Reading(answer, found=True, items=tuple(positions(reply.items, shown)))

    async def _complete(
        self,
        task: Thinking,
        given: Mapping[str, Any],
        key: str,
        reply: type[R],
        *,
        listener: Listener | None = None,
    ) -> tuple[R, int]:
        """The reply, and how many of the items under `key` were shown: as many as the window has room for.

        Where the model finds that too long all the same, half of them are, and so on down to one.
        """
        shown = len(self._fit(task, given, key)[key])
        while True:
            messages = self._messages(task, {**given, key: given[key][:shown]})
            try:
                found = await self._llm.complete(
                    messages, reply=reply, task=task, ledger=self._ledger, listener=listener
                )
                return found, shown
            except PromptTooLongError:
                if shown <= 1:
                    raise
                shown //= 2

    # --- prompts ---------------------------------------------------------------------------------------------------

    def _version(self, task: Thinking, *forms: type[BaseModel]) -> str:
        return f"llm-{_CHECKS}-{fingerprint(task, self._prompts.of(task), forms)}"

    def constant_texts(self, task: Thinking) -> list[str]:
        """What every call for a task sends: its instructions, and the form of the reply."""
        return self._texts(task, self._messages(task, {}))

    def _texts(self, task: Thinking, messages: Messages) -> list[str]:
        return self._llm.texts_sent(messages, REPLIES[task])

    def _messages(self, task: Thinking, data: Mapping[str, Any]) -> Messages:
        return messages_for(task, data, self._prompts.of(task))

    def _fit(self, task: Thinking, data: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The data with as many of the items under `key`, which come best first, as the window has room for."""
        room = self._room(task, {**data, key: []})
        return {**data, key: data[key][: count_fitting(data[key], room)]}

    def _room(self, task: Thinking, data: Mapping[str, Any]) -> int:
        """How many tokens the window has left beside a prompt with this data."""
        taken = sum(estimate_tokens(message["content"]) for message in self._messages(task, data))
        return self._llm.prompt_tokens - taken


def _context(evidence: Sequence[ContextItem]) -> list[dict[str, Any]]:
    return [{"n": n, "title": item.title, "text": item.text} for n, item in enumerate(evidence, start=1)]


def _numbered(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"n": n, "text": text} for n, text in enumerate(texts, start=1)]


def _line(text: str) -> str:
    return " ".join(text.split())


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for line in map(_line, names) if line))
