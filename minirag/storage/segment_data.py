"""What a segment holds on its way to disk, and the sections that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.errors import InputError
from minirag.records import Bridge
from minirag.records.places import headings_above, places_to_json, titled
from minirag.storage.columns import GRAPH, PACKED
from minirag.storage.lexical import Postings
from minirag.storage.packing import pack
from minirag.storage.segment import StoredDocument, StoredPassage, text_hash
from minirag.storage.tables import (
    MultiMap,
    RowTooLargeError,
    encode_numbers,
    encode_pages,
    hash_key,
    hash_keys,
    starts_of,
)
from minirag.storage.vectors import build_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True)
class SegmentData:
    """All of a segment before it is written.

    Attributes:
        documents: In the order of their rows.
        bridges: In the order of their rows.
        passage_vectors: `(passages, dim)` int8, likewise for the other three; those of triples may have another `dim`.
        normalise: How entity names become keys.
    """

    documents: list[StoredDocument]
    bridges: list[Bridge]
    passage_vectors: NDArray[np.int8]
    fact_vectors: NDArray[np.int8]
    triple_vectors: NDArray[np.int8]
    bridge_vectors: NDArray[np.int8]
    normalise: Callable[[str], str] = field(repr=False)

    @property
    def passages(self) -> list[StoredPassage]:
        """Of all documents, in the order of their rows."""
        return [passage for document in self.documents for passage in document.passages]

    def counts(self) -> dict[str, int]:
        """Rows by kind."""
        return {
            "documents": len(self.documents),
            "passages": len(self.passage_vectors),
            "facts": len(self.fact_vectors),
            "triples": len(self.triple_vectors),
            "bridges": len(self.bridges),
        }

    def to_sections(self, *, graph: bool) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each section; the first is what lies at the start of a base segment.

        Args:
            graph: Whether facts and bridging facts become a usearch graph, or a plain matrix.

        Raises:
            InputError: When a record is larger than one may be; it names the document.
        """
        units = np.concatenate([self.fact_vectors, self.bridge_vectors])
        yield (GRAPH, build_graph(units)) if graph else ("fact vectors", units.tobytes())
        yield "passage vectors", self.passage_vectors.tobytes()
        packed = pack(self.triple_vectors)
        yield ("triple vectors", self.triple_vectors.tobytes()) if packed is None else (PACKED, packed)
        yield from self._document_sections()
        yield from self._lexical_sections()
        yield from self._unit_sections()

    def _document_sections(self) -> Iterator[tuple[str, bytes]]:
        documents, passages = self.documents, self.passages
        yield from self._rows("documents", (document_row(d) for d in documents))
        yield from self._rows("passages", (passage_row(p) for p in passages))
        yield "passage hashes", np.array([text_hash(p.text) for p in passages], "<u4").tobytes()
        yield "document slices", _starts(len(d.passages) for d in documents)
        extractions = [p.extraction for p in passages]
        yield "fact slices", _starts(len(e.facts) if e else 0 for e in extractions)
        yield "triple slices", _starts(len(e.triples) if e else 0 for e in extractions)
        from minirag.naming.names import normalise_name, title_entity

        yield "title keys", hash_keys(normalise_name(title_entity(d.title)) for d in documents).tobytes()
        rows = np.arange(len(documents), dtype="<u4")
        yield from _map("document ids", MultiMap.build(hash_keys(d.id for d in documents), rows))

    def _rows(self, name: str, rows: Iterator[Any]) -> Iterator[tuple[str, bytes]]:
        try:
            pages, table = encode_pages(rows)
        except RowTooLargeError as error:
            raise InputError(f"{self._owner(name, error.row)}: {error}") from error
        yield name, pages
        yield f"{name} pages", table

    def _owner(self, name: str, row: int) -> str:
        """Whose row it is: the document's id, or the name that is bridged."""
        if name == "bridges":
            return f"bridge entity {self.bridges[row].entity}"
        owners: list[str] = []
        for document in self.documents:
            found = [passage.extraction for passage in document.passages if passage.extraction]
            rows = {
                "documents": 1,
                "passages": len(document.passages),
                "facts": sum(len(extraction.facts) for extraction in found),
                "triples": sum(len(extraction.triples) for extraction in found),
            }
            owners += [document.id] * rows[name]
        return owners[row]

    def _lexical_sections(self) -> Iterator[tuple[str, bytes]]:
        """Titles and headings count as part of every passage, as they do for the encoder."""
        texts = (f"{above} {passage.text}" for passage, above in titled_passages(self.documents))
        postings = Postings.build(texts)
        yield from _map("terms", postings.passages)
        yield "term counts", postings.counts.tobytes()
        yield "passage lengths", encode_numbers(postings.lengths)

    def _unit_sections(self) -> Iterator[tuple[str, bytes]]:
        extractions = [p.extraction for p in self.passages if p.extraction]
        facts = [fact for extraction in extractions for fact in extraction.facts]
        yield from self._rows("facts", ([fact.text, list(fact.entities)] for fact in facts))
        yield from self._rows("triples", (list(triple) for extraction in extractions for triple in extraction.triples))
        yield from self._rows("bridges", ([b.entity, b.text, list(b.passage_ids)] for b in self.bridges))
        named = [(hash_key(key), row) for row, fact in enumerate(facts) for key in self._keys(fact.entities)]
        pairs = np.array(named, "<u8").reshape(-1, 2)
        entities = MultiMap.build(pairs[:, 0], pairs[:, 1].astype("<u4"))
        yield from _map("entities", entities)
        links = [link_keys(fact.entities) for fact in facts]
        yield "link slices", _starts(len(keys) for keys in links)
        flat = np.array([key for keys in links for key in keys], "<u8")
        yield "link names", encode_numbers(np.searchsorted(entities.keys, flat).astype("<u4"))
        rows = np.arange(len(self.bridges), dtype="<u4")
        bridged = hash_keys(self.normalise(bridge.entity) for bridge in self.bridges)
        yield from _map("bridge entities", MultiMap.build(bridged, rows))

    def _keys(self, entities: Sequence[str]) -> set[str]:
        return {key for entity in entities if (key := self.normalise(entity))}


