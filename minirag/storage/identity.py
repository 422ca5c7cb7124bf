"""What an index holds, as one number: the same whatever the commits by which it came there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minirag.records.places import places_to_json
from minirag.storage.merging import read_document, rows_alive

if TYPE_CHECKING:
    from minirag.records import Extraction
    from minirag.storage.segment import Segment, StoredDocument
    from minirag.storage.snapshot import Snapshot


def digest_of(snapshot: Snapshot) -> str:
    """16 hex digits of all documents, of what was extracted from them, and of the bridging facts that are alive.

    Compacting, trying in vain again what failed, and what building took change nothing of it; nor does the encoder,
    which has a fingerprint of its own. Everything is read, once: a second or two for 7,000 passages.
    """
    found = sorted(row for segment in snapshot.segments for row in _rows(segment))
    digest = hashlib.sha256()
    for row in found:
        digest.update(row)
    return digest.hexdigest()[:16]


def _rows(segment: Segment) -> Iterator[bytes]:
    for row in rows_alive(segment, "documents"):
        yield _hash(_content(read_document(segment, row)))
    for row in rows_alive(segment, "bridges"):
        bridge = segment.bridge(row)
        yield _hash([bridge.entity, bridge.text, bridge.passage_ids])


def _content(document: StoredDocument) -> list[Any]:
    """What answers may rest on: not why a passage failed, nor under which key a reply is known."""
    passages = [[each.text, each.start, _extracted(each.extraction)] for each in document.passages]
    return [document.id, document.title, document.metadata, places_to_json(document.places), passages]


def _extracted(extraction: Extraction | None) -> list[Any] | None:
    if extraction is None:
        return None
    return [[[fact.text, fact.entities] for fact in extraction.facts], extraction.triples]


def _hash(value: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
