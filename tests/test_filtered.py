"""Searching and asking through a filter: as if the index held nothing else."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minirag import Document, Index, Settings, ask
from minirag.answering import aask, aretrieve, retrieve
from minirag.reading import OpenIndex
from minirag.records import KINDS, Evidence, Hit
from minirag.strategies import STRATEGIES
from tests.loopback import Entry, Loopback, Request, Served, honest
from tests.remembering import RememberingEncoder
from tests.stored import PEOPLE, PLACES, answers_of, contents_of, open_offline, shipped_encoder

QUESTION = "Where was the director of the film Aylwin born?"
AYLWIN = Document(
    "aylwin",
    "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.",
    "Aylwin (film)",
    {"tenant": "a", "year": 1920, "tags": ["film", "silent"], "source": {"page": 3}},
)
ACTOR = Document(
    "actor", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards", {"tenant": "b"}
)
PAINTER = Document(
    "painter",
    "Henry Edwards painted. He was born in Karsund.",
    "Henry Edwards (painter)",
    {"tenant": "a", "year": 1850},
)
ANYBODY = Document("anybody", "Aylwin is a novel of 1898 by Theodore Watts-Dunton.", "Aylwin")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("filtered") / "notes.usearch"
    with open_offline(found) as index:
        index.add([AYLWIN, ACTOR], progress=False)
        index.add([PAINTER, ANYBODY], progress=False)
    return found


def documents_behind(hits: Iterable[Hit]) -> set[str]:
    return {document for hit in hits for document in hit.document_ids}


def hits_of(evidence: Evidence) -> list[Hit]:
    """All that any part of the evidence shows."""
    steps = [hit for step in evidence.steps for hit in (*step.retrieved, *([step.chosen] if step.chosen else []))]
    return [*evidence.hits, *evidence.chain, *steps]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, {"aylwin", "actor", "painter", "anybody"}),
        ({}, {"aylwin", "actor", "painter", "anybody"}),
        ({"tenant": "a"}, {"aylwin", "painter"}),
        ({"tenant": {"$in": ["b", "c"]}}, {"actor"}),
        ({"tenant": "c"}, set()),
        ({"tenant": {"$exists": False}}, {"anybody"}),
        ({"tenant": {"$ne": "a"}}, {"actor", "anybody"}),
        ({"year": {"$gte": 1900}}, {"aylwin"}),
        ({"tags": "silent", "source.page": 3}, {"aylwin"}),
        ({"$or": [{"year": 1850}, {"tenant": "b"}]}, {"actor", "painter"}),
    ],
)
def test_only_what_passes_is_found(path: Path, where: dict[str, Any] | None, expected: set[str]) -> None:
    with open_offline(path, mode="r") as index:
        for kind in KINDS:
            hits = index.search(QUESTION, k=100, kinds=kind, where=where)
            assert documents_behind(hits) == expected if kind != "bridge" else documents_behind(hits) <= expected
        for mode in ("lexical", "hybrid"):
            assert documents_behind(index.search("Aylwin Henry Edwards", k=100, mode=mode, where=where)) == expected
        for strategy in STRATEGIES:
            evidence = retrieve(QUESTION, index, strategy=strategy, where=where, model="offline")
            assert documents_behind(hits_of(evidence)) <= expected
            assert {passage.rpartition("#")[0] for passage, _ in evidence.ranking} <= expected
            assert bool(evidence.hits) is bool(expected)


def test_a_bridging_fact_is_seen_when_all_of_its_documents_pass(path: Path) -> None:
    with open_offline(path, mode="r") as index:
        every = index.search(QUESTION, k=100, kinds="bridge")
        assert {hit.document_ids for hit in every} == {
            ("actor", "aylwin"),
            ("actor", "painter"),
            ("anybody", "aylwin"),
        }
        both = index.search(QUESTION, k=100, kinds="bridge", where={"$or": [{"tenant": "b"}, {"year": 1920}]})
        assert both == [hit for hit in every if hit.document_ids == ("actor", "aylwin")]
        assert index.search(QUESTION, kinds="bridge", where={"tenant": "a"}) == []


def test_an_answer_rests_on_what_passes(path: Path) -> None:
    with open_offline(path, mode="r") as index:
        for strategy in STRATEGIES:
            whole = ask(QUESTION, index, strategy=strategy)
            assert whole.text == "Weston-super-Mare"
            answer = ask(QUESTION, index, strategy=strategy, where={"tenant": "a"})
            assert answer.text == "Karsund"
            assert [c.document_id for c in answer.citations] == ["aylwin", "painter"]
            assert [c.metadata for c in answer.citations] == [AYLWIN.metadata, PAINTER.metadata]
            assert "Weston" not in json.dumps(answer.to_dict())


def test_awaited_and_by_path(path: Path) -> None:
    where = {"tenant": "a"}
    assert asyncio.run(aask(QUESTION, path, where=where, model="offline")).text == "Karsund"
    evidence = asyncio.run(aretrieve(QUESTION, path, where=where, model="offline"))
    assert evidence == retrieve(QUESTION, path, where=where, model="offline")
    with pytest.raises(ValueError, match=r"unknown operator '\$inn' in tenant\. Did you mean '\$in'\?"):
        ask(QUESTION, "missing.usearch", where={"tenant": {"$inn": ["a"]}}, model="offline")


def test_hits_carry_metadata_of_their_own(path: Path) -> None:
    with open_offline(path, mode="r") as index:
        for kind in ("passage", "fact", "triple"):
            (first, *_) = index.search("a silent film", kinds=kind, where={"year": 1920})
            assert first.metadata == AYLWIN.metadata
            assert hash(first) == hash(index.search("a silent film", kinds=kind, where={"year": 1920})[0])
        first.metadata["source"]["page"] = 4
        (again, *_) = index.search("a silent film", where={"year": 1920})
        assert again.metadata == AYLWIN.metadata


def test_metadata_of_a_bridging_fact_are_what_its_documents_agree_on(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        for document, more in ((AYLWIN, {"year": 1, "tenant": "a"}), (ACTOR, {"year": True, "tenant": "a", "x": 1})):
            index.add(Document(document.id, document.text, document.title, more), progress=False)
        (hit,) = index.search(QUESTION, kinds="bridge")
        assert hit.metadata == {"tenant": "a"}


# --- a view --------------------------------------------------------------------------------------------------------


def test_a_view_knows_only_what_passes(path: Path) -> None:
    with open_offline(path, mode="r") as index:
        view = index.filtered({"tenant": "a"})
        assert view.document_ids() == ["aylwin", "painter"]
        assert (len(view), "aylwin" in view, "actor" in view) == (2, True, False)
        assert view.info().documents == 2
        assert view.info().bridges == 0
        assert index.filtered({}) is index
        (hidden, *_) = index.search("actor", kinds="passage", where={"tenant": "b"})
        assert index.passage(hidden.id).document_id == "actor"
        with pytest.raises(KeyError, match="actor#0"):
            view.passage(hidden.id)
        assert ask(QUESTION, view).text == "Karsund"
        assert view.search(QUESTION, where={"tenant": "b"}) == []
        assert ask(QUESTION, view, where={"tenant": "b"}).found is False
        assert view.filtered({"year": {"$lt": 1900}}).document_ids() == ["painter"]
        assert repr(view).endswith("""notes.usearch', model='offline').filtered({"tenant": "a"})""")
        for name in ("add", "delete", "compact"):
            assert hasattr(index, name)
            with pytest.raises(AttributeError, match=f"a filtered view of an index has no '{name}': it is for reading"):
                getattr(view.filtered({"year": 1920}), name)
        view.close()
        assert len(index) == 4


