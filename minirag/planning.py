"""What one batch of `add` is about to do, and what it did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from minirag.loading import content_hash
from minirag.records import AddReport, Document, Extraction, Failure
from minirag.storage.merging import read_document, restore_text
from minirag.storage.segment import Segment, StoredDocument


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
        report: Counts once the batch is committed.
    """

    documents: list[Document] = field(default_factory=list)
    replaced: dict[str, tuple[int, int]] = field(default_factory=dict)
    relabelled: dict[str, Relabelled] = field(default_factory=dict)
    known: dict[str, Extraction] = field(default_factory=dict)
    report: BatchReport = field(default_factory=BatchReport)

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
