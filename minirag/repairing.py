"""Repairing a damaged index into a new file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.embedding import segment_data, texts_of
from minirag.encoder import OnnxEncoder, aligner_of, close_encoder, describe_aligner, encode_texts, open_encoder
from minirag.errors import EncoderMismatchError, IndexFileError
from minirag.naming.names import normalise_name
from minirag.progress import Listener, Progress
from minirag.storage.layout import Dimensions, aligner_in
from minirag.storage.lock import writer_lock
from minirag.storage.salvaging import LOST, VECTOR_KINDS, Salvage, names, salvage
from minirag.storage.segment_data import SegmentData
from minirag.storage.snapshot import Snapshot, open_snapshot
from minirag.storage.store import find_file, is_there
from minirag.storage.vectors import quantise
from minirag.storage.writing import Change, write_base

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What `repair` saved; `str()` tells all of it.

    Attributes:
        path: The new file.
        documents: How many were saved; likewise passages and bridges.
        lost_documents: Ids, as far as they are known.
        lost_extractions: Ids of the passages whose facts and triples were lost: the next `add` derives them afresh.
        lost_bridges: How many bridging facts were lost: the next `add` writes them afresh.
        lost_vectors: How many vectors were lost and computed afresh.
        torn: Bytes behind the last whole commit: of one that never came to its end, or that was cut off since.
    """

    path: str
    documents: int
    passages: int
    bridges: int
    lost_documents: tuple[str, ...]
    lost_extractions: tuple[str, ...]
    lost_bridges: int
    lost_vectors: int
    torn: int = 0

    @property
    def lossless(self) -> bool:
        """Whether nothing of the last whole commit was lost but what could be computed afresh."""
        return not (self.lost_documents or self.lost_extractions or self.lost_bridges)

    def __str__(self) -> str:
        """A line for each thing to tell."""
        lines = [
            f"{self.path}: saved {self.documents:,} documents with {self.passages:,} passages and {self.bridges:,} "
            "bridging facts"
        ]
        if self.lost_documents:
            lines.append(f"Lost {len(self.lost_documents):,} documents, add them again: {names(self.lost_documents)}")
        if self.lost_extractions:
            lines.append(
                f"Lost the facts of {len(self.lost_extractions):,} passages; the next `add` derives them afresh, even "
                f"`add([])`: {names(self.lost_extractions)}"
            )
        if self.lost_bridges:
            lines.append(f"Lost {self.lost_bridges:,} bridging facts; the next `add` writes them afresh")
        if self.lost_vectors:
            lines.append(f"Lost {self.lost_vectors:,} vectors, computed afresh")
        if self.torn:
            lines.append(
                f"The last {self.torn:,} bytes belong to no whole commit: what was added by them, if anything, is not "
                "there. Add it again"
            )
        if self.lossless:
            lines.append("Of the last whole commit nothing was lost." if self.torn else "Nothing was lost.")
        return "\n".join(lines)


