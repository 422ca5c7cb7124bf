"""The forms in which a model answers, beside the prompts that ask for them. What they reject is asked for once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from minirag.records import Thinking

__all__ = [
    "REPLIES",
    "BridgeReply",
    "BridgingFactReply",
    "EntityReply",
    "ExtendReply",
    "ExtractReply",
    "FactReply",
    "ReadReply",
    "ThinkReply",
    "TripleReply",
]


class Reply(BaseModel):
    """What all of them tolerate: a number in the place of a text, as in `"answer": 1920`."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class FactReply(Reply):
    """One atomic fact."""

    text: str = Field(description="One full sentence that can be understood without the passage.")
    entities: list[str] = Field(description="The names in that sentence, each in its full form.")


class TripleReply(Reply):
    """One knowledge triple."""

    head: str = Field(description="The full name of what the triple is about.")
    relation: str = Field(description="A short verb phrase.")
    tail: str = Field(description="A full name, date, number or short description.")


class ExtractReply(Reply):
    """What a passage states. No facts without saying so is rejected: it is how broken replies look."""

    nothing_to_extract: bool = Field(description="True only if the passage states no fact at all.")
    facts: list[FactReply] = Field(description="Every fact, in the order of the passage.")
    triples: list[TripleReply] = Field(description="The same facts as triples.")

    @model_validator(mode="after")
    def _says_why_it_is_empty(self) -> Self:
        if not self.nothing_to_extract and not any(fact.text.strip() for fact in self.facts):
            raise ValueError("facts is empty; either list the facts or set nothing_to_extract to true")
        return self


class BridgingFactReply(Reply):
    """One bridging fact."""

    text: str = Field(description="One sentence that follows only from facts of two or more documents together.")
    sources: list[int] = Field(description="The numbers n of the facts that it rests on.")


class EntityReply(Reply):
    """All bridging facts of one entity."""

    entity: int = Field(description="The entity's number n.")
    facts: list[BridgingFactReply] = Field(description="Its bridging facts; empty if there is nothing to join.")


class BridgeReply(Reply):
    """The bridging facts of several entities."""

    entities: list[EntityReply] = Field(description="One entry for each entity that was given.")


class ReadReply(Reply):
    """An answer from numbered context."""

    found: bool = Field(description="Whether the context holds the answer.")
    answer: str = Field(description="The answer alone; if it was not found, one sentence that says so.")
    items: list[int] = Field(description="The numbers n of the context items that the answer rests on.")

    @model_validator(mode="after")
    def _answers_when_found(self) -> Self:
        if self.found and not self.answer.strip():
            raise ValueError("found is true but answer is empty")
        return self


class ExtendReply(Reply):
    """How a reasoning chain goes on."""

    known: bool = Field(description="True only if the chain itself already gives the answer.")
    answer: str = Field(description="That answer, or an empty string.")
    next: list[int] = Field(description="The numbers n of the candidates that complete the chain, in order.")


class ThinkReply(Reply):
    """The next thought."""

    thought: str = Field(description="One sentence.")

    @model_validator(mode="after")
    def _is_a_thought(self) -> Self:
        if not self.thought.strip():
            raise ValueError("thought is empty")
        return self


REPLIES: Mapping[Thinking, type[Reply]] = {
    "extract": ExtractReply,
    "bridge": BridgeReply,
    "read": ReadReply,
    "extend": ExtendReply,
    "think": ThinkReply,
}
"""The form of each task's reply."""
