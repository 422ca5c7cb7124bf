"""Indexing with an LLM: what is asked, what is kept, what fails and is tried again."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Document, Index, Settings
from minirag.errors import LLMSetupError
from minirag.planning import find_too_large
from tests.loopback import Loopback, Request, Served, honest, refusal, status

MODEL = "openai/loopback"
AYLWIN = Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards")
LAKE = Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(honest) as server:
        yield server


def open_index(path: Path, server: Loopback, *, max_parallel: int = 16) -> Index:
    return Index(path, model=MODEL, api_base=server.api_base, api_key="secret", max_parallel=max_parallel)


def tasks(server: Loopback) -> list[str]:
    return [
        task for request in server.requests for task in ("extract", "bridge") if f'"task": "{task}"' in request.prompt
    ]


def all_units(index: Index) -> set[tuple[str, str, str]]:
    hits = index.search("film", k=1000, kinds=["passage", "fact", "bridge", "triple"])
    return {(hit.kind, hit.id, hit.text) for hit in hits}


def refusing(word: str) -> Callable[[Request], Served]:
    """A model that answers prose whenever the passage holds a word."""

    def serve(request: Request) -> Served:
        return Served(text="I would rather not.") if word in request.prompt else honest(request)

    return serve


def test_a_record_that_has_no_place_in_the_file_fails_alone_and_costs_nothing(path: Path, server: Loopback) -> None:
    """Before, it was found out when all was paid for, and took the whole batch with it."""
    bad = replace(LAKE, text=LAKE.text + "\x1f" * 45_000_000)  # white space that takes six bytes each as JSON
    with open_index(path, server) as index:
        report = index.add([AYLWIN, bad, HENRY], progress=False)
        assert report.added == ("aylwin", "henry")
        assert [failure.id for failure in report.failed] == ["lake"]
        told = r"one of its records would take 270,\d{3},\d{3} bytes, at most 268,435,456 are possible: its title, "
        assert re.match(told, report.failed[0].reason)
        assert sorted(tasks(server)) == ["bridge", "extract", "extract"]
        assert index.document_ids() == ["aylwin", "henry"]


def test_a_title_is_measured_before_the_text_is_split() -> None:
    failure = find_too_large(replace(LAKE, title="\x1f" * 45_000_000), [])
    assert failure is not None
    assert failure.id == "lake"
    assert find_too_large(replace(LAKE, title="T" * 45_000_000), []) is None


def test_one_call_a_passage_and_one_for_the_bridge_entities(path: Path, server: Loopback) -> None:
    with open_index(path, server) as index:
        report = index.add([AYLWIN, HENRY, LAKE], progress=False)
        assert sorted(tasks(server)) == ["bridge", "extract", "extract", "extract"]
        assert report.usage.calls == 4
        assert report.usage.prompt_tokens > 0
        assert report.usage.cost is None
        (bridge,) = index.search("Henry Edwards", k=1, kinds=["bridge"])
        assert bridge.document_ids == ("aylwin", "henry")
        assert index.info().usage.calls == 4
        assert index.info().model == MODEL


def test_unchanged_documents_cost_nothing(path: Path, server: Loopback) -> None:
    with open_index(path, server) as index:
        index.add([AYLWIN, HENRY], progress=False)
        before = len(server.requests)
        assert index.add([AYLWIN, HENRY], progress=False).unchanged == ("aylwin", "henry")
    assert len(server.requests) == before


def test_a_new_document_bridges_only_what_it_touches(path: Path, server: Loopback) -> None:
    with open_index(path, server) as index:
        index.add([AYLWIN, HENRY], progress=False)
        server.requests.clear()
        index.add([LAKE], progress=False)
    assert tasks(server) == ["extract"]


def test_new_metadata_does_not_extract_again(path: Path, server: Loopback) -> None:
    with open_index(path, server) as index:
        index.add([AYLWIN, HENRY], progress=False)
        server.requests.clear()
        changed = Document("lake", LAKE.text, LAKE.title)
        index.add([changed, Document("henry", HENRY.text, HENRY.title, {"year": 1920})], progress=False)
    assert [task for task in tasks(server) if task == "extract"] == ["extract"]


def test_a_passage_that_fails_is_reported_and_tried_again(path: Path) -> None:
    with Loopback(refusing("Lugano")) as server, open_index(path, server) as index:
        report = index.add([AYLWIN, LAKE], progress=False)
        assert report.added == ("aylwin", "lake")
        (failure,) = report.failed
        assert failure.id.startswith("lake#0-")
        assert index.search("lake", k=1, kinds=["passage"])[0].document_ids == ("lake",)
        assert not [hit for hit in index.search("lake", k=50) if "lake" in hit.document_ids]
        assert index.info().failed == report.failed
    with Loopback(honest) as server, open_index(path, server) as index:
        report = index.add([], progress=False)
        assert (report.added, report.updated, report.failed) == ((), (), ())
        assert tasks(server) == ["extract"]
        assert index.info().failed == ()
        assert index.search("Lugano", k=1)[0].document_ids == ("lake",)


def test_a_passage_that_fails_in_the_same_way_again_leaves_the_index_as_it_was(path: Path) -> None:
    answers = [refusal("no"), refusal("no"), refusal("never")]

    def serve(request: Request) -> Served:
        return (
            answers[0] if '"extract"' in request.prompt and "Lugano" in request.prompt and answers else honest(request)
        )

    with Loopback(serve) as server, open_index(path, server) as index:
        index.add([AYLWIN, HENRY, LAKE], progress=False)
        held, spent = index.snapshot.segments, index.info().usage.calls
        assert index.add([], progress=False).failed == index.info().failed
        assert [each.entry for each in index.snapshot.segments] == [each.entry for each in held]
        assert index.info().usage.calls > spent
        del answers[:2]
        (failure,) = index.add([], progress=False).failed
        assert index.info().failed == (failure,)
        assert "never" in failure.reason
        answers.clear()
        assert index.add([], progress=False).failed == index.info().failed == ()
        assert len(index.search("Switzerland", kinds="fact")) == index.info().facts > 0


def test_bridging_that_fails_is_reported_and_tried_again(path: Path) -> None:
    with Loopback(refusing('"task": "bridge"')) as server, open_index(path, server) as index:
        report = index.add([AYLWIN, HENRY], progress=False)
        assert [failure.id for failure in report.failed] == ["bridge entity Henry Edwards"]
        assert (index.info().bridges, index.info().pending) == (0, 1)
    with Loopback(honest) as server, open_index(path, server) as index:
        assert index.add([], progress=False).failed == ()
        assert tasks(server) == ["bridge"]
        assert (index.info().bridges, index.info().pending) == (1, 0)


def test_deleting_works_while_the_model_is_away(path: Path, server: Loopback) -> None:
    third = Document("third", "Henry Edwards met Chrissie White.", "Chrissie White")
    with open_index(path, server) as index:
        index.add([AYLWIN, HENRY, third], progress=False)
    with Loopback(lambda _: status(401, "wrong key")) as broken, open_index(path, broken) as index:
        report = index.delete("third", progress=False)
        assert report.deleted == ("third",)
        assert [failure.id for failure in report.failed] == ["bridge entity Henry Edwards"]
        assert "third" not in index
        assert index.info().bridges == 0
    with open_index(path, server) as index:
        index.add([], progress=False)
        assert [hit.document_ids for hit in index.search("Henry", kinds=["bridge"])] == [("aylwin", "henry")]


def test_one_units_failure_does_not_quote_anothers_call(path: Path, server: Loopback) -> None:
    documents = [
        Document(f"{tenant}{n}", f"{name} met Person{n}.", name, {"tenant": tenant})
        for tenant, name in (("a", "Henry Edwards"), ("b", "Chrissie White"))
        for n in range(3)
    ]
    settings = Settings(bridge_within="tenant")
    with Index(path, model=MODEL, api_base=server.api_base, api_key="secret", settings=settings) as index:
        index.add(documents, progress=False)
    quoting = Loopback(lambda request: status(401, f"no credit for {request.prompt}"))
    with quoting as broken, open_index(path, broken, max_parallel=1) as index:
        failed = {failure.id: failure.reason for failure in index.delete(["a0", "b0"], progress=False).failed}
        assert failed.keys() == {"bridge entity Henry Edwards", "bridge entity Chrissie White"}
        quoted = [name for name, reason in failed.items() if "Henry Edwards" in reason or "Chrissie White" in reason]
        assert len(quoted) == 1
        assert f"no credit for {broken.requests[0].prompt[:40]}" in failed.pop(quoted[0])
        assert set(failed.values()) == {f"{MODEL}: not tried, as another call of the run found that none can succeed"}


def test_deleting_keeps_the_answers_that_came_before_the_model_went_away(path: Path, server: Loopback) -> None:
    names = (("a", "Henry Edwards"), ("b", "Chrissie White"))
    documents = [
        Document(f"{tenant}{n}", f"{name} met Person{n}.", name, {"tenant": tenant})
        for tenant, name in names
        for n in range(3)
    ]
    settings = Settings(bridge_within="tenant")
    with Index(path, model=MODEL, api_base=server.api_base, api_key="secret", settings=settings) as index:
        index.add(documents, progress=False)

    answered = threading.Event()

    def serve(request: Request) -> Served:
        if "Henry" in request.prompt:
            answered.set()
            return honest(request)
        answered.wait(60)
        return replace(status(401, "wrong key"), delay=0.3)

    with Loopback(serve) as half, open_index(path, half) as index:
        report = index.delete(["a0", "b0"], progress=False)
        assert [failure.id for failure in report.failed] == ["bridge entity Chrissie White"]
        assert index.info().pending == 1
    with Loopback(honest) as again, open_index(path, again) as index:
        assert index.add([], progress=False).failed == ()
        assert ["Chrissie White" in request.prompt for request in again.requests] == [True]
        assert (index.info().bridges, index.info().pending) == (2, 0)


def test_a_wrong_key_ends_the_run_and_keeps_what_was_paid(path: Path) -> None:
    served = 0

    def serve(request: Request) -> Served:
        nonlocal served
        served += 1
        return honest(request) if served <= 2 else status(401, "Incorrect API key provided")

    documents = [Document(f"d{n}", f"Person{n} lives in Town{n}.", f"Person{n}") for n in range(8)]
    with Loopback(serve) as server, open_index(path, server, max_parallel=1) as index:
        with pytest.raises(LLMSetupError, match="Incorrect API key provided"):
            index.add(documents, progress=False)
        assert len(index) == 0
        assert len(server.requests) < 8
    with Loopback(honest) as server, open_index(path, server) as index:
        assert len(index.add(documents, progress=False).added) == 8
        assert tasks(server).count("extract") == 6
    assert sorted(file.name for file in path.parent.iterdir() if "replies" in file.name) == []


@pytest.mark.slow
def test_many_batches_give_what_one_gives(path: Path) -> None:
    documents = [Document(f"d{n}", f"Person{n} met Person{n + 1}.", f"Person{n}") for n in range(1_100)]
    with Index(path, model="offline") as index:
        index.add(documents, progress=False)
        with Index(path.with_name("other"), model="offline") as other:
            other.add(reversed(documents[:30]), progress=False)
            index.delete([document.id for document in documents[30:]], progress=False)
            assert all_units(index) == all_units(other)


def test_a_reply_with_lone_surrogates_is_stored(path: Path) -> None:
    def serve(request: Request) -> Served:
        served = honest(request)
        return (
            Served(text=(served.text or "").replace("silent", r"si\ud800lent"))
            if "aylwin" in str(served.text).lower()
            else served
        )

    with Loopback(serve) as server, open_index(path, server) as index:
        assert index.add([AYLWIN, HENRY], progress=False).failed == ()
        assert [hit.text for hit in index.search("film", kinds=["fact"]) if "\ufffd" in hit.text] == [
            "Aylwin (film): Aylwin is a si\ufffdlent film."
        ]
