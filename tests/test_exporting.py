"""An index into JSON Lines and GraphML, and what their lines hold."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from minirag import Document, Index, import_index
from minirag.errors import OutputError
from tests.chained import build_with_strays
from tests.stored import contents_of, open_offline, vectors_of

AYLWIN = Document("aylwin", "Aylwin is a film.\n\n It was directed by Henry Edwards. ", "Aylwin (film)", {"year": 1920})
HENRY = Document("henry", "Henry Edwards was an actor.", "Henry Edwards")
NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"


def exported(index: Index, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    file = BytesIO()
    index.export(file, progress=False, **options)
    content = file.getvalue()
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.decode().splitlines()]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    with open_offline(tmp_path_factory.mktemp("exported") / "notes.usearch") as index:
        index.add([AYLWIN, HENRY], progress=False)
    return open_offline(index.path, mode="r")


def test_lines_are_as_documented(index: Index) -> None:
    head, aylwin, henry, bridge, end = exported(index, vectors=False)

    assert head.pop("header") == {
        name: value for name, value in index.snapshot.header.items() if name != "failed_passages"
    }
    counts = {"documents": 2, "passages": 2, "facts": 3, "triples": len(aylwin["passages"][0]["triples"]), "bridges": 1}
    counts["triples"] += len(henry["passages"][0]["triples"])
    assert head == {"type": "index", "format": 1, "vectors": False, "counts": counts}
    [passage] = aylwin.pop("passages")
    assert aylwin == {
        "type": "document",
        "id": "aylwin",
        "title": "Aylwin (film)",
        "metadata": {"year": 1920},
        "text": AYLWIN.text,
    }
    assert AYLWIN.text[passage["start"] : passage["end"]] == AYLWIN.text.strip()
    assert index.passage(passage["id"]).text == AYLWIN.text.strip()
    assert [fact["text"] for fact in passage["facts"]] == [
        "Aylwin is a film.",
        "Aylwin was directed by Henry Edwards.",
    ]
    assert "Henry Edwards" in passage["facts"][1]["entities"]
    assert {"head": "Aylwin", "relation": "was directed by", "tail": "Henry Edwards"} in passage["triples"]
    assert bridge["entity"] == "Henry Edwards"
    assert bridge["passage_ids"] == [passage["id"], henry["passages"][0]["id"]]
    assert end == {"type": "end", "pending": []}


def test_vectors_are_those_of_the_file(index: Index) -> None:
    _, aylwin, henry, bridge, _ = exported(index)

    encoded = [aylwin["vectors"][kind] for kind in ("passages", "facts", "triples")]
    encoded += [henry["vectors"][kind] for kind in ("passages", "facts", "triples")] + [bridge["vector"]]
    rows = [np.frombuffer(b64decode(each), np.int8).reshape(-1, 384) for each in encoded]
    assert sorted(row.tobytes() for each in rows for row in each) == vectors_of(index.snapshot)


def test_what_was_deleted_is_not_in_it(tmp_path: Path) -> None:
    with open_offline(build_with_strays(tmp_path / "notes.usearch"), mode="r") as index:
        lines = exported(index)
        contents = contents_of(index.snapshot)

    assert "stray" not in json.dumps(lines)
    assert Counter(line["type"] for line in lines) == {
        "index": 1,
        "document": len(contents["document"]),
        "bridge": len(contents["bridge"]),
        "end": 1,
    }


def test_characters_that_no_utf8_holds_are_escaped(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add(Document("é\u2028", "Ünder the sea 鯨.\u2028Next.", metadata={"k": "\u0085"}), progress=False)
        file = BytesIO()
        index.export(file, progress=False)
    lines = file.getvalue().split(b"\n")

    assert len(lines) == 4
    assert "鯨" in lines[1].decode()
    assert json.loads(lines[1])["id"] == "é\u2028"


def test_an_empty_index(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        assert [line["type"] for line in exported(index)] == ["index", "end"]
        file = BytesIO()
        index.export(file, format="graphml", progress=False)
    assert len(list(ElementTree.fromstring(file.getvalue()).iter(f"{NAMESPACE}node"))) == 0


def test_the_suffix_says_what_is_written(index: Index, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    index.export(tmp_path / "notes.GraphML", progress=lambda *step: told.append(step))
    for name in ("notes.ndjson", "notes"):
        index.export(str(tmp_path / name), progress=False)
        assert (tmp_path / name).read_bytes().startswith(b'{"type":"index"')
    index.export(tmp_path / "notes.txt", format="jsonl", progress=False)

    assert (tmp_path / "notes.GraphML").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "notes.txt").read_bytes() == (tmp_path / "notes").read_bytes()
    assert told == [("exporting", step, 3) for step in (1, 2, 3)]


def test_wrong_arguments(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format must be 'jsonl' or 'graphml', not 'csv'"):
        index.export(tmp_path / "notes", format="csv")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(OutputError, match="could not be written: No such file or directory"):
        index.export(tmp_path / "no" / "notes.jsonl")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"ends in '\.csv'\. Name it \.jsonl or \.ndjson or \.graphml, or give the format"
    ):
        index.export(tmp_path / "notes.csv")
    assert (tmp_path / "notes.csv").read_text(encoding="utf-8") == "mine"


def test_through_a_filter_nothing_is_told_of_the_rest(tmp_path: Path) -> None:
    ours = Document("ours", "Ada Brell wrote a book in Karsund.", "A book", {"tenant": 1})
    theirs = Document("theirs", "Ada Brell has a zebrafish.", "Zebrafish", {"tenant": 2})
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([ours, theirs], progress=False)
        view = index.filtered({"tenant": 1})
        written = []
        for options in ({"format": "jsonl"}, {"format": "graphml"}):
            file = BytesIO()
            view.export(file, progress=False, **options)  # type: ignore[arg-type]  # the two formats
            written.append(file.getvalue())
        page = BytesIO()
        view.draw(page, progress=False)

    assert [text for text in (*written, page.getvalue()) if b"ebrafish" in text or b"theirs" in text] == []
    assert all(b"Karsund" in text for text in (*written, page.getvalue()))
    assert set(json.loads(written[0].splitlines()[0])["header"]) == {"encoder", "aligner", "settings", "model"}
    report = import_index(BytesIO(written[0]), tmp_path / "ours.usearch", progress=False)
    assert (report.documents, report.bridges) == (1, 0)


# --- GraphML -------------------------------------------------------------------------------------------------------


class Graph:
    """What is in a GraphML file, by a plain XML parser."""

    def __init__(self, content: bytes) -> None:
        root = ElementTree.fromstring(content)
        self.nodes = {node.attrib["id"]: self._fields(node) for node in root.iter(f"{NAMESPACE}node")}
        self.edges = [
            (edge.attrib["source"], edge.attrib["target"], self._fields(edge)) for edge in root.iter(f"{NAMESPACE}edge")
        ]
        declared = {key.attrib["id"] for key in root.iter(f"{NAMESPACE}key")}
        assert {data.attrib["key"] for data in root.iter(f"{NAMESPACE}data")} <= declared
        assert {end for source, target, _ in self.edges for end in (source, target)} <= self.nodes.keys()

    @staticmethod
    def _fields(element: ElementTree.Element) -> dict[str, str]:
        return {data.attrib["key"].partition("-")[2]: data.text or "" for data in element}


def graph_of(index: Index) -> Graph:
    file = BytesIO()
    index.export(file, format="graphml", progress=False)
    return Graph(file.getvalue())


def test_graphml_joins_all_records(index: Index) -> None:
    graph = graph_of(index)

    kinds = Counter(node["kind"] for node in graph.nodes.values())
    info = index.info()
    assert (kinds["document"], kinds["passage"], kinds["fact"], kinds["bridge"]) == (2, 2, info.facts, info.bridges)
    assert graph.nodes["document:aylwin"] == {
        "kind": "document",
        "label": "Aylwin (film)",
        "text": AYLWIN.text,
        "metadata": '{"year": 1920}',
    }
    [bridge] = [name for name in graph.nodes if name.startswith("bridge:")]
    assert sorted(
        (fields["kind"], graph.nodes[end]["label"].partition("#")[0])
        for one, end, fields in graph.edges
        if one == bridge
    ) == [
        ("about", "Henry Edwards"),
        ("joins", "aylwin"),
        ("joins", "henry"),
    ]
    relations = [
        (graph.nodes[one]["label"], fields["label"], graph.nodes[other]["label"], fields["passage"].partition("#")[0])
        for one, other, fields in graph.edges
        if fields["kind"] == "relation"
    ]
    assert len(relations) == info.triples
    assert ("Aylwin", "was directed by", "Henry Edwards", "aylwin") in relations
    assert Counter(fields["kind"] for _, _, fields in graph.edges)["states"] == info.facts


def test_graphml_takes_any_text(tmp_path: Path) -> None:
    evil = "a<b & \"c\" 'd' ]]> \x00\x0b\ufffe\nnext"
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([Document(evil, f"{evil} Ada Brell spoke.", evil, {"k": evil})], progress=False)
        graph = graph_of(index)

    clean = evil.replace("\x00", "\ufffd").replace("\x0b", "\ufffd").replace("\ufffe", "\ufffd")
    assert graph.nodes[f"document:{clean}"]["label"] == clean
    assert json.loads(graph.nodes[f"document:{clean}"]["metadata"])["k"] != ""
