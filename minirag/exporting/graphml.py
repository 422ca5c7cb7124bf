"""GraphML, for networkx, Gephi and their like.

Nodes have a `kind` (document, passage, fact, entity or bridge), a `label` and a `text`. Edges, all directed, have a
`kind` too:

    holds       document → passage
    states      passage → fact
    names       fact → entity
    relation    entity → entity, for a triple: its `label` is the relation, its `passage` the one that says so
    about       bridge → entity
    joins       bridge → passage
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from minirag.naming.names import normalise_name
from minirag.storage.merging import read_document, restore_text, rows_alive
from minirag.storage.segment import passage_id
from minirag.wording import snippet

if TYPE_CHECKING:
    from minirag.records import Bridge
    from minirag.storage.segment import StoredDocument
    from minirag.storage.snapshot import Snapshot

NODE_FIELDS = ("kind", "label", "text", "metadata")
EDGE_FIELDS = ("kind", "label", "passage")
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def graphml_lines(snapshot: Snapshot, *, progress: Callable[[int], None]) -> Iterator[bytes]:
    """The whole file, some lines at a time; of what was written it remembers the names of entities only."""
    graph = _Graph()
    yield _head().encode()
    for segment in snapshot.segments:
        for row in rows_alive(segment, "documents"):
            yield "".join(graph.document(read_document(segment, row))).encode()
            progress(1)
    for segment in snapshot.segments:
        for row in rows_alive(segment, "bridges"):
            yield "".join(graph.bridge(segment.bridge(row))).encode()
            progress(1)
    yield b"</graph>\n</graphml>\n"


class _Graph:
    def __init__(self) -> None:
        self._entities: dict[str, int] = {}
        self._edges = 0

    def document(self, stored: StoredDocument) -> Iterator[str]:
        metadata = json.dumps(dict(stored.metadata), ensure_ascii=False) if stored.metadata else ""
        own = f"document:{stored.id}"
        yield _node(own, kind="document", label=stored.title or stored.id, text=restore_text(stored), metadata=metadata)
        for place, passage in enumerate(stored.passages):
            identity = passage_id(stored.id, place, passage.text)
            node = f"passage:{identity}"
            yield _node(node, kind="passage", label=identity, text=passage.text)
            yield self._edge(own, node, kind="holds")
            if passage.extraction is None:
                continue
            for number, fact in enumerate(passage.extraction.facts):
                yield from self._fact(node, f"{identity}/f{number}", fact.text, fact.entities)
            for head, relation, tail in passage.extraction.triples:
                subject = yield from self._entity(head)
                object_ = yield from self._entity(tail)
                yield self._edge(subject, object_, kind="relation", label=relation, passage=identity)

    def bridge(self, bridge: Bridge) -> Iterator[str]:
        own = f"bridge:{bridge.id}"
        yield _node(own, kind="bridge", label=snippet(bridge.text, about=()), text=bridge.text)
        entity = yield from self._entity(bridge.entity)
        yield self._edge(own, entity, kind="about")
        for passage in bridge.passage_ids:
            yield self._edge(own, f"passage:{passage}", kind="joins")

    def _fact(self, passage: str, identity: str, text: str, entities: tuple[str, ...]) -> Iterator[str]:
        own = f"fact:{identity}"
        yield _node(own, kind="fact", label=snippet(text, about=()), text=text)
        yield self._edge(passage, own, kind="states")
        for name in dict.fromkeys(entities):
            entity = yield from self._entity(name)
            yield self._edge(own, entity, kind="names")

    def _entity(self, name: str) -> Generator[str, None, str]:
        """The id of its node, which is written when it is first met."""
        key = normalise_name(name) or name
        if key not in self._entities:
            self._entities[key] = len(self._entities)
            yield _node(f"entity:{self._entities[key]}", kind="entity", label=name, text="")
        return f"entity:{self._entities[key]}"

    def _edge(self, one: str, other: str, **fields: str) -> str:
        self._edges += 1
        ends = f"source={_quoted(one)} target={_quoted(other)}"
        return f'<edge id="e{self._edges}" {ends}>{_data("edge", fields)}</edge>\n'


def _head() -> str:
    keys = [
        f'<key id="{of}-{name}" for="{of}" attr.name="{name}" attr.type="string"/>\n'
        for of, names in (("node", NODE_FIELDS), ("edge", EDGE_FIELDS))
        for name in names
    ]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        + "".join(keys)
        + '<graph edgedefault="directed">\n'
    )


def _node(identity: str, **fields: str) -> str:
    return f"<node id={_quoted(identity)}>{_data('node', fields)}</node>\n"


def _data(of: str, fields: dict[str, str]) -> str:
    return "".join(f'<data key="{of}-{name}">{escape(_clean(text))}</data>' for name, text in fields.items() if text)


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