def repair(
    old: str | PathLike[str],
    new: str | PathLike[str],
    *,
    encoder: str | Path | Encoder | None = None,
    progress: bool | Listener = True,
) -> RepairReport:
    """Save every record of an index whose checksum holds into a new file; the old one stays as it is.

    Lost vectors are computed afresh. Facts and bridging facts that were lost are marked, and the next `add` derives
    them afresh. Where triples were encoded by an aligner that minirag no longer ships, their vectors count as lost.

    Args:
        old: The damaged index.
        new: Must not exist.
        encoder: The one that the index was built with, if it is not the one that it remembers; only opened when a
            vector was lost.
        progress: As for `Index.add`.

    Raises:
        IndexCorruptError: When not even one table of contents is whole: nothing can be saved.
        IndexFileError: When `old` cannot be read, or `new` exists.
        IndexWriteError: When the disk refuses.
        EncoderMismatchError: When vectors were lost and the encoder is another one.
    """
    source, target = Path(old).absolute(), find_file(Path(new))
    snapshot = open_snapshot(source)
    with writer_lock(target):  # found out now, and not when all is done that is to be written
        _check_new(target)
    saved = salvage(snapshot, normalise_name)
    aligner = _aligner_for(snapshot.header)
    if aligner["fingerprint"] != aligner_in(snapshot.header)["fingerprint"]:
        saved.vectors["triples"] = [None] * len(saved.vectors["triples"])
    lost_vectors = saved.lost_vectors
    dimensions = Dimensions(int(snapshot.header["encoder"]["dimensions"]), int(aligner["dimensions"]))
    data = _with_vectors(snapshot, saved, encoder, dimensions, Progress(progress))
    with writer_lock(target):
        _check_new(target)
        pending = np.array(sorted(saved.pending), "<u8")
        write_base(
            target,
            data,
            Change({**_header(snapshot, saved), "aligner": aligner}, pending),
            commit=snapshot.contents.commit + 1,
        )
    return RepairReport(
        path=str(new),
        documents=len(saved.documents),
        passages=len(saved.vectors["passages"]),
        bridges=len(saved.bridges),
        lost_documents=tuple(saved.lost_documents),
        lost_extractions=tuple(saved.lost_extractions),
        lost_bridges=saved.lost_bridges,
        lost_vectors=lost_vectors,
        torn=snapshot.torn,
    )


def _check_new(target: Path) -> None:
    if is_there(target):
        raise IndexFileError(target, "exists already. Repair into a new file, then put it in the old one's place")


def _header(snapshot: Snapshot, saved: Salvage) -> Mapping[str, Any]:
    kept = {document.id for document in saved.documents}
    lost = set(saved.lost_extractions)
    before = [[p, why] for p, why in snapshot.header["failed_passages"] if p not in lost]
    failed = [[p, why] for p, why in before if p.rpartition("#")[0] in kept]
    return {**snapshot.header, "failed_passages": [*failed, *([p, LOST] for p in saved.lost_extractions)]}


def _aligner_for(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the new file's header says of its aligner: beside a hosted encoder it is the one that minirag ships now."""
    known = aligner_in(header)
    return known if known["fingerprint"] == header["encoder"]["fingerprint"] else describe_aligner(OnnxEncoder())


def _with_vectors(
    snapshot: Snapshot,
    saved: Salvage,
    encoder: str | Path | Encoder | None,
    dimensions: Dimensions,
    progress: Progress,
) -> SegmentData:
    if saved.lost_vectors:
        known = snapshot.header["encoder"]
        opened = open_encoder(known["source"] if encoder is None else encoder)
        if opened.fingerprint != known["fingerprint"]:
            raise EncoderMismatchError(snapshot.path, built_with=known["name"], given=opened.name)
        try:
            _compute_lost(saved, opened, progress)
        finally:
            if opened is not encoder:
                close_encoder(opened)
    vectors = [
        np.array(saved.vectors[kind], np.int8).reshape(len(saved.vectors[kind]), dimensions.of(kind))
        for kind in VECTOR_KINDS
    ]
    return segment_data(saved.documents, saved.bridges, vectors)


def _compute_lost(saved: Salvage, encoder: Encoder, progress: Progress) -> None:
    texts = dict(zip(VECTOR_KINDS, texts_of(saved.documents, saved.bridges), strict=True))
    lost = [(kind, row) for kind in VECTOR_KINDS for row, v in enumerate(saved.vectors[kind]) if v is None]
    of_triples = [place for place in lost if place[0] == "triples"]
    others = [place for place in lost if place[0] != "triples"]
    with progress.stage("encoding", len(lost)) as done:
        for model, places in ((aligner_of(encoder), of_triples), (encoder, others)):
            if places:  # a hosted encoder pays even for none
                fresh = quantise(encode_texts(model, [texts[kind][row] for kind, row in places], progress=done))
                for (kind, row), vector in zip(places, fresh, strict=True):
                    saved.vectors[kind][row] = vector
