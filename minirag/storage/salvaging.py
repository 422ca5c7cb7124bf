"""What can be saved of a damaged index: every document whose own bytes are whole, and what was derived from it.

Nothing is guessed. A document counts only with all of its passages, an extraction only with all of its facts and
triples, a bridging fact only if all of its sources' extractions are there. Where the list of the dead is lost in both
copies, everything that it could name is dropped: what was deleted must not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.records import Bridge, ExtractedFact, Extraction
from minirag.storage.columns import GRAPH, PACKED
from minirag.storage.intact import Intact, read_lines, read_numbers, read_pages
from minirag.storage.layout import dimensions_in
from minirag.storage.packing import packed_width, unpack
from minirag.storage.segment import StoredDocument, StoredPassage, bridge_id, passage_id, stored_document
from minirag.storage.tables import hash_key, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.layout import SegmentEntry
    from minirag.storage.snapshot import Snapshot

LOST = "lost when the file was damaged; the next add derives it afresh"
Vectors = dict[str, list["NDArray[np.int8] | None"]]
VECTOR_KINDS = ("passages", "facts", "triples", "bridges")


@dataclass(slots=True)
class Salvage:
    """What was saved of a commit.

    Attributes:
        documents: Those that are whole; a passage whose extraction was lost carries a failure.
        bridges: Those that are whole, and whose sources are.
        vectors: By kind, one per passage, fact, triple and bridging fact in that order; None where one was lost.
        pending: Hashes of the names that must be bridged again.
        lost_documents: Ids, or where an id is lost too, how it was known.
        lost_extractions: Ids of the passages whose facts and triples were lost.
        lost_bridges: How many bridging facts were lost.
    """

    documents: list[StoredDocument] = field(default_factory=list)
    bridges: list[Bridge] = field(default_factory=list)
    vectors: Vectors = field(default_factory=lambda: {kind: [] for kind in VECTOR_KINDS})
    pending: set[int] = field(default_factory=set)
    lost_documents: list[str] = field(default_factory=list)
    lost_extractions: list[str] = field(default_factory=list)
    lost_bridges: int = 0

    @property
    def lost_vectors(self) -> int:
        """How many vectors must be computed afresh."""
        return sum(vector is None for kind in VECTOR_KINDS for vector in self.vectors[kind])


def salvage(snapshot: Snapshot, normalise: Callable[[str], str]) -> Salvage:
    """Read all that holds of a commit; never raises on damage.

    Args:
        snapshot: The last whole commit: its table of contents holds, its sections may not.
        normalise: How entity names become keys.
    """
    saved = Salvage()
    found: list[tuple[Bridge, NDArray[np.int8] | None]] = []
    for number, entry in enumerate(snapshot.contents.segments):
        part = _Part(snapshot, entry, number)
        part.save_documents(saved)
        found += part.bridges(saved)
    whole = {
        passage_id(document.id, position, passage.text)
        for document in saved.documents
        for position, passage in enumerate(document.passages)
        if passage.extraction is not None
    }
    for bridge, vector in found:
        if whole.issuperset(bridge.passage_ids):
            saved.bridges.append(bridge)
            saved.vectors["bridges"].append(vector)
        else:
            saved.lost_bridges += 1
            saved.pending.add(hash_key(normalise(bridge.entity)))
    _collect_pending(snapshot, saved, normalise)
    return saved


def _collect_pending(snapshot: Snapshot, saved: Salvage, normalise: Callable[[str], str]) -> None:
    section = snapshot.contents.pending
    pending = Intact(snapshot.data, section) if section else None
    if pending is not None and pending.whole:
        saved.pending |= set(np.frombuffer(pending.bytes, "<u8").tolist())
    elif pending is None and not saved.lost_bridges:
        return
    if saved.lost_bridges or (pending is not None and not pending.whole):
        saved.pending |= _shared_names(saved, normalise) - {hash_key(normalise(b.entity)) for b in saved.bridges}


def _shared_names(saved: Salvage, normalise: Callable[[str], str]) -> set[int]:
    documents: dict[str, set[str]] = {}
    for document in saved.documents:
        for passage in document.passages:
            for fact in passage.extraction.facts if passage.extraction else ():
                for entity in fact.entities:
                    documents.setdefault(normalise(entity), set()).add(document.id)
    return {hash_key(name) for name, ids in documents.items() if name and len(ids) > 1}


class _Part:
    """One segment, as far as it holds."""

    def __init__(self, snapshot: Snapshot, entry: SegmentEntry, number: int) -> None:
        self._data = snapshot.data
        self._entry = entry
        self._number = number
        self._dimensions = dimensions_in(snapshot.header)
        self._counts: Mapping[str, int] = entry.counts

    def _section(self, name: str) -> Intact:
        return Intact(self._data, self._entry.sections[name])

    def _rows(self, name: str) -> list[Any]:
        if f"{name} offsets" in self._entry.sections:
            return read_lines(self._section(name), self._section(f"{name} offsets"), self._counts[name])
        return read_pages(self._section(name), self._section(f"{name} pages"), self._counts[name])

    @cached_property
    def _passages(self) -> list[Any]:
        return self._rows("passages")

    @cached_property
    def _facts(self) -> list[Any]:
        return self._rows("facts")

    @cached_property
    def _triples(self) -> list[Any]:
        return self._rows("triples")

    # --- dead rows and slices --------------------------------------------------------------------------------------

    def _dead(self, name: str) -> set[int] | None:
        """The dead rows, or None where both copies of their list are lost."""
        if name not in self._entry.dead:
            return set()
        for copy in (name, f"{name} copy"):
            section = Intact(self._data, self._entry.dead[copy])
            if section.whole:
                return set(np.frombuffer(section.bytes, "<u4").tolist())
        return None

    def _document_slices(self) -> NDArray[Any] | None:
        count = self._counts["documents"]
        slices = read_numbers(self._section("document slices"), count + 1)
        if slices is not None or any(row is None for row in self._passages):
            return slices
        # Only white space lies before a document's first passage.
        first = [place for place, row in enumerate(self._passages) if row[1] == len(row[2])]
        return np.array([*first, len(self._passages)]) if len(first) == count else None

    def _unit_slices(self, name: str, place: int) -> NDArray[Any] | None:
        slices = read_numbers(self._section(name), self._counts["passages"] + 1)
        if slices is not None or any(row is None for row in self._passages):
            return slices
        return starts_of(row[place] for row in self._passages)

    # --- documents -------------------------------------------------------------------------------------------------

    def save_documents(self, saved: Salvage) -> None:
        dead, slices, rows = self._dead("documents"), self._document_slices(), self._rows("documents")
        facts, triples = self._unit_slices("fact slices", 5), self._unit_slices("triple slices", 6)
        vectors = {kind: self._vectors(kind) for kind in VECTOR_KINDS[:3]}
        for number, row in enumerate(rows):
            if dead is not None and number in dead:
                continue
            places = range(*slices[number : number + 2].tolist()) if slices is not None else range(0)
            if row is None or not places or dead is None or any(self._passages[place] is None for place in places):
                saved.lost_documents.append(row[0] if row else f"document {number} of segment {self._number}")
                continue
            passages = []
            for position, place in enumerate(places):
                passage = self._passage(place, facts, triples)
                if passage.failure == LOST:
                    saved.lost_extractions.append(passage_id(row[0], position, passage.text))
                saved.vectors["passages"].append(vectors["passages"](place))
                if passage.extraction is not None and facts is not None and triples is not None:
                    saved.vectors["facts"] += map(vectors["facts"], range(*facts[place : place + 2].tolist()))
                    saved.vectors["triples"] += map(vectors["triples"], range(*triples[place : place + 2].tolist()))
                passages.append(passage)
            saved.documents.append(stored_document(row, passages))

    def _passage(self, place: int, facts: NDArray[Any] | None, triples: NDArray[Any] | None) -> StoredPassage:
        text, start, before, key, failure, *_ = self._passages[place]
        lost = StoredPassage(text, start, before, key, None, failure or LOST)
        if failure is not None or facts is None or triples is None:
            return lost
        found = self._facts[slice(*facts[place : place + 2].tolist())]
        related = self._triples[slice(*triples[place : place + 2].tolist())]
        if any(row is None for row in [*found, *related]):
            return lost
        extraction = Extraction(
            tuple(ExtractedFact(text, tuple(entities)) for text, entities in found),
            tuple((head, relation, tail) for head, relation, tail in related),
        )
        return replace(lost, extraction=extraction, failure=None)

    # --- bridges and vectors ---------------------------------------------------------------------------------------

    def bridges(self, saved: Salvage) -> list[tuple[Bridge, NDArray[np.int8] | None]]:
        dead, vector = self._dead("bridges"), self._vectors("bridges")
        found = []
        for number, row in enumerate(self._rows("bridges")):
            if dead is not None and number in dead:
                continue
            if row is None or dead is None:
                saved.lost_bridges += 1
                continue
            entity, text, passage_ids = row
            bridge = Bridge(bridge_id(entity, text, passage_ids), entity, text, tuple(passage_ids))
            found.append((bridge, vector(number)))
        return found

    def _vectors(self, kind: str) -> Callable[[int], NDArray[np.int8] | None]:
        """From a row to its vector, or to None where it is lost."""
        section, start = self._place_of(kind)
        dimensions, count = self._dimensions.of(kind), self._counts[kind]
        packed = kind == "triples" and PACKED in self._entry.sections
        size = packed_width(dimensions) if packed else dimensions
        places = start + np.arange(count) * size
        holds = section.holds(places, places + size)

        def vector(row: int) -> NDArray[np.int8] | None:
            if not holds[row]:
                return None
            stored = np.frombuffer(section.bytes, np.uint8, size, int(places[row]))
            return unpack(stored[None], dimensions)[0] if packed else stored.view(np.int8)

        return vector

    def _place_of(self, kind: str) -> tuple[Intact, int]:
        """The section of a kind's vectors, and where in it they start; in a graph they stand behind two numbers."""
        if kind == "triples" and PACKED in self._entry.sections:
            return self._section(PACKED), 0
        if kind in ("passages", "triples"):
            return self._section(f"{kind[:-1]} vectors"), 0
        behind = self._counts["facts"] * self._dimensions.encoder if kind == "bridges" else 0
        if GRAPH in self._entry.sections:
            return self._section(GRAPH), 8 + behind
        return self._section("fact vectors"), behind


def names(documents: Sequence[str], *, most: int = 10) -> str:
    """The first ids of a list, and how many more there are."""
    more = f" and {len(documents) - most:,} more" if len(documents) > most else ""
    return ", ".join(documents[:most]) + more
