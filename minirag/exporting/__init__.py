"""An index into files that others can read: JSON Lines with all of it, or GraphML for graph tools.

A JSON Lines export is UTF-8, one object a line, each with a "type":

    index       first: "format" (1), "vectors" (whether they are in it), "counts" of all kinds, and the "header":
                encoder, aligner, settings, model and usage, as the index file has them
    document    "id", "title", "text", "metadata", and "passages" in their order, each with
                    "id", "start", "end"    it is text[start:end], in characters
                    "key"                   tells whether it must be extracted again: content, model, prompt version
                    "facts"                 [{"text", "entities": [name, …]}, …]
                    "triples"               [{"head", "relation", "tail"}, …]
                    "failure"               instead of these two where extraction failed: why
                of a file also its "source" and "places": [[unit, [heading, …], [[start, number], …]], …]
                and "vectors" of "passages", "facts" and "triples": base64 of int8 rows, in the order of the records
    bridge      behind all documents, a bridging fact: "id", "entity", "text", "passage_ids" (its sources, of two
                documents or more), and its "vector"
    end         last, so that a file that was cut off is noticed: "pending", hashes of names that are still to be
                bridged

Sources need no fields of their own: a fact or triple is in the passage that states it. Keys that are not named here
are ignored. Who makes such a file elsewhere may leave out "key", "id" except a document's, "metadata", "title",
"places", "source", "counts", and with `"vectors": false` all vectors; lines of triples alone are simpler, see
`minirag.importing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Literal, get_args

from minirag.exporting.graphml import graphml_lines
from minirag.exporting.records import record_lines
from minirag.output import Target, write_whole

if TYPE_CHECKING:
    from minirag.storage.snapshot import Snapshot

__all__ = ["FORMATS", "ExportFormat", "count_steps", "export", "format_of"]

ExportFormat = Literal["jsonl", "graphml"]
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
ENDINGS: Mapping[str, ExportFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".graphml": "graphml"}


def format_of(name: str) -> ExportFormat:
    """What a file of this name would be, by its ending; one without any is JSON Lines.

    Raises:
        ValueError: If nothing is known to have that ending.
    """
    suffix = PurePath(name).suffix
    if suffix and suffix.lower() not in ENDINGS:
        raise ValueError(
            f"{name}: nothing that is exported ends in {suffix!r}. Name it {' or '.join(ENDINGS)}, or give the format "
            f"({' or '.join(FORMATS)})"
        )
    return ENDINGS.get(suffix.lower(), "jsonl")


def count_steps(snapshot: Snapshot) -> int:
    """How much progress an export tells."""
    return snapshot.count("documents") + snapshot.count("bridges")


def export(
    snapshot: Snapshot, target: Target, *, format: ExportFormat, vectors: bool, progress: Callable[[int], None]
) -> None:
    """Write all that an index holds, a record at a time.

    Args:
        snapshot: Of the index.
        target: A path, or an open binary file.
        format: See above.
        vectors: Whether JSON Lines hold them.
        progress: Told 1 for every document and bridging fact.

    Raises:
        OutputError: When the file cannot be written; it is then as it was.
    """
    lines: Iterator[bytes]
    if format == "graphml":
        lines = graphml_lines(snapshot, progress=progress)
    else:
        lines = record_lines(snapshot, vectors=vectors, progress=progress)

    def write(file: IO[bytes]) -> None:
        file.writelines(lines)

    write_whole(target, write)
