"""What an index holds, as plain values that two of them can be compared by; and documents that share names."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minirag import Document, Index
from minirag.encoder import OnnxEncoder
from minirag.naming.names import normalise_name
from minirag.planning import restore
from minirag.records import KINDS
from minirag.retrieving import nearest, to_hit
from minirag.storage.lexical import score_passages
from minirag.storage.merging import read_alive, read_document
from minirag.storage.snapshot import Snapshot
from minirag.storage.store import Mode

_ZLIB = b"\x78\xda"  # how a stream of level 9 begins
PEOPLE = ("Ada Brell", "Otto Vane", "Mira Holt", "Sven Dahl")
FIRST = ("Ada", "Otto", "Mira", "Sven", "Lena", "Karl", "Ines", "Paul")
LAST = ("Brell", "Vane", "Holt", "Dahl", "Hart", "Lunde", "Moreau", "Quist")
PLACES = ("Karsund", "Ostwick", "Grey Coast")


def person(number: int) -> str:
    """Sixty-four names, the first of which is Ada Brell."""
    return f"{FIRST[number % 8]} {LAST[number // 8 % 8]}"


def make_documents(count: int, *, start: int = 0) -> list[Document]:
    """Small ones: two and two tell of the same person, and so share a bridging fact; the places are everywhere."""
    return [
        Document(
            f"doc{number}",
            f"{person(number // 2)} wrote The Harbour Book {number} in {1900 + number}. "
            f"{person(number // 2)} was born in {PLACES[number // 2 % 3]}.",
            f"The Harbour Book {number}",
            {"number": number},
        )
        for number in range(start, start + count)
    ]


@cache
def shipped_encoder() -> OnnxEncoder:
    """One for all tests of a process: to load it takes a second."""
    return OnnxEncoder()


def open_offline(path: Path, *, mode: Mode = "a") -> Index:
    """An index that costs nothing to fill."""
    return Index(path, model="offline", encoder=shipped_encoder(), mode=mode)


def contents_of(snapshot: Snapshot) -> dict[str, list[Any]]:
    """Every record that is alive, by kind, sorted: the order in the file does not matter."""
    found: dict[str, list[Any]] = {kind: [] for kind in ("document", *KINDS)}
    for segment in snapshot.segments:
        rows = {name: _alive(segment.alive(name), segment.count(name)) for name in _NAMES.values()}
        for row in rows["documents"]:
            document = restore(read_document(segment, row))
            metadata = json.dumps(dict(document.metadata), sort_keys=True)
            found["document"].append((document.id, document.title, document.text, metadata))
        for kind, name in _NAMES.items():
            if kind != "document":
                found[kind] += [repr(getattr(segment, kind)(row)) for row in rows[name]]
    return {kind: sorted(values) for kind, values in found.items()}


_NAMES: Mapping[str, str] = {
    "document": "documents",
    "passage": "passages",
    "fact": "facts",
    "triple": "triples",
    "bridge": "bridges",
}


def _alive(mask: Any, count: int) -> list[int]:  # noqa: ANN401
    return list(range(count)) if mask is None else [int(row) for row in np.flatnonzero(mask)]


def answers_of(snapshot: Snapshot) -> list[Any]:
    """What three fixed queries find, of each kind alone and of all, and what BM25 gives, with the scores."""
    dimensions = int(snapshot.header["encoder"]["dimensions"])
    queries = np.random.default_rng(7).normal(size=(3, dimensions)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    groups = [[kind] for kind in KINDS] + [list(KINDS)]
    words = score_passages(
        [segment.postings for segment in snapshot.segments],
        [segment.alive("passages") for segment in snapshot.segments],
        "Which harbour book did Ada Brell of Karsund write?",
    )
    lexical = sorted(
        (segment.passage(row).id, round(float(score), 4))
        for segment, scores in zip(snapshot.segments, words, strict=True)
        for row, score in enumerate(scores)
        if score
    )
    answers: list[Any] = [lexical]
    for query in queries:
        for kinds in groups:
            hits = [to_hit(snapshot, row) for row in nearest(snapshot, query, k=1_000, kinds=kinds)]
            answers.append(sorted((hit.kind, hit.id, hit.text, round(hit.score, 4)) for hit in hits))
    return answers


def inflated(data: bytes) -> bytes:
    """The bytes of a file, and behind them all that lies compressed anywhere in it."""
    parts, place = [data], data.find(_ZLIB)
    while place >= 0:
        with suppress(zlib.error):
            parts.append(zlib.decompressobj().decompress(data[place:]))
        place = data.find(_ZLIB, place + 1)
    return b"".join(parts)


def vectors_of(snapshot: Snapshot) -> list[bytes]:
    """All vectors that are alive, sorted."""
    parts = [read_alive(segment, normalise_name) for segment in snapshot.segments]
    kinds = ("passage_vectors", "fact_vectors", "triple_vectors", "bridge_vectors")
    return sorted(row.tobytes() for part in parts for kind in kinds for row in getattr(part, kind))
