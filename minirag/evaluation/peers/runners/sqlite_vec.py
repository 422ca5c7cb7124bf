"""sqlite-vec: SQLite with a table of minirag's vectors, searched exactly."""

from __future__ import annotations

from collections.abc import Sequence

import sqlite_vec

from minirag.evaluation.peers.runners import Setup, Ways, titled
from minirag.records import Document

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

_SEARCH = """SELECT passages.id FROM (SELECT rowid, distance FROM vectors WHERE vector MATCH ? AND k = ?) AS found
JOIN passages ON passages.rowid = found.rowid ORDER BY found.distance"""


def build(documents: Sequence[Document], setup: Setup) -> Ways:
    """A table of texts and a virtual one of vectors."""
    database = sqlite3.connect(setup.folder / "passages.sqlite")
    database.enable_load_extension(True)
    sqlite_vec.load(database)
    database.execute("CREATE TABLE passages (id TEXT, text TEXT)")
    dimensions = setup.encoder.dimensions
    database.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(vector float[{dimensions}] distance_metric=cosine)")
    vectors = setup.encode(documents)
    rows = [(number, document.id, titled(document)) for number, document in enumerate(documents)]
    database.executemany("INSERT INTO passages (rowid, id, text) VALUES (?, ?, ?)", rows)
    numbered = [(number, vector.tobytes()) for number, vector in enumerate(vectors)]
    database.executemany("INSERT INTO vectors (rowid, vector) VALUES (?, ?)", numbered)
    database.commit()

    def retrieve(question: str, k: int) -> list[str]:
        vector = setup.encode_question(question).tobytes()
        return [row[0] for row in database.execute(_SEARCH, (vector, k))]

    return {"": retrieve}
