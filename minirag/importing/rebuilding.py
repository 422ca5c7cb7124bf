"""An export back into an index file, a part at a time, so that a large one need not fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minirag.embedding import embed, segment_data, texts_of
from minirag.encoder import aligner_of, close_encoder, describe_encoders, open_encoder
from minirag.errors import InputError
from minirag.importing.lines import Lines, parsed
from minirag.importing.records import (
    Head,
    Json,
    Vectors,
    read_bridge_line,
    read_document_line,
    read_head,
    read_pending,
)
from minirag.progress import Progress
from minirag.storage.layout import Dimensions, aligner_in, dimensions_in
from minirag.storage.segment import StoredDocument, passage_id
from minirag.storage.snapshot import open_snapshot
from minirag.storage.tables import hash_key
from minirag.storage.writing import Change, append_commit, write_base

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.encoder import Encoder
    from minirag.records import Bridge
    from minirag.storage.segment_data import SegmentData

PART = 100_000  # units that are held at once: some 200 MB
_KINDS = ("passages", "facts", "triples", "bridges")


def rebuild(
    lines: Lines, path: Path, *, encoder: str | Path | Encoder | None, progress: Progress, part: int = PART
) -> bool:
    """Write a new index file from an export.

    Args:
        lines: Of the export.
        path: The new file; the caller removes it when this fails.
        encoder: None for the export's own.
        progress: Shows it.
        part: How many units are held in memory and become a segment together.

    Returns:
        Whether vectors had to be computed.

    Raises:
        InputError: When a line cannot be used.
        EncoderError: When the encoder cannot be loaded or run.
    """
    records = (parsed(lines, line) for line in lines)
    with lines.naming_errors():
        head = read_head(next(records))
    source = head.header["encoder"].get("source") if encoder is None else encoder
    opened = open_encoder(source)
    try:
        work = _Rebuilding(path, head, opened, source, progress, part)
        with progress.stage("importing", head.counts.get("documents", 0) + head.counts.get("bridges", 0)) as done:
            for record in records:
                with lines.naming_errors():
                    work.take(record)
                done(record["type"] != "end")
        with lines.naming_errors():
            work.finish()
    finally:
        if opened is not encoder:
            close_encoder(opened)
    return work.encodes


@dataclass(slots=True)
class _Part:
    """What is held until it is written."""

    documents: list[StoredDocument] = field(default_factory=list)
    bridges: list[Bridge] = field(default_factory=list)
    vectors: dict[str, list[NDArray[np.int8]]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    units: int = 0

    def add_vectors(self, vectors: Vectors) -> None:
        for kind, rows in vectors.items():
            self.vectors[kind].append(rows)


class _Rebuilding:
    """One import: takes the records in their order, and writes a segment for each part.

    Attributes:
        encodes: Whether vectors are computed, because there are none or others are wanted.
    """

    def __init__(
        self,
        path: Path,
        head: Head,
        encoder: Encoder,
        source: str | Path | Encoder | None,
        progress: Progress,
        part: int,
    ) -> None:
        self._path = path
        self._encoder, self._aligner = encoder, aligner_of(encoder)
        wanted = head.header["encoder"]["fingerprint"], aligner_in(head.header).get("fingerprint")
        same = wanted == (encoder.fingerprint, self._aligner.fingerprint)
        self.encodes = not (same and head.has_vectors)
        # A hosted encoder is not asked for anything unless it has to encode.
        self._header = head.header if same else {**head.header, **describe_encoders(encoder, source)}
        self._dimensions = dimensions_in(self._header)
        self._progress = progress
        self._most = part
        self._part = _Part()
        self._parts = 0
        self._documents: set[int] = set()  # hashes of ids
        self._passages: set[int] = set()
        self._failed: list[list[str]] = []
        self._pending: list[int] | None = None

    def take(self, record: Json) -> None:
        """Raises: InputError, when it is no record or none that may come here."""
        kind = record.get("type")
        if self._pending is not None:
            raise InputError(f"stands behind the last line, of type 'end': {kind!r}")
        if kind == "document":
            self._take_document(record)
        elif kind == "bridge":
            self._take_bridge(record)
        elif kind == "end":
            self._pending = read_pending(record)
        else:
            raise InputError(f"is of type {kind!r}; there are 'document', 'bridge' and, once each, 'index' and 'end'")
        if self._part.units >= self._most:
            self._write(Change(self._header, np.empty(0, "<u8")))

    def finish(self) -> None:
        """Write what is left, with all that is known by now."""
        if self._pending is None:
            raise InputError("is the last line, but not of type 'end': the file was cut off")
        header = {**self._header, "failed_passages": self._failed}
        self._write(Change(header, np.array(sorted(self._pending), "<u8")))

    def _take_document(self, record: Json) -> None:
        stored, vectors = read_document_line(record, self._expected)
        key = hash_key(stored.id)
        if key in self._documents:
            raise InputError(f"has the id {stored.id!r}, as a document before it")
        self._documents.add(key)
        for place, passage in enumerate(stored.passages):
            identity = passage_id(stored.id, place, passage.text)
            self._passages.add(hash_key(identity))
            if passage.failure is not None:
                self._failed.append([identity, passage.failure])
            elif passage.extraction is not None:
                self._part.units += 1 + len(passage.extraction.facts) + len(passage.extraction.triples)
        self._part.documents.append(stored)
        self._part.add_vectors(vectors)

    def _take_bridge(self, record: Json) -> None:
        bridge, vectors = read_bridge_line(record, self._expected)
        for identity in bridge.passage_ids:
            if hash_key(identity) not in self._passages:
                raise InputError(f"names the passage {identity!r}, which no document before it has")
        self._part.bridges.append(bridge)
        self._part.add_vectors(vectors)
        self._part.units += 1

    @property
    def _expected(self) -> Dimensions | None:
        return None if self.encodes else self._dimensions

    def _write(self, change: Change) -> None:
        part, self._part = self._part, _Part()
        data = self._encoded(part) if self.encodes else self._joined(part)
        change = replace(change, data=data if part.units or part.documents else None)
        if self._parts:
            append_commit(open_snapshot(self._path), change)
        else:
            write_base(self._path, data, change)
        self._parts += 1

    def _encoded(self, part: _Part) -> SegmentData:
        total = sum(map(len, texts_of(part.documents, part.bridges)))
        with self._progress.stage("encoding", total) as done:
            return embed(part.documents, part.bridges, encoder=self._encoder, aligner=self._aligner, progress=done)

    def _joined(self, part: _Part) -> SegmentData:
        none = {kind: np.empty((0, self._dimensions.of(kind)), np.int8) for kind in _KINDS}
        vectors = [np.concatenate([none[kind], *part.vectors[kind]]) for kind in _KINDS]
        return segment_data(part.documents, part.bridges, vectors)
