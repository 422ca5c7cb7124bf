"""What is too much for a model is asked for in smaller parts, and an unusable step does not end a question."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minirag import Document, Index, ask
from minirag.reasoner.fitting import halve
from tests.loopback import Loopback, Request, Served, honest, status

AYLWIN = Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards")
LONG = Document("long", " ".join(f"Clerk Nils{n} counted {n} barrels of tar." for n in range(12)), "Clerks")
QUESTION = "Where was the director of Aylwin born?"


def limited(task: str, too_long: Callable[[dict[str, list[object]]], bool]) -> Callable[[Request], Served]:
    """An honest model that finds some prompts of one task too long."""

    def serve(request: Request) -> Served:
        data = json.loads(request.prompt.split("\n", 1)[0])
        if data["task"] == task and too_long(data):
            return status(400, "This model's maximum context length is 10 tokens")
        return honest(request)

    return serve


def open_index(path: Path, server: Loopback) -> Index:
    return Index(path / "notes.usearch", model="openai/any", api_base=server.api_base)


def test_a_passage_that_is_too_long_is_extracted_in_parts(tmp_path: Path) -> None:
    with (
        Loopback(limited("extract", lambda data: len(data["passage"]) > 300)) as server,
        open_index(tmp_path, server) as index,
    ):
        assert index.add([LONG], progress=False).failed == ()
        facts = {hit.text for hit in index.search("barrels", k=50, kinds="fact")}
    assert facts == {f"Clerks: Clerk Nils{n} counted {n} barrels of tar." for n in range(12)}
    lengths = [len(json.loads(r.prompt.split("\n", 1)[0])["passage"]) for r in server.requests]
    assert [length > 300 for length in lengths] == [True, False, False]


def test_what_is_short_and_still_too_long_fails_alone(tmp_path: Path) -> None:
    with (
        Loopback(limited("extract", lambda data: "Aylwin" in str(data["passage"]))) as server,
        open_index(tmp_path, server) as index,
    ):
        report = index.add([AYLWIN, HENRY], progress=False)
        assert [failure.id.partition("#")[0].strip() for failure in report.failed] == ["aylwin"]
        assert "the prompt is too long" in report.failed[0].reason
    assert len(server.requests) == 2


def test_halves_at_a_sentence() -> None:
    assert halve("short") is None
    first, second = halve(LONG.text) or ("", "")
    assert f"{first} {second}" == LONG.text
    assert second.startswith("Clerk Nils6 ")
    assert halve("x" * 300) == ("x" * 150, "x" * 150)


def test_a_bridge_entity_goes_with_fewer_facts(tmp_path: Path) -> None:
    def too_many(data: dict[str, list[object]]) -> bool:
        return sum(len(entity["facts"]) for entity in data["entities"]) > 2  # type: ignore[index,misc]

    documents = [
        Document("a", "Ida Holm built a mill. Ida Holm sold a mill. Ida Holm kept bees.", "A"),
        Document("b", "Ida Holm wrote a book. Ida Holm lost a book.", "B"),
    ]
    with Loopback(limited("bridge", too_many)) as server, open_index(tmp_path, server) as index:
        assert index.add(documents, progress=False).failed == ()
        (bridge,) = index.search("Ida Holm", k=5, kinds="bridge")
        assert set(bridge.document_ids) == {"a", "b"}


@pytest.mark.parametrize(
    ("strategy", "task", "key"),
    [("kirag", "extend", "candidates"), ("ircot", "think", "context"), ("indexrag", "read", "context")],
)
def test_fewer_candidates_are_shown(tmp_path: Path, strategy: str, task: str, key: str) -> None:
    with (
        Loopback(limited(task, lambda data: len(data[key]) > 1)) as server,
        open_index(tmp_path, server) as index,
    ):
        index.add([AYLWIN, HENRY], progress=False)
        assert ask(QUESTION, index, strategy=strategy).found
        shown = [data for r in server.requests if (data := json.loads(r.prompt.split("\n", 1)[0]))["task"] == task]
        assert len(shown[0][key]) > 1


@pytest.mark.parametrize(("strategy", "task"), [("kirag", "extend"), ("ircot", "think")])
def test_an_unusable_step_does_not_end_the_question(tmp_path: Path, strategy: str, task: str) -> None:
    def serve(request: Request) -> Served:
        return Served(text="No idea.") if f'"task": "{task}"' in request.prompt else honest(request)

    with Loopback(serve) as server, open_index(tmp_path, server) as index:
        index.add([AYLWIN, HENRY], progress=False)
        answer = ask(QUESTION, index, strategy=strategy)
    assert answer.found
    assert answer.evidence
    assert [step.problem[:40] for step in answer.steps] == ["openai/any: no usable reply even after o"]
    assert answer.to_dict()["steps"][0]["problem"].endswith("There is no JSON object in it.")
