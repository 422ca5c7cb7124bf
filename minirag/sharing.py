"""What an index offers to write for others: a picture, and all that it holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minirag.progress import Listener, Progress

if TYPE_CHECKING:
    from pathlib import Path

    from minirag.exporting import ExportFormat
    from minirag.output import Target
    from minirag.storage.snapshot import Snapshot

MOST_NODES = 20_000  # of a picture


class Shareable:
    """An index as far as it is written for others; the part of `OpenIndex` that needs its records alone."""

    if TYPE_CHECKING:
        path: Path

        @property
        def snapshot(self) -> Snapshot:
            """The commit that is written."""

    def draw(self, target: Target, *, most_nodes: int = MOST_NODES, progress: bool | Listener = True) -> None:
        """Write a picture of it: one page to look around in, with search, that needs no server and no network.

        Args:
            target: A path, by convention `*.html`, or an open binary file.
            most_nodes: How many documents, shared names and bridging facts it holds at most, the most connected first;
                at least 1. At 20,000, a page has some megabytes, and browsers are quick.
            progress: As for `Index.add`.

        Raises:
            ValueError: If most_nodes < 1, or the target is the index itself.
            OutputError: When the file cannot be written; it is then as it was.
        """
        if most_nodes < 1:
            raise ValueError(f"most_nodes must be at least 1, not {most_nodes}")
        from minirag.drawing import draw
        from minirag.output import check_not_over
        from minirag.pages import write_page

        check_not_over(target, self.path)

        snapshot = self.snapshot
        total = snapshot.count("documents") + snapshot.count("bridges")
        with Progress(progress).stage("drawing", total) as done:
            page = draw(snapshot, most_nodes=most_nodes, progress=done)
        write_page(target, page)

    def export(
        self,
        target: Target,
        *,
        format: ExportFormat | None = None,
        vectors: bool = True,
        progress: bool | Listener = True,
    ) -> None:
        """Write all that it holds, with sources, for other programs or for `minirag.import_index`.

        Args:
            target: A path, or an open binary file.
            format: "jsonl" has all of it (see `minirag.exporting`), "graphml" is a graph for networkx and Gephi (see
                `minirag.exporting.graphml`); None goes by the ending of the path: `.jsonl`, `.ndjson` or `.graphml`.
            vectors: Whether "jsonl" has the vectors; without them it is much smaller, and importing takes as long as
                encoding.
            progress: As for `Index.add`.

        Raises:
            ValueError: If the format is unknown, or the ending of a path without `format`, or the target is the index
                itself.
            OutputError: When the file cannot be written; it is then as it was.
        """
        from minirag.exporting import FORMATS, count_steps, export, format_of
        from minirag.output import check_not_over

        check_not_over(target, self.path)

        chosen = format or format_of(str(target) if isinstance(target, str | os.PathLike) else "")
        if chosen not in FORMATS:
            raise ValueError(f"format must be {' or '.join(map(repr, FORMATS))}, not {format!r}")
        snapshot = self.snapshot
        with Progress(progress).stage("exporting", count_steps(snapshot)) as done:
            export(snapshot, target, format=chosen, vectors=vectors, progress=done)
