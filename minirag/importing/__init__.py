"""A new index from a file: from what `Index.export` wrote, or from triples made elsewhere. No model is called.

Triples come as CSV with a header line, or as JSON Lines, in any order of rows. Columns or keys:

    head, relation, tail    (or subject, predicate, object)
    document                the document that states it, optional: without one, the triples of one head make a document
    text                    the document's text, optional; the same in all of its rows, or in one of them
    title                   likewise
    triples                 JSON Lines only, instead of the first three: [[head, relation, tail], …]

A document without a text gets one of its triples, a line each, and they are its facts too. One with a text gets facts
by rules, as offline.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from minirag.errors import IndexFileError
from minirag.importing.lines import Lines, opened
from minirag.importing.rebuilding import rebuild
from minirag.importing.records import is_export
from minirag.importing.triples import build_from_triples
from minirag.progress import Listener, Progress
from minirag.records import ImportReport, Settings
from minirag.storage.lock import writer_lock
from minirag.storage.replacing import disk_errors, sync_folder
from minirag.storage.snapshot import open_snapshot
from minirag.storage.store import find_file, is_there

if TYPE_CHECKING:
    from minirag.encoder import Encoder

__all__ = ["import_index"]


def import_index(
    source: str | os.PathLike[str] | IO[bytes],
    path: str | os.PathLike[str],
    *,
    encoder: str | Path | Encoder | None = None,
    settings: Settings | None = None,
    progress: bool | Listener = True,
) -> ImportReport:
    """Build a new index from an export of another one, or from triples made elsewhere, without calling any model.

    What was paid for is kept: `Index.add` of the same documents, with whatever model, then finds them unchanged.
    Vectors are taken as they are where the encoder is the same, else computed. An export is read a line at a time; of
    more than 100,000 units, the index has several segments, which `Index.compact` makes one.

    Args:
        source: The file, or an open binary one: what `Index.export` wrote as JSON Lines (see `minirag.exporting`), or
            triples as JSON Lines or CSV (see `minirag.importing`).
        path: The new index; must not exist.
        encoder: As for `Index`; None for the export's own.
        settings: As for `Index`, for triples only: an export has its own.
        progress: As for `Index.add`.

    Returns:
        What is in it.

    Raises:
        InputError: When a line cannot be used; the message names it. Nothing is imported then.
        IndexFileError: When there is something at `path`, or the index cannot be written.
        EncoderError: When the encoder cannot be loaded or run.
        ValueError: When `settings` come with an export.
    """
    target = find_file(Path(path))
    beside = target.with_name(target.name + ".import")
    with opened(source) as (name, file), writer_lock(target), disk_errors(target, kept="Nothing was imported"):
        if is_there(target):
            raise IndexFileError(target, "exists already. Import into a new file")
        lines = Lines(name, file)
        try:
            if is_export(lines):
                if settings is not None:
                    raise ValueError("an export has settings of its own; give none")
                encoded = rebuild(lines, beside, encoder=encoder, progress=Progress(progress))
            else:
                build_from_triples(lines, beside, encoder=encoder, settings=settings, progress=progress)
                encoded = True
            snapshot = open_snapshot(beside)
            counts = {kind: snapshot.count(kind) for kind in ("documents", "passages", "facts", "triples", "bridges")}
            del snapshot
            beside.replace(target)
        finally:
            for left in (beside, beside.with_name(beside.name + ".lock")):
                with suppress(OSError):
                    left.unlink()
    sync_folder(target.parent)
    return ImportReport(path=str(path), encoded=encoded, **counts)
