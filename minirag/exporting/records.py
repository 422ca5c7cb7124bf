"""JSON Lines: every record, with its sources and vectors. `minirag.exporting` says what is in them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from minirag.naming.names import normalise_name
from minirag.records.places import places_to_json
from minirag.storage.merging import read_document, read_vectors, restore_text, rows_alive
from minirag.storage.segment import passage_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.storage.segment import Segment, StoredPassage
    from minirag.storage.snapshot import Snapshot

FORMAT = 1
COUNTED = ("documents", "passages", "facts", "triples", "bridges")
_DERIVED = ("failed_passages",)  # of the header: passages say it themselves
_SHARED = ("encoder", "aligner", "settings", "model")  # of the header: tells nothing of documents


def record_lines(snapshot: Snapshot, *, vectors: bool, progress: Callable[[int], None]) -> Iterator[bytes]:
    """All lines of an export, each with its line break, in the order of the index file.

    Through a filter, nothing is told of what it hides: no failures, no account of what building took.
    """
    filtered = any(segment.is_filtered for segment in snapshot.segments)
    hidden = {*_DERIVED, *(name for name in snapshot.header if filtered and name not in _SHARED)}
    yield _line(
        {
            "type": "index",
            "format": FORMAT,
            "vectors": vectors,
            "counts": {name: snapshot.count(name) for name in COUNTED},
            "header": {name: value for name, value in snapshot.header.items() if name not in hidden},
        }
    )
    for segment in snapshot.segments:
        for row in rows_alive(segment, "documents"):
            yield _line(_document(segment, row, vectors=vectors))
            progress(1)
    for segment in snapshot.segments:
        for row in rows_alive(segment, "bridges"):
            yield _line(_bridge(segment, row, vectors=vectors))
            progress(1)
    pending = [] if filtered else snapshot.pending.tolist()
    yield _line({"type": "end", "pending": [f"{key:016x}" for key in pending]})


def _document(segment: Segment, row: int, *, vectors: bool) -> dict[str, Any]:
    stored = read_document(segment, row)
    record: dict[str, Any] = {
        "type": "document",
        "id": stored.id,
        "title": stored.title,
        "metadata": stored.metadata,
        "text": restore_text(stored),
        "passages": [_passage(stored.id, place, passage) for place, passage in enumerate(stored.passages)],
    }
    if stored.places or stored.source:
        record |= {"places": places_to_json(stored.places), "source": stored.source}
    if vectors:
        data = read_vectors(segment, row, stored, normalise_name)
        record["vectors"] = {
            "passages": _encoded(data.passage_vectors),
            "facts": _encoded(data.fact_vectors),
            "triples": _encoded(data.triple_vectors),
        }
    return record


def _passage(document_id: str, place: int, passage: StoredPassage) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": passage_id(document_id, place, passage.text),
        "start": passage.start,
        "end": passage.start + len(passage.text),
        "key": passage.key,
    }
    if passage.extraction is None:
        return {**record, "failure": passage.failure}
    return {
        **record,
        "facts": [{"text": fact.text, "entities": fact.entities} for fact in passage.extraction.facts],
        "triples": [dict(zip(("head", "relation", "tail"), each, strict=True)) for each in passage.extraction.triples],
    }


def _bridge(segment: Segment, row: int, *, vectors: bool) -> dict[str, Any]:
    bridge = segment.bridge(row)
    record: dict[str, Any] = {
        "type": "bridge",
        "id": bridge.id,
        "entity": bridge.entity,
        "text": bridge.text,
        "passage_ids": bridge.passage_ids,
    }
    if vectors:
        record["vector"] = _encoded(segment.unit_vectors[segment.count("facts") + row])
    return record


def _encoded(vectors: NDArray[Any]) -> str:
    return b64encode(vectors.tobytes()).decode()


def _line(record: dict[str, Any]) -> bytes:
    """Lone surrogates, which no UTF-8 can hold, stand as escapes; all other characters as they are."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"
