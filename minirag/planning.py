"""What one batch of `add` is about to do, and what it did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minirag.errors import LLMError
from minirag.loading import content_hash
from minirag.loading.checking import MAX_ID_LENGTH, MAX_METADATA
from minirag.records import AddReport, Document, Extraction, Failure, Passage
from minirag.storage.merging import read_document, restore_text
from minirag.storage.segment import Segment, StoredDocument, StoredPassage
from minirag.storage.segment_data import document_row, passage_row
from minirag.storage.tables import MOST_OF_A_ROW, encode_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.snapshot import Snapshot

_CHARACTER = 6  # bytes that one takes in a record at most
_PLACE = 16  # characters of a place beside its names
_ROOM = 4_096  # bytes of a passage's record that come with its extraction: the key, why it failed


@dataclass(slots=True)
class BatchReport:
    """Ids of documents, by what became of them, and what failed."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)

    def extend(self, other: BatchReport) -> None:
        """Add what another batch did."""
        self.added += other.added
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.failed += other.failed

    def to_add_report(self) -> AddReport:
        """As the user gets it, but for the usage."""
        return AddReport(tuple(self.added), tuple(self.updated), tuple(self.unchanged), tuple(self.failed))


class BridgeKey(NamedTuple):
    """Tells one bridge entity from another.

    Attributes:
        name: Normalised.
        within: The group of documents that share it, see `Settings.bridge_within`.
    """

    name: str
    within: str


def batch_keys(keys: Iterable[BridgeKey], size: int) -> Iterator[list[BridgeKey]]:
    """At most `size` together, and of one group alone: what is in one prompt may come to stand in one reply."""
    groups: dict[str, list[BridgeKey]] = {}
    for key in keys:
        groups.setdefault(key.within, []).append(key)
    for group in groups.values():
        yield from (group[start : start + size] for start in range(0, len(group), size))


class Relabelled(NamedTuple):
    """A document of which nothing but the metadata changed: all that was derived from it stays as it is.

    Attributes:
        segment: Its number; with `row` where the document lies.
        row: In the segment.
        before: As it lies there.
        now: With the new metadata.
    """

    segment: int
    row: int
    before: StoredDocument
    now: StoredDocument


def restore(stored: StoredDocument) -> Document:
    """The document as the user gave it."""
    return Document(stored.id, restore_text(stored), stored.title, stored.metadata, stored.places, stored.source)


def store_document(
    document: Document, passages: Sequence[tuple[Passage, Extraction | LLMError, str]]
) -> StoredDocument:
    """The document as it is written, of its passages, what came of each, and the keys under which that is kept."""
    stored = []
    end = 0
    for passage, result, key in passages:
        before = document.text[end : passage.start]
        end = passage.end
        if isinstance(result, LLMError):
            stored.append(StoredPassage(passage.text, passage.start, before, key, None, str(result)))
        else:
            stored.append(StoredPassage(passage.text, passage.start, before, key, result))
    content = content_hash(document)
    of_file = document.places, document.source
    return StoredDocument(
        document.id, document.title, document.metadata, content, document.text[end:], stored, *of_file
    )


def find_too_large(document: Document, passages: Sequence[Passage]) -> Failure | None:
    """What is wrong with a document of which a record would be larger than one may be in the file.

    Args:
        document: Measured only where its length leaves it open.
        passages: Of it; none while it is not split.
    """
    length = len(document.text) + len(document.title) + len(document.source)
    named = sum(_PLACE + len(place.unit) + sum(map(len, place.headings)) for place in document.places)
    if _CHARACTER * (length + named + MAX_ID_LENGTH) + MAX_METADATA + _ROOM <= MOST_OF_A_ROW:
        return None
    stored = store_document(
        document if passages else replace(document, text=""), [(each, Extraction((), ()), "") for each in passages]
    )
    rows = (document_row(stored), *map(passage_row, stored.passages))
    largest = max(len(encode_row(row)) for row in rows) + _ROOM
    if largest <= MOST_OF_A_ROW:
        return None
    told = f"one of its records would take {largest:,} bytes, at most {MOST_OF_A_ROW:,} are possible"
    return Failure(document.id, f"{told}: its title, white space, or what has no spaces in it is too long")


def relabel(document: Document, segment: Segment, row: int, *, number: int) -> Relabelled | None:
    """What has to be done when a document comes again; None when it is more than new metadata.

    Args:
        document: As it comes.
        segment: Where it lies.
        row: In the segment.
        number: The segment's.
    """
    before = read_document(segment, row)
    known = restore(before)
    same = (known.title, known.text, known.places) == (document.title, document.text, document.places)
    if not same or any(passage.failure is not None for passage in before.passages):
        return None
    now = replace(before, metadata=document.metadata, content=content_hash(document), source=document.source)
    return Relabelled(number, row, before, now)