def link_keys(names: Sequence[str]) -> list[int]:
    """The hashes of the names that are telling enough to lead from one passage to another, each once."""
    from minirag.naming.names import is_bridge_name, normalise_name

    return list(dict.fromkeys(hash_key(normalise_name(name)) for name in names if is_bridge_name(name)))


def titled_passages(documents: Iterable[StoredDocument]) -> Iterator[tuple[StoredPassage, str]]:
    """Each passage with its document's title and the headings that it stands below."""
    for document in documents:
        for passage in document.passages:
            yield passage, titled(document.title, headings_above(document.places, passage.start, passage.text))


def document_row(document: StoredDocument) -> list[Any]:
    """As it is written; the file and the places in it only where it has them."""
    row = [document.id, document.title, dict(document.metadata), document.content, document.after]
    return [*row, places_to_json(document.places), document.source] if document.places or document.source else row


def passage_row(passage: StoredPassage) -> list[Any]:
    """The numbers of facts and triples say what the slices say: these can then be restored from the rows."""
    found = passage.extraction
    counts = [len(found.facts), len(found.triples)] if found else [0, 0]
    return [passage.text, passage.start, passage.before, passage.key, passage.failure, *counts]


def _map(name: str, columns: MultiMap) -> Iterator[tuple[str, bytes]]:
    yield f"{name} keys", columns.keys.tobytes()
    yield f"{name} starts", encode_numbers(columns.starts)
    yield f"{name} rows", encode_numbers(columns.rows)


def _starts(counts: Iterable[int]) -> bytes:
    return encode_numbers(starts_of(counts))
