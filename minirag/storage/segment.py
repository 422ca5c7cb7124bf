"""One segment as it lies in the file: the documents of one commit with all that was derived from them.

Rows lie in order: a document's passages are one slice, a passage's facts and its triples each one slice. Ids are made
from these places and from content, so they need not be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from minirag.records import Bridge, Extraction, Fact, Passage, Triple
from minirag.storage.lexical import Postings
from minirag.storage.tables import MultiMap, Rows, hash_key
from minirag.storage.vectors import EXACT_LIMIT, Graph, quantise, search_exact, stored_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.layout import Dimensions, SegmentEntry

GRAPH = "facts and bridging facts"
ReadSection = Callable[[str], memoryview]
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


class Segment:
    """A segment in a mapped file. Sections are read, and their checksums verified, when first needed."""

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
        self.entry = entry
        self.dimensions = dimensions
        self._read = read
        self._dead = dead or {}
        self._head = lru_cache(maxsize=4_096)(self._read_head)

    def __repr__(self) -> str:
        """Its counts."""
        return f"Segment({dict(self.entry.counts)})"

    def count(self, name: str) -> int:
        """How many rows of "documents", "passages", "facts", "triples" or "bridges", dead ones included."""
        return self.entry.counts[name]

    # --- columns ---------------------------------------------------------------------------------------------------

    def _array(self, name: str, kind: str) -> NDArray[Any]:
        return np.frombuffer(self._read(name), kind)

    def _table(self, name: str) -> Rows:
        return Rows(self._read(name), self._array(f"{name} offsets", "<u8"))

    def _multimap(self, name: str) -> MultiMap:
        keys, starts, rows = (
            self._array(f"{name} {part}", t) for part, t in (("keys", "<u8"), ("starts", "<u4"), ("rows", "<u4"))
        )
        return MultiMap(keys, starts, rows)

    @cached_property
    def documents(self) -> Rows:
        """[id, title, metadata, content hash, white space behind] by row."""
        return self._table("documents")

    @cached_property
    def passages(self) -> Rows:
        """[text, start, white space before, extraction key, failure or null, facts, triples] by row."""
        return self._table("passages")

    @cached_property
    def facts(self) -> Rows:
        """[text, [entity, …]] by row."""
        return self._table("facts")

    @cached_property
    def triples(self) -> Rows:
        """[head, relation, tail] by row."""
        return self._table("triples")

    @cached_property
    def bridges(self) -> Rows:
        """[entity, text, [passage id, …]] by row."""
        return self._table("bridges")

    @cached_property
    def document_slices(self) -> NDArray[np.uint32]:
        """Where each document's passages start, `(documents + 1,)`."""
        return self._array("document slices", "<u4")

    @cached_property
    def fact_slices(self) -> NDArray[np.uint32]:
        """Where each passage's facts start, `(passages + 1,)`."""
        return self._array("fact slices", "<u4")

    @cached_property
    def triple_slices(self) -> NDArray[np.uint32]:
        """Where each passage's triples start, `(passages + 1,)`."""
        return self._array("triple slices", "<u4")

    @cached_property
    def documents_by_id(self) -> MultiMap:
        """From the hash of a document id to its row."""
        return self._multimap("document ids")

    @cached_property
    def facts_by_entity(self) -> MultiMap:
        """From the hash of a normalised name to the facts that name it."""
        return self._multimap("entities")

    @cached_property
    def bridges_by_entity(self) -> MultiMap:
        """From the hash of a normalised name to its bridging facts."""
        return self._multimap("bridge entities")

    @cached_property
    def postings(self) -> Postings:
        """Which words stand in which passages."""
        counts, lengths = self._array("term counts", "u1"), self._array("passage lengths", "<u4")
        return Postings(self._multimap("terms"), counts, lengths)

    @cached_property
    def _passage_hashes(self) -> NDArray[np.uint32]:
        return self._array("passage hashes", "<u4")

    @cached_property
    def title_keys(self) -> NDArray[np.uint64]:
        """The hash of what each document is about, by its title: `(documents,)`."""
        return self._array("title keys", "<u8")

    def links_of(self, fact: int) -> NDArray[np.uint64]:
        """The hashes of the names in a fact that lead to other passages."""
        start, end = self._link_slices[fact : fact + 2].tolist()
        return self.facts_by_entity.keys[self._link_names[start:end]]

    @cached_property
    def _link_slices(self) -> NDArray[np.uint32]:
        return self._array("link slices", "<u4")

    @cached_property
    def _link_names(self) -> NDArray[np.uint32]:
        return self._array("link names", "<u4")

    @cached_property
    def document_of_passage(self) -> NDArray[np.uint32]:
        """The document row of each passage, `(passages,)`."""
        return owners(self.document_slices)

    @cached_property
    def passage_of_fact(self) -> NDArray[np.uint32]:
        """The passage row of each fact, `(facts,)`."""
        return owners(self.fact_slices)

    @cached_property
    def passage_of_triple(self) -> NDArray[np.uint32]:
        """The passage row of each triple, `(triples,)`."""
        return owners(self.triple_slices)

    # --- vectors ---------------------------------------------------------------------------------------------------

    @cached_property
    def unit_vectors(self) -> NDArray[np.int8]:
        """Facts, then bridging facts: `(facts + bridges, dim)`."""
        rows = self.count("facts") + self.count("bridges")
        if GRAPH in self.entry.sections:
            matrix = stored_matrix(self._read(GRAPH), rows=rows, dimensions=self.dimensions.encoder)
            if matrix is not None or rows == 0:
                return np.empty((0, self.dimensions.encoder), np.int8) if matrix is None else matrix
            raise ValueError("this usearch release lays out its file in a way that minirag does not know")
        return self._array("fact vectors", "i1").reshape(rows, self.dimensions.encoder)

    @cached_property
    def passage_vectors(self) -> NDArray[np.int8]:
        """`(passages, dim)`."""
        return self._array("passage vectors", "i1").reshape(self.count("passages"), self.dimensions.encoder)

    @cached_property
    def triple_vectors(self) -> NDArray[np.int8]:
        """`(triples, dim)`, by the index's aligner."""
        return self._array("triple vectors", "i1").reshape(self.count("triples"), self.dimensions.aligner)

    @cached_property
    def _graph(self) -> Graph | None:
        if GRAPH not in self.entry.sections or len(self.unit_vectors) <= EXACT_LIMIT:
            return None
        return Graph(self._read(GRAPH), self.dimensions.encoder)

    def search_units(self, query: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The k best of facts and bridging facts, dead ones included: rows and cosines, best first."""
        vector = quantise(query[None])[0]
        graph = self._graph
        return graph.search(vector, k) if graph is not None else search_exact(self.unit_vectors, vector, k)

    # --- dead rows -------------------------------------------------------------------------------------------------

    def alive(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows of "documents", "passages", "facts", "triples" or "bridges" are valid; None when all are."""
        if name == "bridges":
            return self._alive_bridges
        dead = self._alive_documents
        if dead is None or name == "documents":
            return dead
        passages = dead[self.document_of_passage]
        if name == "passages":
            return passages
        return passages[self.passage_of_fact if name == "facts" else self.passage_of_triple]

    @cached_property
    def _alive_documents(self) -> NDArray[np.bool_] | None:
        return self._mask("documents")

    @cached_property
    def _alive_bridges(self) -> NDArray[np.bool_] | None:
        return self._mask("bridges")

    def _mask(self, name: str) -> NDArray[np.bool_] | None:
        dead = self.dead_rows(name)
        if not len(dead):
            return None
        mask = np.ones(self.count(name), bool)
        mask[dead] = False
        return mask

    def dead_rows(self, name: str) -> NDArray[np.uint32]:
        """The rows of "documents" or "bridges" that are not valid any more."""
        if name in self._dead:
            return self._dead[name]
        return self._array(f"dead {name}", "<u4") if name in self.entry.dead else np.empty(0, "<u4")

    def with_dead(self, dead: DeadRows) -> Segment:
        """The same segment as it is once these rows are dead, the earlier ones included."""
        return Segment(self.entry, self._read, dimensions=self.dimensions, dead=dead)

    # --- records ---------------------------------------------------------------------------------------------------

    def find_document(self, document_id: str) -> int | None:
        """The row of a document that is alive."""
        alive = self._alive_documents
        for row in self.documents_by_id.find(hash_key(document_id)).tolist():
            if (alive is None or alive[row]) and self._head(row)[0] == document_id:
                return int(row)
        return None

    def head(self, document: int) -> tuple[str, str]:
        """The id and the title of a document."""
        return self._head(document)

    def head_of(self, passage: int) -> tuple[str, str]:
        """The id and the title of a passage's document."""
        return self._head(int(self.document_of_passage[passage]))

    def _read_head(self, document: int) -> tuple[str, str]:
        document_id, title, *_ = self.documents[document]
        return document_id, title

    def passage_id(self, row: int) -> str:
        """A passage's id; its text need not be read for it."""
        document = int(self.document_of_passage[row])
        position = row - int(self.document_slices[document])
        return f"{self._head(document)[0]}#{position}-{int(self._passage_hashes[row]):08x}"

    def passage(self, row: int) -> Passage:
        """One passage."""
        text, start, *_ = self.passages[row]
        return Passage(self.passage_id(row), self.head_of(row)[0], text, start, start + len(text))

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


def owners(slices: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """From starts `(n + 1,)` to the owner of each row: [0, 2, 3] gives [0, 0, 1]."""
    return np.repeat(np.arange(len(slices) - 1, dtype="<u4"), (slices[1:] - slices[:-1]).astype(np.int64))
