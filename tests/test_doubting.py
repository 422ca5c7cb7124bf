"""What code tells against answers, by questions to a model that misbehaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.doubting import CITES_NOTHING
from tests.loopback import Loopback, Request, honest

HENRY = Document("henry", "Henry Edwards was an actor. He was born in Weston in 1882.", "Henry Edwards")


@pytest.mark.parametrize(
    ("reply", "doubts", "cited"),
    [
        ({"found": True, "answer": "1882", "items": [1]}, (), 1),
        ({"found": True, "answer": "in 1999", "items": [1]}, ("1999 stands in nothing that it cites",), 1),
        ({"found": True, "answer": "not in 1920", "items": [1]}, (), 1),
        ({"found": True, "answer": "1882", "items": [77]}, (CITES_NOTHING,), 0),
        ({"found": True, "answer": "1882", "items": []}, (CITES_NOTHING,), 0),
        ({"found": False, "answer": "Nothing about 1999.", "items": []}, (), 0),
    ],
)
def test_doubts(tmp_path: Path, reply: dict[str, Any], doubts: tuple[str, ...], cited: int) -> None:
    def serve(request: Request) -> Any:  # noqa: ANN401
        return reply if json.loads(request.prompt.split("\n", 1)[0])["task"] == "read" else honest(request)

    with (
        Loopback(serve) as server,
        Index(tmp_path / "a.usearch", model="openai/any", api_base=server.api_base, api_key="k") as index,
    ):
        index.add([HENRY], progress=False)
        answer = ask("Was he born in 1920?", index)
    assert len(answer.doubts) == len(doubts)
    assert all(found.startswith(doubt) for found, doubt in zip(answer.doubts, doubts, strict=True))
    assert len(answer.citations) == cited
    assert answer.to_dict()["doubts"] == list(answer.doubts) or answer.to_dict()["doubts"] == answer.doubts


def test_facts_and_bridging_facts_with_foreign_numbers_are_refused(tmp_path: Path) -> None:
    def serve(request: Request) -> Any:  # noqa: ANN401
        data = json.loads(request.prompt.split("\n", 1)[0])
        if data["task"] == "extract":
            facts = [
                {"text": f"{data['title']} was there in {year}.", "entities": ["Henry Edwards"]}
                for year in (1882, 1999)
            ]
            triples = [{"head": "Henry Edwards", "relation": "in", "tail": str(year)} for year in (1882, 1999)]
            return {"nothing_to_extract": False, "facts": facts, "triples": triples}
        bridges = [{"text": f"Henry Edwards, {year}.", "sources": [1, 2]} for year in (1882, 1999)]
        return {"entities": [{"entity": 1, "facts": bridges}]}

    other = Document("aylwin", "Aylwin was made by Henry Edwards, born in 1882.", "Aylwin")
    with (
        Loopback(serve) as server,
        Index(tmp_path / "a.usearch", model="openai/any", api_base=server.api_base, api_key="k") as index,
    ):
        index.add([HENRY, other], progress=False)
        texts = {hit.text for hit in index.search("Henry Edwards", k=20, kinds=("fact", "bridge", "triple"))}
    assert texts == {
        "Henry Edwards was there in 1882.",
        "Aylwin was there in 1882.",
        "Henry Edwards, 1882.",
        "Henry Edwards in 1882",
    }
