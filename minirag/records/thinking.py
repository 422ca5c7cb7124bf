"""What a reasoner takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from minirag.records.units import Kind


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