def test_a_view_follows_its_index(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add(AYLWIN, progress=False)
        view = index.filtered({"tenant": "a"})
        index.add([PAINTER, ACTOR], progress=False)
        assert view.document_ids() == ["aylwin", "painter"]
        index.add(Document("aylwin", AYLWIN.text, AYLWIN.title, {"tenant": "b"}), progress=False)
        assert view.document_ids() == ["painter"]
        index.delete("painter", progress=False)
        assert view.document_ids() == []
        index.compact()
        assert (view.search(QUESTION), len(index)) == ([], 2)


def test_nothing_of_others_leaves_by_a_view(tmp_path: Path) -> None:
    """Ids of passages that failed, names that could not be bridged, exports and pictures."""

    def refusing(request: Request) -> Entry:
        task = json.loads(request.prompt.split("\n", 1)[0])["task"]
        return Served(text="no") if task == "bridge" or "English" in request.prompt else honest(request)

    more = Document("other", "Secret Silver is sought by Henry Edwards.", "Secret Silver", {"tenant": "b"})
    clone = Document("clone", "Secret Silver is lost.", "Lost silver", {"tenant": "b"})
    path = tmp_path / "notes.usearch"
    with (
        Loopback(refusing) as server,
        Index(path, model="openai/m", api_base=server.api_base, api_key="k", encoder=shipped_encoder()) as index,
    ):
        index.add([AYLWIN, ACTOR, PAINTER, more, clone], progress=False)
        told = [failure.id.partition("#")[0] for failure in index.info().failed]
        assert told == ["actor", "bridge entity Henry Edwards", "bridge entity Secret Silver"]
        assert index.info().pending == 2
        view = index.filtered({"tenant": "a"})
        assert (view.info().failed, view.info().pending) == ((), 1)
        assert [failure.id.partition("#")[0] for failure in index.filtered({"tenant": "b"}).info().failed] == ["actor"]
        for name in ("export.jsonl", "export.graphml", "picture.html"):
            target = tmp_path / name
            if name == "picture.html":
                view.draw(target, progress=False)
            else:
                view.export(target, progress=False)
            written = target.read_text(encoding="utf-8")
            assert "Aylwin" in written
            assert [word for word in ("Secret", "Weston", "actor#", "clone") if word in written] == []


# --- as if nothing else were there -----------------------------------------------------------------------------------


def make(number: int, tenant: str) -> Document:
    """Names are shared between tenants, and between the documents of one of them."""
    person, other, place = PEOPLE[number % 4], PEOPLE[number * 3 % 4], PLACES[number % 3]
    secret = f"Zq{tenant}{number}zz"
    text = f"{person} wrote {secret} with {other} in {1900 + number}. {person} of {tenant} was born in {place}."
    return Document(f"doc{number}-{tenant}", text, person if number % 2 else f"Book {secret}", {"tenant": tenant})


def plain(hits: Iterable[Hit]) -> list[tuple[Any, ...]]:
    """Comparable, up to what floats differ by and the order of equals."""
    found = [(hit.kind, hit.id, hit.text, hit.document_ids, hit.titles, round(hit.score, 4)) for hit in hits]
    return sorted(found, key=lambda hit: (-hit[-1], hit[1]))


def found_by(index: OpenIndex, where: Mapping[str, Any] | None) -> list[Any]:
    """What every kind of search and every strategy gives."""
    question = f"Where was {PEOPLE[1]}, who wrote Zqtheirs1zz with {PEOPLE[2]}, born?"
    found: list[Any] = [plain(index.search(question, k=100, kinds=kind, where=where)) for kind in (*KINDS, None)]
    found += [plain(index.search(question, k=100, mode=mode, where=where)) for mode in ("lexical", "hybrid")]
    for strategy in STRATEGIES:
        evidence = retrieve(question, index, strategy=strategy, where=where, model="offline", k=50)
        answer = ask(question, index, strategy=strategy, where=where, model="offline", k=50)
        found += [plain(evidence.hits), plain(evidence.chain), dict(rounded(evidence.ranking)), answer.text]
        found += [[plain(step.retrieved) for step in evidence.steps], [c.passage_id for c in answer.citations]]
    return found


def rounded(ranking: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(passage, round(score, 4)) for passage, score in ranking]


ENCODER = RememberingEncoder()
OURS = {"tenant": "ours"}


def _open(folder: str, name: str, within: str | None) -> Index:
    return Index(
        Path(folder) / f"{name}.usearch", model="offline", encoder=ENCODER, settings=Settings(bridge_within=within)
    )


numbers = st.lists(st.integers(0, 9), max_size=6, unique=True)


def _build(folder: str, documents: list[Document], within: str | None) -> tuple[Index, Index]:
    """An index of all, and one of ours alone, each in two commits."""
    both, alone = _open(folder, "both", within), _open(folder, "ours", within)
    half = len(documents) // 2
    for part in (documents[:half], documents[half:]):
        both.add(part, progress=False)
        alone.add([document for document in part if document.metadata == OURS], progress=False)
    return both, alone


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(ours=numbers, theirs=numbers, order=st.randoms(use_true_random=False))
def test_a_filter_equals_an_index_of_what_passes(ours: list[int], theirs: list[int], order: Any) -> None:  # noqa: ANN401
    documents = [make(number, "ours") for number in ours] + [make(number, "theirs") for number in theirs]
    order.shuffle(documents)
    with tempfile.TemporaryDirectory() as name:
        both, alone = _build(name, documents, "tenant")
        with both, alone:
            assert contents_of(both.filtered(OURS).snapshot) == contents_of(alone.snapshot)
            assert answers_of(both.filtered(OURS).snapshot) == answers_of(alone.snapshot)
            assert found_by(both, OURS) == found_by(alone, None)
            assert "theirs" not in json.dumps(contents_of(both.filtered(OURS).snapshot))


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(ours=numbers, theirs=numbers, order=st.randoms(use_true_random=False))
def test_where_all_are_bridged_a_filter_lets_none_through(ours: list[int], theirs: list[int], order: Any) -> None:  # noqa: ANN401
    """But for bridging facts it is the same; of those it gives some, and none that another tenant has a part in."""
    documents = [make(number, "ours") for number in ours] + [make(number, "theirs") for number in theirs]
    order.shuffle(documents)
    with tempfile.TemporaryDirectory() as name:
        both, alone = _build(name, documents, None)
        with both, alone:
            seen, own = contents_of(both.filtered(OURS).snapshot), contents_of(alone.snapshot)
            assert "theirs" not in json.dumps(seen)
            assert set(seen.pop("bridge")) <= set(own.pop("bridge"))
            assert seen == own
            question = f"Where was {PEOPLE[1]} born, who wrote Zqtheirs1zz?"
            options: dict[str, dict[str, Any]] = {"naive": {}, "kirag": {}, "indexrag": {"k_b": 0}, "ircot": {"k_b": 0}}
            for strategy, more in options.items():
                found = [
                    retrieve(question, index, strategy=strategy, where=where, model="offline", k=50, **more)
                    for index, where in ((both, OURS), (alone, None))
                ]
                assert plain(hits_of(found[0])) == plain(hits_of(found[1]))
