"""lancedb: a table of texts with minirag's vectors, searched exactly, as it does without an index."""

from __future__ import annotations

from collections.abc import Sequence

import lancedb

from minirag.evaluation.peers.runners import Setup, Ways, titled
from minirag.records import Document


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """One table."""
    rows = [
        {"id": document.id, "text": titled(document), "vector": vector}
        for document, vector in zip(documents, setup.encode(documents), strict=True)
    ]
    table = lancedb.connect(str(setup.folder)).create_table("passages", data=rows)

    def retrieve(question: str, k: int) -> list[str]:
        found = table.search(setup.encode_question(question)).distance_type("dot").limit(k).select(["id"])
        return [row["id"] for row in found.to_list()]

    return {"": retrieve}
