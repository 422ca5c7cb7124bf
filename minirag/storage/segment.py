"""One segment as it lies in the file: the documents of one commit with all that was derived from them.

Rows lie in order: a document's passages are one slice, a passage's facts and its triples each one slice. Ids are made
from these places and from content, so they need not be stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from minirag.records import Bridge, Extraction, Fact, Passage, Place, Triple
from minirag.records.places import headings_above, location_of, places_from_json
from minirag.storage.columns import Columns, ReadSection
from minirag.storage.packing import PackedMatrix
from minirag.storage.tables import hash_key
from minirag.storage.vectors import Found, ask_for_more, best_of, search_valid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.layout import Dimensions, SegmentEntry

DeadRows = Mapping[str, "NDArray[np.uint32]"]


def passage_id(document_id: str, position: int, text: str) -> str:
    """From the document, the place in it and the content: an id never comes to mean another text."""
    return f"{document_id}#{position}-{text_hash(text):08x}"


def text_hash(text: str) -> int:
    """32 bits of a passage's text, which its id ends with."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) >> 32


def bridge_id(entity: str, text: str, passage_ids: Sequence[str]) -> str:
    """From all that a bridging fact is."""
    parts = "\x1f".join([entity, text, *passage_ids]).encode("utf-8", "surrogatepass")
    return "bridge-" + xxhash.xxh3_64_hexdigest(parts)


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage on its way to disk.

    Attributes:
        text: `document.text[start : start + len(text)]`.
        start: In characters.
        before: The white space between the passage before and this one.
        key: Under which its extraction is known: content, model and prompt version.
        extraction: None when it failed.
        failure: Why it did.
    """

    text: str
    start: int
    before: str
    key: str
    extraction: Extraction | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document on its way to disk; `after` is the white space behind its last passage."""

    id: str
    title: str
    metadata: Mapping[str, Any]
    content: str
    after: str
    passages: Sequence[StoredPassage]
    places: tuple[Place, ...] = ()
    source: str = ""


def stored_document(row: Sequence[Any], passages: Sequence[StoredPassage]) -> StoredDocument:
    """A document from its row and its passages."""
    document_id, title, metadata, content, after, *of_file = row
    places, source = of_file or ((), "")
    return StoredDocument(document_id, title, metadata, content, after, passages, places_from_json(places), source)


