"""networkx reads the graph that an index exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chained import build
from tests.extras import need
from tests.stored import open_offline

pytestmark = pytest.mark.extra
networkx = need("networkx")


def test_a_path_leads_from_the_question_to_the_answer(tmp_path: Path) -> None:
    with open_offline(build(tmp_path / "notes.usearch"), mode="r") as index:
        index.export(tmp_path / "notes.graphml", progress=False)
        info = index.info()

    graph = networkx.read_graphml(tmp_path / "notes.graphml")

    kinds = [kind for _, kind in graph.nodes(data="kind")]
    assert graph.is_directed()
    assert [kinds.count(kind) for kind in ("document", "passage", "fact", "bridge")] == [
        info.documents,
        info.passages,
        info.facts,
        info.bridges,
    ]
    assert [kind for *_, kind in graph.edges(data="kind")].count("relation") == info.triples
    path = networkx.shortest_path(graph.to_undirected(), "document:tide", "document:kessmarsh")
    assert len([node for node in path if node.startswith(("entity:", "bridge:"))]) >= 2
