"""The picture of an index: its documents, the names that they share and the bridging facts, as one page to look around
in.
"""  # noqa: D205

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minirag.naming.names import normalise_name
from minirag.pages import Markup, build_page
from minirag.pages.building import read_part
from minirag.storage.merging import read_document, restore_text, rows_alive
from minirag.wording import one_line

if TYPE_CHECKING:
    from minirag.records import Bridge
    from minirag.storage.snapshot import Snapshot

MOST_TEXT = 20_000  # characters of one document
SCRIPTS = ("graph_model.js", "graph_layout.js", "graph_view.js", "graph_panel.js", "graph.js")


@dataclass(slots=True)
class Picture:
    """What a page shows, as JSON values; the three lists refer to each other by place.

    Attributes:
        documents: [id, title, text, whether the text is cut].
        entities: Names that several documents share.
        bridges: [entity, text, [document, …]].
        left_out: How many more the index has.
    """

    documents: list[list[Any]] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    bridges: list[list[Any]] = field(default_factory=list)
    left_out: int = 0


def draw(snapshot: Snapshot, *, most_nodes: int, progress: Callable[[int], None]) -> str:
    """A whole page; see `look_at` for the arguments."""
    picture = look_at(snapshot, most_nodes=most_nodes, progress=progress)
    name = one_line(snapshot.path.name)
    data = {
        "name": name,
        "documents": picture.documents,
        "entities": picture.entities,
        "bridges": picture.bridges,
        "left_out": picture.left_out,
    }
    body = Markup(read_part("graph.html"))
    return build_page(title=name, body=body, styles=("graph.css",), scripts=SCRIPTS, data=data)


def look_at(snapshot: Snapshot, *, most_nodes: int, progress: Callable[[int], None]) -> Picture:
    """Gather documents, shared names and bridging facts.

    Args:
        snapshot: Of the index.
        most_nodes: How many of all three at most: names with the most bridging facts come first, with all that they
            join, then other documents in the order of the file.
        progress: Told how many documents and bridging facts were looked at.

    Returns:
        In an order that depends on the index alone.
    """
    picture = Picture()
    places: dict[str, int] = {}
    wanted = _most_bridged(snapshot, most_nodes)
    entities: dict[str, int] = {}
    for bridge in _bridges(snapshot):
        progress(1)
        key = normalise_name(bridge.entity)
        sources = list(dict.fromkeys(passage.rpartition("#")[0] for passage in bridge.passage_ids))
        fresh = [source for source in sources if source not in places]
        nodes = len(places) + len(entities) + len(picture.bridges)
        if key not in wanted or nodes + len(fresh) + 2 > most_nodes:
            picture.left_out += 1
            continue
        if key not in entities:
            entities[key] = len(entities)
            picture.entities.append(bridge.entity)
        for source in fresh:
            places[source] = len(places)
        picture.bridges.append([entities[key], bridge.text, [places[source] for source in sources]])
    _fill_documents(snapshot, picture, places, most_nodes - len(entities) - len(picture.bridges), progress)
    return picture


def _most_bridged(snapshot: Snapshot, most_nodes: int) -> set[str]:
    """The names with the most bridging facts, as many as have room with their facts and a document for each fact."""
    counts = Counter(normalise_name(bridge.entity) for bridge in _bridges(snapshot))
    if counts.total() + len(counts) + snapshot.count("documents") <= most_nodes:
        return set(counts)
    wanted: set[str] = set()
    room = most_nodes
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        room -= 1 + 2 * count
        if room < 0:
            break
        wanted.add(name)
    return wanted


def _fill_documents(
    snapshot: Snapshot, picture: Picture, places: dict[str, int], room: int, progress: Callable[[int], None]
) -> None:
    """The documents that have a place, then others while there is room."""
    joined = len(places)
    rows: list[list[Any] | None] = [None] * joined
    for segment in snapshot.segments:
        for row in rows_alive(segment, "documents"):
            progress(1)
            document_id, title = segment.head(row)
            if document_id not in places and len(rows) >= room:
                picture.left_out += 1
                continue
            stored = read_document(segment, row)
            text = restore_text(stored).strip()
            shown = [document_id, title, text[:MOST_TEXT], len(text) > MOST_TEXT]
            if document_id in places:
                rows[places[document_id]] = shown
            else:
                rows.append(shown)
    picture.documents = [row for row in rows if row is not None]


def _bridges(snapshot: Snapshot) -> Iterator[Bridge]:
    for segment in snapshot.segments:
        for row in rows_alive(segment, "bridges"):
            yield segment.bridge(row)
