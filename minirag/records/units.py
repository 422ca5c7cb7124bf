"""What an index holds: documents, and all that is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from minirag.records.places import Place

Kind = Literal["passage", "fact", "bridge", "triple"]
KINDS: tuple[Kind, ...] = ("passage", "fact", "bridge", "triple")


@dataclass(frozen=True, slots=True)
class Document:
    """What the user gives.

    Attributes:
        id: Unique in an index. Adding the same id with other content replaces the document.
        text: Plain text of any length and script; not blank.
        title: Names what the text is about; facts are resolved with it. May be empty.
        metadata: JSON values for the caller's own use, to filter by and shown with what is found: an object of at most
            1 MB, nested at most 64 deep.
        places: Where parts of the text stand in what it was made from, in order; citations and passages name them.
        source: The file that it was read from, as given; empty if there is none. No part of the content.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that fits the encoder: `text` is the document's `text[start:end]`, in characters.

    Attributes:
        location: Where in the document's source it stands, for people: "page 3", "Install > Linux"; may be empty.
        headings: Those that it stands below, without one that it begins with: its context beside the title.
    """

    id: str
    document_id: str
    text: str
    start: int
    end: int
    location: str = ""
    headings: tuple[str, ...] = ()


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
        metadata: Of its document; of a bridging fact what all of its documents agree on.
    """

    kind: Kind
    id: str
    text: str
    score: float
    document_ids: tuple[str, ...]
    passage_ids: tuple[str, ...]
    titles: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Hits(list[Hit]):
    """Hits, best first: a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from minirag.showing import hits_as_html

        return hits_as_html(self)
