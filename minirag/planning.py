"""What one batch of `add` is about to do, and what it did."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from minirag.records import AddReport, Document, Extraction, Failure


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


@dataclass(slots=True)
class Plan:
    """What one batch does: documents to derive, documents that make room, and what of them is reused.

    Attributes:
        documents: To be derived.
        replaced: Segment number and row of what makes room, by document id.
        known: What the replaced versions had, by extraction key.
        report: Counts once the batch is committed.
    """

    documents: list[Document] = field(default_factory=list)
    replaced: dict[str, tuple[int, int]] = field(default_factory=dict)
    known: dict[str, Extraction] = field(default_factory=dict)
    report: BatchReport = field(default_factory=BatchReport)

    def leave_out(self, documents: Collection[str]) -> None:
        """Let these documents be as they were."""
        self.documents = [document for document in self.documents if document.id not in documents]
        self.replaced = {name: row for name, row in self.replaced.items() if name not in documents}
        self.report.added = [name for name in self.report.added if name not in documents]
        self.report.updated = [name for name in self.report.updated if name not in documents]
