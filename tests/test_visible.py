"""Bridging facts and tenants: what a model wrote while it saw two of them, and how to keep them apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, Settings
from tests.loopback import Entry, Loopback, Request, Served, honest
from tests.stored import contents_of, open_offline, shipped_encoder

OURS = (
    Document("a1", "Aylwin was directed by Henry Edwards.", "Aylwin", {"tenant": {"name": "a"}}),
    Document("a2", "Henry Edwards was an English actor.", "Henry Edwards", {"tenant": {"name": "a"}}),
)
THEIRS = (
    Document("b1", "Henry Edwards hid the silver in Karsund.", "The silver", {"tenant": {"name": "b"}}),
    Document("b2", "Henry Edwards owes Otto Vane a fortune.", "A debt", {"tenant": {"name": "b"}}),
)
APART = Settings(bridge_within="tenant.name")
WHERE = {"tenant.name": "a"}


def indiscreet(request: Request) -> Entry:
    """Tells in each bridging fact all that its prompt holds, and says that only the first two facts are behind it."""
    data = json.loads(request.prompt.split("\n", 1)[0])
    if data["task"] != "bridge":
        return honest(request)
    told = " ".join(fact["text"] for entity in data["entities"] for fact in entity["facts"])
    replies = [{"entity": e["n"], "facts": [{"text": told, "sources": [1, 2]}]} for e in data["entities"]]
    return Served(text=json.dumps({"entities": replies}))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(indiscreet) as server:
        yield server


def open_index(path: Path, server: Loopback, settings: Settings | None = None) -> Index:
    encoder = shipped_encoder()
    return Index(path, model="openai/m", api_base=server.api_base, api_key="k", encoder=encoder, settings=settings)


def bridges(index: Index, where: dict[str, Any] | None = None) -> list[str]:
    return sorted(hit.text for hit in index.search("Henry Edwards", k=100, kinds="bridge", where=where))


def prompts(server: Loopback, task: str) -> list[str]:
    return [request.prompt for request in server.requests if f'"task": "{task}"' in request.prompt]


def move(document: Document, tenant: str) -> Document:
    return Document(document.id, document.text, document.title, {"tenant": {"name": tenant}})


def test_what_a_model_wrote_with_others_in_sight_is_hidden(tmp_path: Path, server: Loopback) -> None:
    with open_index(tmp_path / "notes.usearch", server) as index:
        index.add([*OURS, *THEIRS], progress=False)
        (told,) = bridges(index)
        (hit,) = index.search("Henry Edwards", kinds="bridge")
        assert hit.document_ids == ("a1", "a2")
        assert "silver" in told
        assert bridges(index, WHERE) == []
        assert bridges(index, {"tenant.name": {"$in": ["a", "b"]}}) == [told]
        index.delete([document.id for document in THEIRS], progress=False)
        assert len(bridges(index, WHERE)) == 1


def test_groups_are_bridged_apart(tmp_path: Path, server: Loopback) -> None:
    with open_index(tmp_path / "notes.usearch", server, APART) as index:
        index.add([*OURS, *THEIRS], progress=False)
        ours, theirs = bridges(index, WHERE), bridges(index, {"tenant.name": "b"})
        assert len(ours) == len(theirs) == 1
        assert "silver" not in ours[0]
        assert "Aylwin" not in theirs[0]
        assert bridges(index) == sorted([*ours, *theirs])
        assert not any("Aylwin" in prompt and "silver" in prompt for prompt in prompts(server, "bridge"))
        with open_index(tmp_path / "ours.usearch", server, APART) as alone:
            alone.add(OURS, progress=False)
            assert contents_of(index.filtered(WHERE).snapshot) == contents_of(alone.snapshot)


def test_a_document_that_moves_is_bridged_with_its_new_group(tmp_path: Path, server: Loopback) -> None:
    with open_index(tmp_path / "notes.usearch", server, APART) as index:
        index.add([*OURS, *THEIRS], progress=False)
        server.requests.clear()
        report = index.add(move(OURS[1], "b"), progress=False)
        assert report.updated == ("a2",)
        assert prompts(server, "extract") == []
        assert bridges(index, WHERE) == []
        assert "English actor" in bridges(index, {"tenant.name": "b"})[0]
        with open_index(tmp_path / "other.usearch", server, APART) as other:
            other.add([OURS[0], move(OURS[1], "b"), *THEIRS], progress=False)
            assert contents_of(index.snapshot) == contents_of(other.snapshot)


def test_documents_without_the_key_are_one_group(tmp_path: Path) -> None:
    with Index(tmp_path / "n.usearch", model="offline", encoder=shipped_encoder(), settings=APART) as index:
        index.add([Document(d.id, d.text, d.title) for d in OURS], progress=False)
        assert index.search("Henry Edwards", kinds="bridge", where={"tenant": {"$exists": False}})[0].metadata == {}
        index.add(OURS[0], progress=False)
        assert bridges(index) == []


# --- new metadata ----------------------------------------------------------------------------------------------------


def test_new_metadata_ask_nobody(tmp_path: Path, server: Loopback) -> None:
    path = tmp_path / "notes.usearch"
    with open_index(path, server) as index:
        index.add([*OURS, *THEIRS], progress=False)
        units, usage = contents_of(index.snapshot), index.info().usage
        server.requests.clear()
        report = index.add([move(OURS[0], "c"), *THEIRS], progress=False)
        assert (report.updated, report.unchanged, report.usage.calls) == (("a1",), ("b1", "b2"), 0)
    assert server.requests == []
    with open_offline(path) as index:  # nor does another model
        index.add(move(OURS[1], "c"), progress=False)
        assert index.filtered({"tenant.name": "c"}).document_ids() == ["a1", "a2"]
        found = contents_of(index.snapshot)
        assert {kind: units[kind] for kind in units if kind != "document"} == {
            kind: found[kind] for kind in found if kind != "document"
        }
        assert [json.loads(document[3])["tenant"]["name"] for document in found["document"]] == ["c", "c", "b", "b"]
        assert index.info().model == "openai/m"
        assert index.info().usage.calls == usage.calls
        assert index.search("Aylwin", k=1)[0].metadata == {"tenant": {"name": "c"}}
        index.compact()
        assert contents_of(index.snapshot) == found
    assert Index.verify(path).whole


def test_what_failed_is_tried_again_with_new_metadata(tmp_path: Path) -> None:
    def refusing(request: Request) -> Entry:
        return Served(text="no") if "Aylwin" in request.prompt else honest(request)

    path = tmp_path / "notes.usearch"
    with Loopback(refusing) as server, open_index(path, server) as index:
        assert len(index.add(OURS, progress=False).failed) == 1
    with Loopback(honest) as server, open_index(path, server) as index:
        report = index.add(move(OURS[0], "c"), progress=False)
        assert (report.updated, report.failed) == (("a1",), ())
        assert len(prompts(server, "extract")) == 1


def test_another_title_is_another_document(tmp_path: Path, server: Loopback) -> None:
    with open_index(tmp_path / "notes.usearch", server) as index:
        index.add(OURS, progress=False)
        server.requests.clear()
        index.add(Document("a1", OURS[0].text, "Aylwin (film)", OURS[0].metadata), progress=False)
        assert len(prompts(server, "extract")) == 1


def test_what_was_read_of_the_metadata_serves_the_next_commit(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([*OURS, THEIRS[0]], progress=False)
        assert index.filtered(WHERE).document_ids() == ["a1", "a2"]
        base = index.snapshot.segments[0]
        index.add(THEIRS[1], progress=False)
        assert index.snapshot.segments[0] is not base
        assert index.snapshot.segments[0].metadata is base.metadata
        assert index.filtered({"tenant.name": "b"}).document_ids() == ["b1", "b2"]
