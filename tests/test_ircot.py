"""IRCoT: thoughts become queries, and what all of them find is merged."""

import json
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.answering import retrieve
from minirag.records import Evidence
from tests.loopback import Loopback, Request, Served
from tests.stored import shipped_encoder

AYLWIN = Document("aylwin", "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards")
FILMS = [
    Document(f"film{n}", f"{name} is a {1910 + n} British silent film. It was directed by {who}.", f"{name} (film)")
    for n, (name, who) in enumerate([("Towards", "Ada Brell"), ("Ostwick", "Otto Vane"), ("Karsund", "Mira Holt")])
]
QUESTION = "Where was the director of the film Aylwin born?"
THOUGHT = "The director of Aylwin was Henry Edwards."
ANSWER = "So the answer is: Weston-super-Mare."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ircot") / "notes.usearch"
    with Index(path, model="offline", encoder=shipped_encoder()) as index:
        index.add([AYLWIN, HENRY, *FILMS], progress=False)
    return path


def think(path: Path, thoughts: list[str], **options: Any) -> tuple[Evidence, list[dict[str, Any]]]:  # noqa: ANN401
    """The evidence that a model with these thoughts comes to, and the data of its requests."""
    with (
        Loopback([{"thought": thought} for thought in thoughts]) as server,
        Index(path, model="openai/any", api_base=server.api_base, api_key="x", mode="r") as index,
    ):
        evidence = retrieve(QUESTION, index, strategy="ircot", **options)
        assert server.tasks() == ["think"] * len(thoughts)
        return evidence, [json.loads(request.prompt.split("\n", 1)[0]) for request in server.requests]


def test_each_thought_is_the_next_query_until_one_answers(path: Path) -> None:
    evidence, asked = think(path, [THOUGHT, ANSWER], k=3)

    assert [step.query for step in evidence.steps] == [QUESTION, THOUGHT]
    assert [request["thoughts"] for request in asked] == [[], [THOUGHT]]
    assert [request["question"] for request in asked] == [QUESTION, QUESTION]
    assert [len(request["context"]) for request in asked] == [3, 3]
    assert asked[1]["context"] == [
        {"n": n, "title": " / ".join(hit.titles), "text": hit.text} for n, hit in enumerate(evidence.hits, start=1)
    ]


@pytest.mark.parametrize("over", ["naive", "indexrag"])
def test_units_and_passages_keep_their_best_score_over_the_steps(path: Path, over: str) -> None:
    evidence, _ = think(path, [THOUGHT, ANSWER], k=50, over=over, k_b=50)

    best: dict[str, float] = {}
    for step in evidence.steps:
        for hit in step.retrieved:
            best[hit.id] = max(hit.score, best.get(hit.id, -1.0))
    assert {hit.id: hit.score for hit in evidence.hits} == best
    assert [hit.score for hit in evidence.hits] == sorted(best.values(), reverse=True)
    passages: dict[str, float] = {}
    for hit in evidence.hits:
        for passage in hit.passage_ids:
            passages.setdefault(passage, hit.score)
    assert dict(evidence.ranking) == passages
    assert {hit.kind for hit in evidence.hits} == ({"passage"} if over == "naive" else {"fact", "bridge"})


def test_a_thought_finds_what_the_question_does_not(path: Path) -> None:
    question_only, _ = think(path, [], steps=1, over="naive", k=2)
    evidence, _ = think(path, [THOUGHT, ANSWER], over="naive", k=2)

    assert question_only.ranking[0][0].startswith("aylwin#")
    assert {hit.document_ids[0] for hit in evidence.hits} == {"aylwin", "henry"}


def test_at_most_so_many_bridging_facts(path: Path) -> None:
    for k_b in (0, 1):
        evidence, _ = think(path, [THOUGHT, ANSWER], k_b=k_b)
        assert [hit.kind for hit in evidence.hits].count("bridge") == k_b


@pytest.mark.parametrize(
    ("steps", "thoughts", "searches"),
    [
        (1, [], 1),
        (2, ["One."], 2),
        (3, ["One.", "Two."], 3),
        (None, ["One.", "Two.", "Three.", "Four."], 5),
        (9, ["One.", "Two.", "One."], 3),
        (9, ["so the answer is Weston-super-Mare"], 1),
    ],
)
def test_when_it_ends(path: Path, steps: int | None, thoughts: list[str], searches: int) -> None:
    evidence, _ = think(path, thoughts, steps=steps)

    assert [step.query for step in evidence.steps] == [QUESTION, *thoughts][:searches]


def test_offline_it_thinks_by_quoting(path: Path) -> None:
    evidence = retrieve(QUESTION, path, strategy="ircot", model="offline", over="naive", k=3)

    assert [step.query for step in evidence.steps] == [QUESTION, "It was directed by Henry Edwards."]
    assert {hit.document_ids for hit in evidence.hits[:2]} == {("henry",), ("aylwin",)}
    assert len(retrieve(QUESTION, path, strategy="ircot", model="offline", steps=4).steps) >= 2
    assert ask(QUESTION, path, strategy="ircot", model="offline").found


def test_reads_after_thinking_and_counts_both(path: Path) -> None:
    def serve(request: Request) -> Served:
        task = json.loads(request.prompt.split("\n", 1)[0])["task"]
        reply = {"thought": ANSWER} if task == "think" else {"found": True, "answer": "Weston-super-Mare", "items": [1]}
        return Served(text=json.dumps(reply))

    with (
        Loopback(serve) as server,
        Index(path, model="openai/any", api_base=server.api_base, api_key="x", mode="r") as index,
    ):
        answer = ask(QUESTION, index, strategy="ircot")
        assert server.tasks() == ["think", "read"]
    assert (answer.text, answer.strategy, answer.usage.calls, len(answer.steps)) == ("Weston-super-Mare", "ircot", 2, 1)


def test_an_empty_index_is_not_thought_about(tmp_path: Path) -> None:
    with Index(tmp_path / "empty.usearch", model="offline", encoder=shipped_encoder()) as index:
        evidence = retrieve(QUESTION, index, strategy="ircot")
    assert (evidence.hits, evidence.ranking, len(evidence.steps)) == ((), (), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"k_b": -1}, "k_b must not be negative, but is -1"),
        ({"over": "kirag"}, "over must be one of naive, indexrag, not 'kirag'"),
        ({"units": "triple"}, "strategy 'ircot' has no option 'units'; it has steps, over, k_b"),
    ],
)
def test_wrong_options(path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        retrieve(QUESTION, path, strategy="ircot", model="offline", **options)