class Segment(Columns):
    """A segment in a mapped file, and which of its rows are valid. What is dead or filtered out is masked, not moved.

    Attributes:
        is_filtered: Whether rows are also masked by a filter, which may leave few.
    """

    is_filtered = False

    def __init__(
        self, entry: SegmentEntry, read: ReadSection, *, dimensions: Dimensions, dead: DeadRows | None = None
    ) -> None:
        """Keep where things are; nothing is read.

        Args:
            entry: Of the table of contents.
            read: Gives a section's bytes, verified.
            dimensions: Of the vectors.
            dead: Dead rows by "documents" and "bridges", beyond those that the entry names.
        """
        super().__init__(entry, read, dimensions=dimensions)
        self._dead = dead or {}
        self._masks: dict[str, NDArray[np.bool_] | None] = {}
        self._head = lru_cache(maxsize=4_096)(self._read_head)
        self._places = lru_cache(maxsize=256)(self._read_places)

    def __repr__(self) -> str:
        """Its counts."""
        return f"Segment({dict(self.entry.counts)})"

    # --- searching -------------------------------------------------------------------------------------------------

    def search_units(self, query: NDArray[np.int8], k: int) -> Found:
        """The k best of facts and bridging facts: rows and cosines, best first.

        The graph knows no filter, and where that leaves few rows they are found sooner one by one. Of the dead there
        are few, so with them alone it is asked for more until k are valid.

        Args:
            query: `(dim,)`, see `quantise`.
            k: How many at most, at least 1.
        """
        valid, graph = self.alive("units"), self._graph
        if graph is None or self.is_filtered or not graph.is_worth_it(k):
            return search_valid(self.unit_vectors, query, k, valid)
        if valid is None:
            return graph.search(query, k)
        return ask_for_more(lambda most: graph.search(query, most), k, valid)

    def search_triples(self, query: NDArray[np.int8], k: int) -> Found:
        """The k best triples, as `search_units`; always exact."""
        valid, vectors = self.alive("triples"), self.triple_vectors
        if not isinstance(vectors, PackedMatrix):
            return search_valid(vectors, query, k, valid)
        found = []
        for part in vectors.slices():
            rows, cosines = search_valid(vectors[part], query, k, None if valid is None else valid[part])
            found.append((rows + part.start, cosines))
        return best_of(found, k)

    # --- dead rows -------------------------------------------------------------------------------------------------

    def alive(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows of a kind are valid; None when all are.

        Args:
            name: "documents", "passages", "facts", "triples", "bridges", or "units": facts, then bridging facts.
        """
        if name not in self._masks:
            self._masks[name] = self._mask(name)
        return self._masks[name]

    def _mask(self, name: str) -> NDArray[np.bool_] | None:
        if name in ("documents", "bridges"):
            dead = self.dead_rows(name)
            return None if not len(dead) else ~np.isin(np.arange(self.count(name)), dead)
        if name == "units":
            masks = [(kind, self.alive(kind)) for kind in ("facts", "bridges")]
            if all(mask is None for _, mask in masks):
                return None
            return np.concatenate([np.ones(self.count(kind), bool) if m is None else m for kind, m in masks])
        owner, column = {
            "passages": ("documents", "document_of_passage"),
            "facts": ("passages", "passage_of_fact"),
            "triples": ("passages", "passage_of_triple"),
        }[name]
        valid = self.alive(owner)
        return None if valid is None else valid[getattr(self, column)]

    def dead_rows(self, name: str) -> NDArray[np.uint32]:
        """The rows of "documents" or "bridges" that are not valid any more."""
        if name in self._dead:
            return self._dead[name]
        return self._array(f"dead {name}", "<u4") if name in self.entry.dead else np.empty(0, "<u4")

    def with_dead(self, dead: DeadRows) -> Segment:
        """The same segment as it is once these rows are dead, the earlier ones included."""
        return Segment(self.entry, self._read, dimensions=self.dimensions, dead=dead)

    def with_only(self, documents: NDArray[np.bool_], bridges: NDArray[np.bool_]) -> Segment:
        """The same segment seen through a filter: of its valid rows those of these documents, and these bridges.

        Columns that were read are shared with it.
        """
        seen = copy(self)
        seen.is_filtered = True
        seen._masks = {"documents": documents, "bridges": bridges}
        return seen

    # --- records ---------------------------------------------------------------------------------------------------

    def find_document(self, document_id: str) -> int | None:
        """The row of a document that is alive."""
        alive = self.alive("documents")
        for row in self.documents_by_id.find(hash_key(document_id)).tolist():
            if (alive is None or alive[row]) and self._head(row)[0] == document_id:
                return int(row)
        return None

    def head(self, document: int) -> tuple[str, str]:
        """The id and the title of a document."""
        return self._head(document)[:2]

    def head_of(self, passage: int) -> tuple[str, str]:
        """The id and the title of a passage's document."""
        return self.head(int(self.document_of_passage[passage]))

    def metadata_of(self, document: int) -> dict[str, Any]:
        """A document's metadata, for the caller to keep."""
        metadata = self._head(document)[2]
        return deepcopy(metadata) if metadata else {}

    def _read_head(self, document: int) -> tuple[str, str, dict[str, Any]]:
        document_id, title, metadata, *_ = self.documents[document]
        return document_id, title, metadata

    def places(self, document: int) -> tuple[Place, ...]:
        """Where parts of a document stand in its source."""
        return self._places(document)

    def _read_places(self, document: int) -> tuple[Place, ...]:
        _, _, _, _, _, *of_file = self.documents[document]
        return places_from_json(of_file[0]) if of_file else ()

    def source(self, document: int) -> str:
        """The file that a document was read from; empty if there is none."""
        _, _, _, _, _, *of_file = self.documents[document]
        return str(of_file[1]) if of_file else ""

    def passage_id(self, row: int) -> str:
        """A passage's id; its text need not be read for it."""
        document = int(self.document_of_passage[row])
        position = row - int(self.document_slices[document])
        return f"{self._head(document)[0]}#{position}-{int(self._passage_hashes[row]):08x}"

    def passages_with(self, texts: Iterable[str]) -> list[int]:
        """The valid rows of passages that have one of these texts by its hash, which another text may share."""
        hashes = np.array([text_hash(text) for text in texts], "<u4")
        found, valid = np.isin(self._passage_hashes, hashes), self.alive("passages")
        rows: list[int] = np.flatnonzero(found if valid is None else found & valid).tolist()
        return rows

    def passage(self, row: int) -> Passage:
        """One passage."""
        text, start, *_ = self.passages[row]
        places = self.places(int(self.document_of_passage[row]))
        end = start + len(text)
        where = location_of(places, start, end), headings_above(places, start, text)
        return Passage(self.passage_id(row), self.head_of(row)[0], text, start, end, *where)

    def fact(self, row: int) -> Fact:
        """One fact."""
        owner = int(self.passage_of_fact[row])
        text, entities = self.facts[row]
        passage = self.passage_id(owner)
        return Fact(f"{passage}/f{row - int(self.fact_slices[owner])}", passage, text, tuple(entities))

    def triple(self, row: int) -> Triple:
        """One triple."""
        owner = int(self.passage_of_triple[row])
        passage = self.passage_id(owner)
        return Triple(f"{passage}/t{row - int(self.triple_slices[owner])}", passage, *self.triples[row])

    def bridge(self, row: int) -> Bridge:
        """One bridging fact."""
        entity, text, passage_ids = self.bridges[row]
        return Bridge(bridge_id(entity, text, passage_ids), entity, text, tuple(passage_ids))
