"""The columns of a segment as they lie in the file: texts in rows, places and names in numbers, vectors."""

from __future__ import annotations

import json
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from minirag.storage.lexical import Postings
from minirag.storage.packing import PackedMatrix
from minirag.storage.tables import Lines, MultiMap, Pages, decode_numbers, hash_keys, starts_of
from minirag.storage.vectors import EXACT_LIMIT, Graph, stored_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.layout import Dimensions, SegmentEntry

GRAPH = "facts and bridging facts"
PACKED = "packed triple vectors"


class ReadSection(Protocol):
    """Gives a section's bytes, verified."""

    def __call__(self, name: str) -> memoryview:
        """Of the section of this name."""
        ...

    def damaged(self, name: str, reason: str) -> Exception:
        """What to raise of a section that is not as it should be."""
        ...


Table: TypeAlias = "Pages | Lines"
_COUNTED = (
    *("document_of_passage", "passage_of_fact", "passage_of_triple"),
    *("metadata", "document_hashes", "bridge_sources"),
)


class MetadataColumn(NamedTuple):
    """The metadata of all documents of a segment.

    Attributes:
        distinct: Each value once.
        place: Which of them is each document's, `(documents,)`.
    """

    distinct: list[dict[str, Any]]
    place: NDArray[np.int64]


class SourcesColumn(NamedTuple):
    """The documents behind the bridging facts of a segment.

    Attributes:
        starts: Where each one's begin in `documents`, `(bridges + 1,)`.
        documents: Hashes of their ids.
    """

    starts: NDArray[np.uint32]
    documents: NDArray[np.uint64]


class Columns:
    """Sections are read, and their checksums verified, when first needed."""

    def __init__(self, entry: SegmentEntry, read: ReadSection, *, dimensions: Dimensions) -> None:
        """Keep where things are; nothing is read.

        Args:
            entry: Of the table of contents.
            read: Gives a section's bytes, verified.
            dimensions: Of the vectors.
        """
        self.entry = entry
        self.dimensions = dimensions
        self._read = read

    def adopt(self, older: Columns) -> None:
        """Take over what another one has counted of the same sections; what it mapped stays where it is."""
        vars(self).update({name: vars(older)[name] for name in _COUNTED if name in vars(older)})

    def count(self, name: str) -> int:
        """How many rows of "documents", "passages", "facts", "triples" or "bridges", dead ones included."""
        return self.entry.counts[name]

    def _array(self, name: str, kind: str) -> NDArray[Any]:
        return np.frombuffer(self._read(name), kind)

    def _numbers(self, name: str, count: int) -> NDArray[np.uint32]:
        return decode_numbers(self._read(name), count)

    def _table(self, name: str) -> Table:
        if f"{name} offsets" in self.entry.sections:
            return Lines(self._read(name), self._array(f"{name} offsets", "<u8"))
        damaged = partial(self._read.damaged, name)
        return Pages(self._read(name), self._array(f"{name} pages", "<u8"), damaged=damaged)

    def _multimap(self, name: str) -> MultiMap:
        keys = self._array(f"{name} keys", "<u8")
        starts = self._numbers(f"{name} starts", len(keys) + 1)
        return MultiMap(keys, starts, self._numbers(f"{name} rows", int(starts[-1])))

    @cached_property
    def documents(self) -> Table:
        """[id, title, metadata, content hash, white space behind] by row; of a file also [places, source]."""
        return self._table("documents")

    @cached_property
    def passages(self) -> Table:
        """[text, start, white space before, extraction key, failure or null, facts, triples] by row."""
        return self._table("passages")

    @cached_property
    def facts(self) -> Table:
        """[text, [entity, …]] by row."""
        return self._table("facts")

    @cached_property
    def triples(self) -> Table:
        """[head, relation, tail] by row."""
        return self._table("triples")

    @cached_property
    def bridges(self) -> Table:
        """[entity, text, [passage id, …]] by row."""
        return self._table("bridges")

    @cached_property
    def document_slices(self) -> NDArray[np.uint32]:
        """Where each document's passages start, `(documents + 1,)`."""
        return self._numbers("document slices", self.count("documents") + 1)

    @cached_property
    def fact_slices(self) -> NDArray[np.uint32]:
        """Where each passage's facts start, `(passages + 1,)`."""
        return self._numbers("fact slices", self.count("passages") + 1)

    @cached_property
    def triple_slices(self) -> NDArray[np.uint32]:
        """Where each passage's triples start, `(passages + 1,)`."""
        return self._numbers("triple slices", self.count("passages") + 1)

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
        counts, lengths = self._array("term counts", "u1"), self._numbers("passage lengths", self.count("passages"))
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
        return self._numbers("link slices", self.count("facts") + 1)

    @cached_property
    def _link_names(self) -> NDArray[np.uint32]:
        return self._numbers("link names", int(self._link_slices[-1]))

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

    @cached_property
    def metadata(self) -> MetadataColumn:
        """Of every document; read once, as most filters look at all."""
        found: dict[str, int] = {}
        distinct: list[dict[str, Any]] = []
        places = []
        for row in range(self.count("documents")):
            value = self.documents[row][2]
            text = json.dumps(value)
            if text not in found:
                found[text] = len(distinct)
                distinct.append(value)
            places.append(found[text])
        return MetadataColumn(distinct, np.array(places, np.int64))

    @cached_property
    def document_hashes(self) -> NDArray[np.uint64]:
        """The hash of each document's id, `(documents,)`."""
        return keys_by_row(self.documents_by_id, self.count("documents"))

    @cached_property
    def bridge_sources(self) -> SourcesColumn:
        """The documents behind each bridging fact."""
        sources = [self.bridges[row][2] for row in range(self.count("bridges"))]
        documents = [list(dict.fromkeys(passage.rpartition("#")[0] for passage in each)) for each in sources]
        return SourcesColumn(starts_of(map(len, documents)), hash_keys(name for each in documents for name in each))

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
    def triple_vectors(self) -> NDArray[np.int8] | PackedMatrix:
        """`(triples, dim)`, by the index's aligner."""
        if PACKED in self.entry.sections:
            return PackedMatrix(self._read(PACKED), self.count("triples"), self.dimensions.aligner)
        return self._array("triple vectors", "i1").reshape(self.count("triples"), self.dimensions.aligner)

    @cached_property
    def _graph(self) -> Graph | None:
        if GRAPH not in self.entry.sections or len(self.unit_vectors) <= EXACT_LIMIT:
            return None
        return Graph(self._read(GRAPH), self.dimensions.encoder, rows=len(self.unit_vectors))


def owners(slices: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """From starts `(n + 1,)` to the owner of each row: [0, 2, 3] gives [0, 0, 1]."""
    return np.repeat(np.arange(len(slices) - 1, dtype="<u4"), (slices[1:] - slices[:-1]).astype(np.int64))


def keys_by_row(places: MultiMap, rows: int) -> NDArray[np.uint64]:
    """The key of each row `(rows,)`, where every row has one."""
    keys = np.zeros(rows, "<u8")
    keys[places.rows] = np.repeat(places.keys, places.sizes)
    return keys
