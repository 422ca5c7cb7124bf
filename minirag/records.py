"""What flows between the parts: small frozen records, and the ledger that adds up what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Kind = Literal["passage", "fact", "bridge", "triple"]
KINDS: tuple[Kind, ...] = ("passage", "fact", "bridge", "triple")
Task = Literal["extract", "bridge", "extend", "think", "read", "embed"]


@dataclass(frozen=True, slots=True)
class Document:
    """What the user gives.

    Attributes:
        id: Unique in an index. Adding the same id with other content replaces the document.
        text: Plain text of any length and script; not blank.
        title: Names what the text is about; facts are resolved with it. May be empty.
        metadata: JSON values for the caller's own use.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that fits the encoder: `text` is the document's `text[start:end]`, in characters."""

    id: str
    document_id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """One atomic statement that stands alone (IndexRAG's atomic knowledge unit), with the entities it names."""

    id: str
    passage_id: str
    text: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Triple:
    """One knowledge triple (KiRAG)."""

    id: str
    passage_id: str
    head: str
    relation: str
    tail: str

    @property
    def text(self) -> str:
        """The triple as one line, which is also what the encoder sees."""
        return f"{self.head} {self.relation} {self.tail}"


@dataclass(frozen=True, slots=True)
class Bridge:
    """One bridging fact: what passages of at least two documents say together of one bridge entity (IndexRAG)."""

    id: str
    entity: str
    text: str
    passage_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One unit that retrieval found.

    Attributes:
        kind: "passage", "fact", "bridge" or "triple".
        id: The unit's id.
        text: The unit's text.
        score: Cosine similarity to the query, -1 to 1, unless the strategy says otherwise.
        document_ids: The documents behind it; one, except for bridging facts.
        passage_ids: The passages behind it, likewise.
        titles: Of these documents, in their order; "" for one without.
    """

    kind: Kind
    id: str
    text: str
    score: float
    document_ids: tuple[str, ...]
    passage_ids: tuple[str, ...]
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """How an index is built; fixed when it is created, and kept in the file.

    Attributes:
        passage_tokens: Window of a passage, at most the encoder's; None takes the encoder's.
        bridge_min_documents: A name bridges when at least so many documents share it, at least 2.
        bridge_max_documents: And at most so many: names that are everywhere say nothing.
        bridge_min_length: Shorter names do not bridge, in characters (two are enough for ideographs).
        bridge_facts_per_document: How many facts of each document a bridging call sees.
        compact_at: The file is written afresh once what was appended and what died outgrow this many times what is
            alive in its base, above 0.
    """

    passage_tokens: int | None = None
    bridge_min_documents: int = 2
    bridge_max_documents: int = 10
    bridge_min_length: int = 3
    bridge_facts_per_document: int = 8
    compact_at: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: When one of them is impossible.
        """
        if self.passage_tokens is not None and self.passage_tokens < 16:
            raise ValueError(f"passage_tokens must be at least 16, not {self.passage_tokens}")
        if not 2 <= self.bridge_min_documents <= self.bridge_max_documents:
            raise ValueError(
                "bridge_min_documents must be at least 2 and at most bridge_max_documents, not "
                f"{self.bridge_min_documents} of {self.bridge_max_documents}"
            )
        if self.compact_at <= 0:
            raise ValueError(f"compact_at must be above 0, not {self.compact_at}")
        if self.bridge_min_length < 1 or self.bridge_facts_per_document < 1:
            raise ValueError("bridge_min_length and bridge_facts_per_document must be at least 1")


# --- what a Reasoner takes and gives -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact as a reasoner found it, before it has an id."""

    text: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one extraction call found in a passage.

    Attributes:
        facts: In the order of the text.
        triples: (head, relation, tail), none of them blank.
    """

    facts: tuple[ExtractedFact, ...]
    triples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class SourcedFact:
    """A fact with where it comes from, as bridging sees it."""

    text: str
    passage_id: str
    document_id: str
    title: str


@dataclass(frozen=True, slots=True)
class SharedEntity:
    """A bridge entity: a name that several documents share, with what each says of it.

    Attributes:
        name: As most facts spell it.
        facts: Of at least two documents, ordered by document id and place in the document.
    """

    name: str
    facts: tuple[SourcedFact, ...]


@dataclass(frozen=True, slots=True)
class BridgingFact:
    """A bridging fact as a reasoner wrote it.

    Attributes:
        text: Stands alone.
        sources: Positions in `SharedEntity.facts`, of at least two documents.
    """

    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One numbered piece of what the reader sees; its number is its position + 1."""

    text: str
    title: str = ""
    kind: Kind = "passage"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader made of the context.

    Attributes:
        text: The answer. When nothing was found, one sentence that says so.
        found: False when the context does not hold the answer.
        items: Positions in the context (from 0) that the answer rests on; empty when nothing was found.
    """

    text: str
    found: bool
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Extension:
    """The Constructor's next step (KiRAG): a candidate's position, or that the answer is known, or neither.

    Attributes:
        choice: Position in the candidates (from 0), None when none of them adds anything.
        answer: The answer, when the chain already gives it.
    """

    choice: int | None = None
    answer: str | None = None


# --- cost ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took.

    Attributes:
        calls: Requests that got an answer.
        prompt_tokens: Tokens sent, the cached ones included.
        completion_tokens: Tokens received.
        cached_tokens: Of those sent, how many the provider had cached.
        cost: Dollars. 0.0 offline, None where a price is unknown.
        seconds: Wall time.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Sum of both; an unknown cost stays unknown."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            cost,
            self.seconds + other.seconds,
        )


class Ledger:
    """Adds up the usage of one run, by task."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.by_task: dict[Task, Usage] = {}

    def add(self, task: Task, usage: Usage) -> None:
        """Count `usage` for `task`."""
        self.by_task[task] = self.by_task.get(task, Usage()) + usage

    def total(self, *, seconds: float | None = None) -> Usage:
        """The sum over all tasks; `seconds` replaces the calls' own, which overlap when they ran side by side."""
        total = sum(self.by_task.values(), Usage())
        return total if seconds is None else replace(total, seconds=seconds)


# --- what the user gets --------------------------------------------------------------------------------------------


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
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    usage: Usage = Usage()


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
    usage: Usage = Usage()


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
        usage: What building it took, over its life.
        bytes: Size of the file.
        commits: How many there were.
        segments: Parts that it lies in; 1 after compaction.
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
    commits: int
    segments: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What `Index.add` would take, from a rehearsal by rules: expect it to be off by some tens of percent.

    Attributes:
        documents: How many are new or changed.
        passages: How many passages they have: one call each.
        bridge_entities: How many names would be bridged, several per call.
        calls: In all.
        prompt_tokens: Tokens sent, by the encoder's tokenizer.
        completion_tokens: Tokens received, likewise.
        cost: Dollars; 0.0 offline, None where the model's price is unknown.
    """

    documents: int
    passages: int
    bridge_entities: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    @property
    def tokens(self) -> int:
        """Sent and received."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer rests on.

    Attributes:
        number: From 1, in the order of the answer's evidence.
        document_id: Its document.
        passage_id: Its passage.
        title: The document's title, may be empty.
        text: The passage, whole.
    """

    number: int
    document_id: str
    passage_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an iterative strategy: what it asked, what it scored, what it chose."""

    query: str
    retrieved: tuple[Hit, ...]
    chosen: Hit | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a strategy found for a question.

    Attributes:
        hits: The context, in the order in which the reader sees it.
        ranking: Passage ids with scores, best first: the retrieval that recall@k is measured on.
        chain: The reasoning chain, in order (KiRAG).
        steps: One per iteration; empty for one-shot strategies.
    """

    hits: tuple[Hit, ...]
    ranking: tuple[tuple[str, float], ...]
    chain: tuple[Hit, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` gives; `str(answer)` is the text.

    Attributes:
        text: The answer, or one sentence that says that it was not found.
        found: Whether the evidence holds an answer.
        citations: The passages it rests on, numbered from 1.
        evidence: What the reader saw, in order.
        used: Positions in `evidence` that the answer rests on.
        chain: The reasoning chain, where the strategy builds one.
        steps: What each iteration did, likewise.
        usage: Calls, tokens, dollars and seconds.
        model: The LiteLLM name, or "offline".
        strategy: "naive", "indexrag", …
        question: What was asked.
        ranking: Passage ids with scores, best first.
    """

    text: str
    found: bool
    citations: tuple[Citation, ...]
    evidence: tuple[Hit, ...]
    used: tuple[int, ...]
    chain: tuple[Hit, ...]
    steps: tuple[Step, ...]
    usage: Usage
    model: str
    strategy: str
    question: str = ""
    ranking: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        """The text alone."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as JSON values."""
        return asdict(self)

    def show(self) -> None:
        """Print the question, the steps that lead from it to the answer, the answer, its passages, and the cost."""
        from minirag.showing import as_text

        print(as_text(self))  # noqa: T201  it is asked to

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        from minirag.showing import as_html

        return as_html(self)