@dataclass(slots=True)
class Plan:
    """What one batch does: documents to derive, documents that make room, and what of them is reused.

    Attributes:
        documents: To be derived.
        replaced: Segment number and row of what makes room, by document id.
        relabelled: What changes nothing but its metadata, by document id.
        known: What the replaced versions had, by extraction key.
        retried: What is derived anew only because passages of it failed earlier, as it is stored, by document id.
        report: Counts once the batch is committed.
        segments: Where extractions of the same passages are looked for, whichever documents they are of.
    """

    documents: list[Document] = field(default_factory=list)
    replaced: dict[str, tuple[int, int]] = field(default_factory=dict)
    relabelled: dict[str, Relabelled] = field(default_factory=dict)
    known: dict[str, Extraction] = field(default_factory=dict)
    retried: dict[str, StoredDocument] = field(default_factory=dict)
    report: BatchReport = field(default_factory=BatchReport)
    segments: Sequence[Segment] = ()

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Segment number and row of all that makes room."""
        return [*self.replaced.values(), *((each.segment, each.row) for each in self.relabelled.values())]

    def leave_out(self, documents: Collection[str]) -> None:
        """Let these documents be as they were."""
        self.documents = [document for document in self.documents if document.id not in documents]
        self.replaced = {name: row for name, row in self.replaced.items() if name not in documents}
        self.relabelled = {name: each for name, each in self.relabelled.items() if name not in documents}
        self.report.added = [name for name in self.report.added if name not in documents]
        self.report.updated = [name for name in self.report.updated if name not in documents]

    def leave_unmended(self, documents: Sequence[StoredDocument]) -> list[StoredDocument]:
        """Let those be as they were that were tried again, and of which the same passages failed in the same way.

        Returns:
            The others.
        """
        unmended = {
            document.id
            for document in documents
            if document.id in self.retried and _derived(document) == _derived(self.retried[document.id])
        }
        self.leave_out(unmended)
        return [document for document in documents if document.id not in unmended]

    def refuse(self, failures: Sequence[Failure]) -> None:
        """Let these documents be as they were, and report why."""
        self.leave_out({failure.id for failure in failures})
        self.report.failed += failures

    def replace(self, number: int, segment: Segment, row: int, *, reuse: bool) -> StoredDocument:
        """Have a document make room.

        Args:
            number: The segment's.
            segment: Where it lies.
            row: In the segment.
            reuse: Whether what was extracted from its passages stands for those that are the same.
        """
        stored = read_document(segment, row)
        self.replaced[stored.id] = (number, row)
        if reuse:
            self.known.update({each.key: each.extraction for each in stored.passages if each.extraction is not None})
        return stored


def plan_batch(batch: Sequence[Document | Failure], snapshot: Snapshot, *, reextract: bool) -> Plan:
    """What is to be done with documents that come, by what of them is there.

    Args:
        batch: Documents with distinct ids, and what could not be loaded.
        snapshot: What is there.
        reextract: Derive afresh also what is unchanged.
    """
    plan = Plan(segments=() if reextract else snapshot.segments)
    report = plan.report
    for item in batch:
        if isinstance(item, Failure):
            report.failed.append(item)
            continue
        found = snapshot.find_document(item.id)
        if found is None:
            report.added.append(item.id)
        elif _is_unchanged(found, item) and not reextract:
            report.unchanged.append(item.id)
            continue
        else:
            report.updated.append(item.id)
            segment, row = found
            number = snapshot.segments.index(segment)
            if not reextract and (relabelled := relabel(item, segment, row, number=number)):
                plan.relabelled[item.id] = relabelled
                continue
            plan.replace(number, segment, row, reuse=not reextract)
        plan.documents.append(item)
    return plan


def failed_documents(snapshot: Snapshot) -> list[str]:
    """The ids of the documents of which passages failed."""
    failed = snapshot.header["failed_passages"]
    return list(dict.fromkeys(passage.rpartition("#")[0] for passage, _ in failed))


def plan_retries(plan: Plan, snapshot: Snapshot, document_ids: Sequence[str]) -> None:
    """Derive anew documents whose passages failed earlier, unless the plan replaces them anyway."""
    for document_id in document_ids:
        found = snapshot.find_document(document_id)
        if found is None or document_id in plan.replaced or document_id in plan.relabelled:
            continue
        segment, row = found
        stored = plan.replace(snapshot.segments.index(segment), segment, row, reuse=True)
        if any(passage.failure is not None for passage in stored.passages):
            plan.documents.append(restore(stored))
            plan.retried[document_id] = stored
        else:
            del plan.replaced[document_id]


def plan_deletion(document_ids: Iterable[str], snapshot: Snapshot) -> tuple[Plan, list[str]]:
    """Have these documents go; gives the ids that there are not, too."""
    plan = Plan()
    missing = []
    for document_id in dict.fromkeys(document_ids):
        found = snapshot.find_document(document_id)
        if found is None:
            missing.append(document_id)
        else:
            plan.replaced[document_id] = (snapshot.segments.index(found[0]), found[1])
    return plan, missing


def find_dead(
    snapshot: Snapshot, rows: Iterable[tuple[int, int]], names: Collection[int]
) -> dict[int, dict[str, NDArray[np.uint32]]]:
    """Per segment, all rows that are dead once some documents, and the bridging facts of some names, are.

    Args:
        snapshot: What is there.
        rows: Segment number and row of each document.
        names: The hashed keys of bridge entities.
    """
    documents: dict[int, list[int]] = {}
    for number, row in rows:
        documents.setdefault(number, []).append(row)
    dead: dict[int, dict[str, NDArray[np.uint32]]] = {}
    for number, segment in enumerate(snapshot.segments):
        bridged = segment.bridges_by_entity
        hit = np.isin(bridged.keys, np.fromiter(names, "<u8", len(names)))
        bridges = [row for place in np.flatnonzero(hit) for row in bridged.find(int(bridged.keys[place])).tolist()]
        for table, more in (("documents", documents.get(number, [])), ("bridges", bridges)):
            before = segment.dead_rows(table)
            now = np.union1d(before, np.array(more, "<u4")).astype("<u4")
            if len(now) > len(before):
                dead.setdefault(number, {})[table] = now
    return dead


def _derived(document: StoredDocument) -> list[tuple[str, Extraction | None, str | None]]:
    return [(passage.text, passage.extraction, passage.failure) for passage in document.passages]


def _is_unchanged(found: tuple[Segment, int], document: Document) -> bool:
    """Whether content and file are those that are stored: a document that moved to another file gets that one."""
    segment, row = found
    return segment.documents[row][3] == content_hash(document) and segment.source(row) == document.source
