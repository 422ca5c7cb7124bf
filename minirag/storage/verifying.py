"""Checking all of an index's last commit, and telling what could be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minirag.errors import IndexCorruptError
from minirag.storage.finding import Commit, find_commits
from minirag.storage.layout import FORMAT, checksum
from minirag.storage.merging import read_alive
from minirag.storage.salvaging import Salvage, names, salvage
from minirag.storage.segment import Segment
from minirag.storage.snapshot import Snapshot, open_regular, open_snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = ("documents", "passages", "facts", "triples", "bridges")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged part.

    Attributes:
        section: Its name, as in `IndexCorruptError.section`.
        problem: What is wrong with it.
    """

    section: str
    problem: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `Index.verify` found; `str()` tells all of it.

    Attributes:
        path: The file.
        bytes: Its size.
        format: The file's; where no commit is whole, the one that this minirag writes.
        commit: The number of the last whole commit; 0 when there is none.
        commits: How many whole commits are in the file, this one included; older ones only where nothing was
            written afresh since.
        damaged: What does not hold, nothing when the file is whole.
        saved: By kind ("documents", "passages", …): how many `minirag repair` would save, and of how many.
        lost_documents: Ids, as far as they are known.
    """

    path: str
    bytes: int
    format: int
    commit: int
    commits: int
    damaged: tuple[Damage, ...] = ()
    saved: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lost_documents: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damaged

    def __str__(self) -> str:
        """A line for each thing to tell."""
        found = f"{self.commits:,} whole commit{'' if self.commits == 1 else 's'} in the file"
        head = f"{self.path}: {self.bytes:,} bytes, commit {self.commit:,}, {found}"
        if self.whole:
            return f"{head}\nEverything holds: every checksum, every record, every vector."
        lines = [head, "Damaged:", *(f"  {damage.section}: {damage.problem}" for damage in self.damaged)]
        if not self.saved:
            return "\n".join([*lines, "Nothing can be saved. Restore a backup."])
        lines.append("What `minirag repair OLD NEW` saves:")
        lines += [f"  {kind}: {saved:,} of {total:,}" for kind, (saved, total) in self.saved.items()]
        if self.lost_documents:
            lines.append(f"Lost documents: {names(self.lost_documents)}")
        return "\n".join(lines)


def verify(path: Path, normalise: Callable[[str], str]) -> VerifyReport:
    """Check trailers, tables of contents, every section of the last commit, and that every record can be read.

    Damage is reported, not raised.

    Args:
        path: The file.
        normalise: How entity names become keys.

    Raises:
        IndexMissingError: When there is no such file.
        IndexVersionError: When a newer minirag wrote it.
        IndexFileError: When it cannot be read, or is no regular file.
    """
    with open_regular(path) as file:
        commits = list(find_commits(path, file))
        size = file.seek(0, 2)
    try:
        snapshot = open_snapshot(path)
    except IndexCorruptError as error:
        return VerifyReport(str(path), size, FORMAT, 0, 0, (Damage(error.section, str(error)),))
    damaged = [*_damaged_ends(snapshot, commits), *_damaged_sections(snapshot)]
    damaged = damaged or list(_unreadable(snapshot, normalise))
    numbers = {commit.contents.commit for commit in commits}
    report = VerifyReport(str(path), size, snapshot.format, snapshot.contents.commit, len(numbers), tuple(damaged))
    return report if report.whole else _with_salvage(report, snapshot, salvage(snapshot, normalise))


def _with_salvage(report: VerifyReport, snapshot: Snapshot, saved: Salvage) -> VerifyReport:
    passages = [passage for document in saved.documents for passage in document.passages]
    extractions = [passage.extraction for passage in passages if passage.extraction is not None]
    kept = {
        "documents": len(saved.documents),
        "passages": len(passages),
        "facts": sum(len(extraction.facts) for extraction in extractions),
        "triples": sum(len(extraction.triples) for extraction in extractions),
        "bridges": len(saved.bridges),
    }
    counts = {kind: (kept[kind], max(kept[kind], _alive(snapshot, kind))) for kind in _KINDS}
    vectors = sum(map(len, saved.vectors.values()))
    counts["vectors (lost ones are computed afresh)"] = (vectors - saved.lost_vectors, vectors)
    return VerifyReport(
        report.path,
        report.bytes,
        report.format,
        report.commit,
        report.commits,
        report.damaged,
        counts,
        tuple(saved.lost_documents),
    )


def _alive(snapshot: Snapshot, kind: str) -> int:
    """How many rows are alive, or where that cannot be told any more, how many there are."""
    try:
        return snapshot.count(kind)
    except IndexCorruptError:
        return sum(segment.count(kind) for segment in snapshot.segments)


def _damaged_ends(snapshot: Snapshot, commits: list[Commit]) -> Iterator[Damage]:
    if snapshot.torn:
        problem = f"the last {snapshot.torn:,} bytes belong to no whole commit; the commit before them is whole"
        yield Damage("trailer", problem)
    elif sum(commit.contents.commit == snapshot.contents.commit for commit in commits) == 1:
        yield Damage("table of contents", "one of its two copies is damaged; the other one holds")


def _damaged_sections(snapshot: Snapshot) -> Iterator[Damage]:
    for name, section in snapshot.sections():
        data = snapshot.data[section.offset : section.offset + section.length]
        if len(data) != section.length or checksum(data) != section.checksum:
            yield Damage(name, f"its checksum does not hold ({section.length:,} bytes at {section.offset:,})")


def _unreadable(snapshot: Snapshot, normalise: Callable[[str], str]) -> Iterator[Damage]:
    """Where all checksums hold: whether every record can be read and every column fits the others."""
    for number, segment in enumerate(snapshot.segments):
        try:
            read_alive(segment, normalise)
            _check_columns(segment)
        except IndexCorruptError as error:
            yield Damage(f"{error.section} (segment {number})", "is not in the file")
        except (ValueError, KeyError, TypeError, IndexError) as error:
            yield Damage(f"segment {number}", f"was written by a faulty program: {error!r}. Please report this")


def _check_columns(segment: Segment) -> None:
    """Raises ValueError when a column does not fit the counts."""
    for kind in _KINDS:
        rows = len(getattr(segment, kind))
        if rows != segment.count(kind):
            raise ValueError(f"{rows} rows of {segment.count(kind)} {kind}")
    slices = (
        ("document slices", segment.document_slices, "documents", "passages"),
        ("fact slices", segment.fact_slices, "passages", "facts"),
        ("triple slices", segment.triple_slices, "passages", "triples"),
    )
    for name, starts, owners, owned in slices:
        _check_slices(name, starts, segment.count(owners), segment.count(owned))
    _ = segment.unit_vectors, segment.passage_vectors, segment.triple_vectors  # their shapes are checked
    postings = segment.postings
    if len(postings.lengths) != segment.count("passages") or len(postings.counts) != len(postings.passages.rows):
        raise ValueError("the words do not fit the passages")
    for index, rows_of in (
        (segment.documents_by_id, "documents"),
        (segment.facts_by_entity, "facts"),
        (segment.bridges_by_entity, "bridges"),
        (postings.passages, "passages"),
    ):
        if len(index.rows) and int(index.rows.max()) >= segment.count(rows_of):
            raise ValueError(f"a lookup names {rows_of} that are not there")


def _check_slices(name: str, starts: NDArray[np.uint32], owners: int, owned: int) -> None:
    ascending = bool((np.diff(starts.astype(np.int64)) >= 0).all())
    if len(starts) != owners + 1 or not ascending or int(starts[-1]) != owned:
        raise ValueError(f"{name} do not fit {owners} owners of {owned}")
