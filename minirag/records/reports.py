"""What building an index reports."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field

from minirag.records.cost import Usage
from minirag.records.prompting import Prompts
from minirag.records.settings import Settings
from minirag.wording import describe_usage


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be indexed.

    Attributes:
        id: Of the document, passage ("… #3") or bridge entity.
        reason: One line.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `Index.add` did.

    Attributes:
        added: Ids of new documents.
        updated: Ids of documents whose content replaced an older one.
        unchanged: Ids of documents that were there with the same content.
        failed: What could not be indexed, wholly or in part; the next `add` tries again.
        usage: Calls, tokens, dollars and seconds of this run.
        deleted: Ids of documents that are gone from the folder that they came from, with `prune=True`.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    usage: Usage = field(default_factory=Usage)
    deleted: tuple[str, ...] = ()

    def __str__(self) -> str:
        """How many documents became what, and what that took, in one line."""
        deleted = {"deleted": self.deleted} if self.deleted else {}
        named = {"added": self.added, "updated": self.updated, "unchanged": self.unchanged, **deleted}
        return _describe({**named, "failed": self.failed}, self.usage)

    @property
    def how_to_go_on(self) -> str:
        """What of a run that its budget stopped is there, and what does the rest."""
        return (
            f"{len(self.added) + len(self.updated)} documents were added or updated, and what was paid for of others "
            "is kept: the same add with a new max_cost goes on from there"
        )


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """What `Index.delete` did.

    Attributes:
        deleted: Ids of documents that were there and are gone.
        missing: Ids that no document had.
        failed: Bridge entities of what remains that could not be bridged afresh; the next `add` tries again.
        usage: Calls, tokens, dollars and seconds of this run.
    """

    deleted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def __str__(self) -> str:
        """As of `AddReport`."""
        return _describe({"deleted": self.deleted, "missing": self.missing, "failed": self.failed}, self.usage)

    @property
    def how_to_go_on(self) -> str:
        """As of `AddReport`."""
        return f"{len(self.deleted)} documents were deleted; what they left to be bridged afresh waits for the next add"


def _describe(named: Mapping[str, Sized], usage: Usage) -> str:
    return f"{', '.join(f'{name} {len(these):,}' for name, these in named.items())}; {describe_usage(usage)}"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What `import_index` built.

    Attributes:
        path: The new file.
        documents: How many; likewise passages, facts, triples and bridges.
        encoded: Whether vectors were computed, because the file had none, or those of another encoder.
    """

    path: str
    documents: int
    passages: int
    facts: int
    triples: int
    bridges: int
    encoded: bool


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What is in an index.

    Attributes:
        path: The file.
        documents: How many; likewise passages, facts, bridges and triples.
        bridge_entities: How many names have bridging facts.
        pending: Names that are still to be bridged, and failed ones.
        failed: Passages and names that failed; the next `add` tries them again.
        encoder: Its name.
        dimensions: Of its vectors; those of triples may have others, beside a hosted encoder.
        model: The one that the last `add` thought with.
        settings: How it is built.
        usage: What building it took, over its life: the seconds are wall time of the runs that changed it.
        bytes: Size of the file.
        commit: The number of the last commit: how many there were, the one that started the file included. How many
            of them still lie in the file, `Index.verify` tells.
        segments: Parts that it lies in; 1 after compaction.
        prompts: What is special about its prompts.
    """

    path: str
    documents: int
    passages: int
    facts: int
    bridges: int
    triples: int
    bridge_entities: int
    pending: int
    failed: tuple[Failure, ...]
    encoder: str
    dimensions: int
    model: str
    settings: Settings
    usage: Usage
    bytes: int
    commit: int
    segments: int
    prompts: Prompts = field(default_factory=Prompts)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What `Index.add` would take, from a rehearsal in which rules stand in for the model.

    The requests are those that would be sent, the form of the reply included, which not every provider counts. What the
    model will find in the passages is not known beforehand: names and replies are the rules', and the model's may be
    more or fewer by some tens of percent. Calls that are repeated, after faults or for replies that cannot be used,
    come on top, and so does a reasoning model's thinking.

    Attributes:
        documents: How many are new or changed, or have passages that failed before.
        passages: How many passages they have: one call each, unless what was found in it is known already.
        bridge_entities: How many names would be bridged, several per call, without those whose replies are kept.
        calls: In all, those of a `Reasoner` of the user's own included, whose tokens and cost nobody knows.
        prompt_tokens: Tokens sent, by the encoder's tokenizer.
        completion_tokens: Tokens received, likewise.
        cost: Dollars, each task's tokens by its own model's price and a hosted encoder's by its own; 0.0 offline, None
            where one of the prices is unknown.
        bridging_calls: How many of the calls are for bridge entities.
        encoding_tokens: Tokens that a hosted encoder reads, beside `prompt_tokens`.
        encoding_calls: About how many calls that takes, beside `calls`.
    """

    documents: int
    passages: int
    bridge_entities: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    bridging_calls: int = 0
    encoding_tokens: int = 0
    encoding_calls: int = 0

    @property
    def tokens(self) -> int:
        """Sent and received."""
        return self.prompt_tokens + self.completion_tokens
