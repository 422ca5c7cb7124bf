from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.answering import retrieve
from minirag.errors import InputError
from minirag.records import Evidence
from minirag.strategies.kirag import KIND_OF, MOST_SHOWN
from tests.chained import (
    DOCUMENTS,
    QUESTION,
    STRAYS,
    Constructor,
    build,
    build_with_strays,
    choose,
    choose_text,
    know,
)
from tests.loopback import Loopback, Request, Served, honest
from tests.stored import open_offline, shipped_encoder

LANTERN = "Where did the director of Lantern Road come from?"


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read by rules."""
    return build(tmp_path_factory.mktemp("offline") / "notes.usearch")


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read by a model, which makes triples of nearly every sentence, and bridging facts."""
    path = tmp_path_factory.mktemp("modelled") / "notes.usearch"
    with opened(path, honest, mode="a") as index:
        index.add(DOCUMENTS, progress=False)
    return path


@contextmanager
def opened(path: Path, script: Any, *, mode: Any = "r") -> Iterator[Index]:  # noqa: ANN401
    """An index whose model is the script."""
    with (
        Loopback(script) as server,
        Index(
            path, model="openai/any", api_base=server.api_base, api_key="key", mode=mode, encoder=shipped_encoder()
        ) as index,
    ):
        yield index


def documents_of(evidence: Evidence) -> list[str]:
    return [passage_id.rpartition("#")[0] for passage_id, _ in evidence.ranking]


def scores_of(evidence: Evidence) -> dict[str, float]:
    return {passage_id.rpartition("#")[0]: value for passage_id, value in evidence.ranking}


def retrieve_offline(path: Path, question: str = QUESTION, **options: Any) -> Evidence:  # noqa: ANN401
    with open_offline(path, mode="r") as index:
        return retrieve(question, index, strategy="kirag", **options)


# --- offline -------------------------------------------------------------------------------------------------------


def test_a_chain_leads_from_the_question_to_the_answer(offline: Path) -> None:
    answer = ask(LANTERN, offline, strategy="kirag", k=3, model="offline")
    assert str(answer) == "Sundvik"
    assert [hit.text for hit in answer.chain] == [
        "Lantern Road was directed by Piet Olander.",
        "Piet Olander came from Sundvik.",
    ]
    assert [hit.document_ids for hit in answer.chain] == [("lantern",), ("piet",)]
    assert [step.query for step in answer.steps] == [LANTERN, f"{LANTERN} {answer.chain[0].text}"]
    assert tuple(step.chosen for step in answer.steps) == answer.chain
    assert [hit.document_ids for hit in answer.steps[0].retrieved][:2] == [("lantern",), ("piet",)]
    assert [hit.kind for hit in answer.evidence] == ["passage"] * 3
    assert (answer.strategy, answer.usage.calls) == ("kirag", 0)


@pytest.mark.parametrize("units", KIND_OF)
@pytest.mark.parametrize("bridges", [True, False])
def test_units_of_chains_are_in_the_index_with_their_sources(offline: Path, units: Any, bridges: bool) -> None:  # noqa: ANN401
    with open_offline(offline, mode="r") as index:
        evidence = retrieve(QUESTION, index, strategy="kirag", units=units, bridges=bridges, steps=3)
        assert evidence.chain
        for hit in evidence.chain:
            assert hit.kind == KIND_OF[units]
            assert (hit.id, hit.text) in {(h.id, h.text) for h in index.search(hit.text, kinds=[hit.kind], k=5)}
            assert [index.passage(source).document_id for source in hit.passage_ids] == list(hit.document_ids)
        assert len({hit.id for hit in evidence.chain}) == len(evidence.chain)


def test_a_name_followed_lifts_its_passage_and_without_bridges_it_stays_below(offline: Path) -> None:
    followed, plain = (documents_of(retrieve_offline(offline, bridges=b, steps=1)) for b in (True, False))
    assert followed.index("marta") < min(followed.index("novels"), followed.index("writers"))
    assert plain.index("marta") > max(plain.index("novels"), plain.index("writers"))


def test_without_bridges_a_passage_is_as_good_as_its_best_unit(offline: Path) -> None:
    with open_offline(offline, mode="r") as index:
        options: dict[str, Any] = {"steps": 1, "units": "triple", "bridges": False, "pool": 50}
        found = scores_of(retrieve(QUESTION, index, strategy="kirag", **options))
        best: dict[str, float] = {}
        for hit in index.search(QUESTION, kinds=["triple"], k=99):
            best.setdefault(hit.document_ids[0], hit.score)
    assert 0 < len(best) < len(found)
    assert {name: found[name] for name in best} == pytest.approx(best, abs=0.01)
    assert max(value for name, value in found.items() if name not in best) < -1


def test_every_passage_of_the_pool_can_be_followed_however_few_the_candidates(offline: Path) -> None:
    assert retrieve_offline(offline, LANTERN, candidates=1).chain == retrieve_offline(offline, LANTERN).chain


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_so_many_steps_and_no_passage_twice(offline: Path, steps: int) -> None:
    evidence = retrieve_offline(offline, steps=steps)
    assert (len(evidence.steps), len(evidence.chain)) == (steps, steps)
    assert len({hit.passage_ids for hit in evidence.chain}) == steps


def test_a_chain_ends_with_the_last_passage(offline: Path) -> None:
    evidence = retrieve_offline(offline, steps=50, pool=50, candidates=50)
    assert len(evidence.chain) == len(DOCUMENTS)
    assert len(evidence.steps) == len(DOCUMENTS) + 1
    assert evidence.steps[-1].chosen is None


def test_the_last_unit_alone_may_join_the_question(offline: Path) -> None:
    evidence = retrieve_offline(offline, LANTERN, query="last", steps=3)
    assert [step.query for step in evidence.steps] == [
        LANTERN,
        *(f"{LANTERN} {hit.text}" for hit in evidence.chain[:2]),
    ]


def test_more_than_there_is_gives_all_there_is(offline: Path) -> None:
    evidence = retrieve_offline(offline, k=1_000, pool=1_000, candidates=1_000)
    assert sorted(documents_of(evidence)) == sorted(document.id for document in DOCUMENTS)
    assert len(evidence.hits) == len(DOCUMENTS)


def test_few_are_read_but_more_are_ranked(offline: Path) -> None:
    evidence = retrieve_offline(offline, k=1)
    assert [hit.document_ids for hit in evidence.hits] == [("tide",)]
    assert len(evidence.ranking) == len(DOCUMENTS)


@pytest.mark.parametrize("commits", [(6, 6), (7, 3, 1, 1)])
@pytest.mark.parametrize("options", [{}, {"units": "triple"}, {"units": "passage", "bridges": False}])
def test_segments_make_no_difference(
    offline: Path, tmp_path: Path, commits: tuple[int, ...], options: dict[str, Any]
) -> None:
    parts = build(tmp_path / "parts.usearch", commits=commits)
    with open_offline(parts, mode="r") as index:
        assert len(index.snapshot.segments) == len(commits)
    assert retrieve_offline(parts, **options) == retrieve_offline(offline, **options)


@pytest.mark.parametrize("units", KIND_OF)
def test_the_dead_are_nowhere(tmp_path: Path, units: Any) -> None:  # noqa: ANN401
    path = build_with_strays(tmp_path / "notes.usearch")
    for bridges in (True, False):
        evidence = retrieve_offline(path, units=units, bridges=bridges, k=50, pool=50, candidates=50, steps=3)
        hits = [*evidence.hits, *evidence.chain, *(hit for step in evidence.steps for hit in step.retrieved)]
        dead = {stray.id for stray in STRAYS}
        assert not dead & {*documents_of(evidence), *(name for hit in hits for name in hit.document_ids)}
        assert len(evidence.ranking) == len(DOCUMENTS)


def test_a_passage_without_units_does_not_end_the_chain(offline: Path) -> None:
    evidence = retrieve_offline(offline, "Is a writer of novels paid by the page?", units="triple")
    assert documents_of(evidence)[0] == "writers"
    assert len(evidence.chain) == 2
    assert "writers" not in {name for hit in evidence.chain for name in hit.document_ids}


def test_an_empty_index_gives_nothing(tmp_path: Path) -> None:
    with open_offline(tmp_path / "empty.usearch") as index:
        assert retrieve(QUESTION, index, strategy="kirag") == Evidence((), ())
        index.add(DOCUMENTS[0], progress=False)
        index.delete(DOCUMENTS[0].id, progress=False)
        assert retrieve(QUESTION, index, strategy="kirag") == Evidence((), ())


@pytest.mark.parametrize("question", ["?!… — ()", QUESTION * 100, "x", "《白鹤灯塔》的作者做什么？"])
def test_any_question_ranks_all_passages(offline: Path, question: str) -> None:
    assert len(retrieve_offline(offline, question, k=50).ranking) == len(DOCUMENTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"pool": 0}, "pool must be at least 1, not 0"),
        ({"candidates": -3}, "candidates must be at least 1, not -3"),
        ({"units": "fact"}, "units must be one of triple, sentence, passage, not 'fact'"),
        ({"query": "first"}, "query must be 'chain' or 'last', not 'first'"),
        ({"depth": 3}, "strategy 'kirag' has no option 'depth'; it has steps, units, constructor, bridges, query"),
    ],
)
def test_wrong_options(offline: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        retrieve_offline(offline, **options)


# --- with a model --------------------------------------------------------------------------------------------------


def test_the_constructor_sees_the_chain_and_numbered_candidates_and_never_a_chosen_one_again(modelled: Path) -> None:
    model = Constructor(choose_text("Marta Ellinghaus"), choose_text("kept bees"))
    with opened(modelled, model) as index:
        evidence = retrieve(QUESTION, index, strategy="kirag")
    assert model.tasks == ["extend"] * 3
    chain = [hit.text for hit in evidence.chain]
    assert [data["chain"] for data in model.asked] == [[], chain[:1], chain]
    assert {data["question"] for data in model.asked} == {QUESTION}
    for data in model.asked:
        assert [candidate["n"] for candidate in data["candidates"]] == list(range(1, len(data["candidates"]) + 1))
        assert not {candidate["text"] for candidate in data["candidates"]} & set(data["chain"])
    shown = [{candidate["text"] for candidate in data["candidates"]} for data in model.asked]
    assert chain[0] in shown[0]
    assert chain[1] in shown[1]
    assert shown[1] >= shown[0] - {chain[0]}


def test_only_the_first_number_that_there_is_is_taken(modelled: Path) -> None:
    model = Constructor(choose(999, 0, -1, 2, 1))
    with opened(modelled, model) as index:
        evidence = retrieve(QUESTION, index, strategy="kirag", steps=1)
    assert [hit.text for hit in evidence.chain] == [model.asked[0]["candidates"][1]["text"]]


@pytest.mark.parametrize("numbers", [(), (999,), (0, -1)])
def test_a_model_that_chooses_nothing_ends_the_chain(modelled: Path, numbers: tuple[int, ...]) -> None:
    model = Constructor(choose(1), choose(*numbers), choose(1))
    with opened(modelled, model) as index:
        evidence = retrieve(QUESTION, index, strategy="kirag")
    assert (len(model.asked), len(evidence.chain), len(evidence.steps)) == (2, 1, 2)
    assert [step.chosen for step in evidence.steps] == [*evidence.chain, None]


def test_five_steps_unless_told_otherwise(modelled: Path) -> None:
    for steps, expected in ((None, 5), (3, 3)):
        model = Constructor(*[choose(1)] * 9)
        with opened(modelled, model) as index:
            evidence = retrieve(QUESTION, index, strategy="kirag", steps=steps)
        assert (len(model.asked), len(evidence.chain)) == (expected, expected)


def test_a_known_answer_ends_the_chain_and_lifts_the_passage_that_says_it(modelled: Path) -> None:
    found = {}
    for answer in ("Kessmarsh", "kessmarsh.", "yes", "No.", "Kess", "nobody says this"):
        model = Constructor(choose_text("Marta Ellinghaus"), know(answer), choose(1))
        with opened(modelled, model) as index:
            found[answer] = scores_of(retrieve(QUESTION, index, strategy="kirag", bridges=False))
        assert len(model.asked) == 2
    plain = found["nobody says this"]
    assert found["yes"] == found["No."] == found["Kess"] == plain
    assert found["Kessmarsh"] == found["kessmarsh."]
    lifted = {name: value - plain[name] for name, value in found["Kessmarsh"].items() if value != plain[name]}
    assert lifted == {"marta": pytest.approx(0.5)}


def test_an_answer_in_a_script_without_spaces_is_found_inside_a_sentence(modelled: Path) -> None:
    question = "《白鹤灯塔》的作者做什么？"
    found = []
    for answer in ("养蜂", "no such"):
        with opened(modelled, Constructor(choose(1), know(answer))) as index:
            found.append(scores_of(retrieve(question, index, strategy="kirag", units="sentence")))
    lifted = {name: found[0][name] - found[1][name] for name in found[1] if found[0][name] != found[1][name]}
    assert lifted == {"xuefen": pytest.approx(0.5)}


def test_a_chosen_bridging_fact_counts_for_all_its_passages(modelled: Path) -> None:
    with opened(modelled, Constructor()) as index:
        plain = retrieve(QUESTION, index, strategy="kirag", steps=1)
        bridging = next(hit for hit in index.search(QUESTION, kinds=["bridge"], k=9) if "tide" in hit.document_ids)
    with opened(modelled, Constructor(choose_text(bridging.text))) as index:
        evidence = retrieve(QUESTION, index, strategy="kirag", steps=1)
    assert [hit.id for hit in evidence.chain] == [bridging.id]
    assert evidence.chain[0].passage_ids == bridging.passage_ids
    assert len(bridging.passage_ids) == 2
    before, after = dict(plain.ranking), dict(evidence.ranking)
    lifted = {passage: after[passage] - before[passage] for passage in before if after[passage] != before[passage]}
    assert lifted == {passage: pytest.approx(0.5) for passage in bridging.passage_ids}


def test_bridging_facts_are_no_candidates_of_the_paper(modelled: Path) -> None:
    model = Constructor(choose(1))
    with opened(modelled, model) as index:
        retrieve(QUESTION, index, strategy="kirag", bridges=False)
        bridges = {hit.text for hit in index.search(QUESTION, kinds=["bridge"], k=99)}
    assert bridges
    assert not bridges & {candidate["text"] for data in model.asked for candidate in data["candidates"]}


@pytest.mark.parametrize("units", KIND_OF)
def test_without_a_constructor_only_the_reader_is_called(modelled: Path, units: Any) -> None:  # noqa: ANN401
    model = Constructor()
    with opened(modelled, model) as index:
        answer = ask(QUESTION, index, strategy="kirag", constructor=False, units=units)
    assert model.tasks == ["read"]
    assert answer.usage.calls == 1
    assert [hit.kind for hit in answer.chain] == [KIND_OF[units]] * 2


def test_the_reader_gets_the_chain(modelled: Path) -> None:
    requests: list[Request] = []
    model = Constructor(choose_text("Marta Ellinghaus"))

    def serve(request: Request) -> Any:  # noqa: ANN401
        requests.append(request)
        return model(request)

    with opened(modelled, serve) as index:
        answer = ask(QUESTION, index, strategy="kirag", k=3)
    assert model.tasks == ["extend", "extend", "read"]
    assert answer.chain[0].text in requests[-1].prompt
    assert len(answer.evidence) == 3
    assert (answer.usage.calls, len(answer.steps)) == (3, 2)


def test_at_most_a_hundred_candidates_are_shown(tmp_path: Path) -> None:
    sentences = "The keeper of lamp {n} wrote in book {n} that the fog of day {m} was thick."
    documents = [
        Document(f"log{n}", " ".join(sentences.format(n=n, m=m) for m in range(15)), f"Log {n}") for n in range(12)
    ]
    with open_offline(tmp_path / "logs.usearch") as index:
        index.add(documents, progress=False)
        assert index.info().facts > MOST_SHOWN
    model = Constructor(choose(100), choose(101), choose(1))
    with opened(tmp_path / "logs.usearch", model) as index:
        evidence = retrieve("How thick was the fog?", index, strategy="kirag", pool=50, candidates=500)
    assert [len(data["candidates"]) for data in model.asked] == [100, 100]
    assert [hit.text for hit in evidence.chain] == [model.asked[0]["candidates"][99]["text"]]


def test_where_nothing_was_extracted_passages_are_ranked_without_any_call(tmp_path: Path) -> None:
    nothing = Served(text='{"nothing_to_extract": true, "facts": [], "triples": []}')
    with opened(tmp_path / "notes.usearch", lambda _: nothing, mode="a") as index:
        index.add(DOCUMENTS, progress=False)
        assert (index.info().facts, index.info().triples) == (0, 0)
    for options in ({}, {"units": "sentence"}, {"bridges": False}):
        model = Constructor(choose(1))
        with opened(tmp_path / "notes.usearch", model) as index:
            evidence = retrieve(QUESTION, index, strategy="kirag", **options)
        assert (model.tasks, evidence.chain, len(evidence.steps)) == ([], (), 1)
        assert documents_of(evidence)[0] == "tide"
        assert len(evidence.ranking) == len(DOCUMENTS)
    model = Constructor(choose(1))
    with opened(tmp_path / "notes.usearch", model) as index:
        evidence = retrieve(QUESTION, index, strategy="kirag", units="passage", steps=1)
    assert [hit.kind for hit in evidence.chain] == ["passage"]


def test_triples_that_are_not_there_are_said_to_be_missing(tmp_path: Path) -> None:
    with Index(tmp_path / "plain.usearch", model="offline") as index:
        index.add("no names and no verbs here", progress=False)
        with pytest.raises(InputError, match=r"holds no triples\. Use units='sentence'"):
            retrieve("what is here?", index, strategy="kirag", units="triple")


def test_signals_can_be_left_out(tmp_path: Path) -> None:
    with Index(tmp_path / "plain.usearch", model="offline") as index:
        index.add([Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano")], progress=False)
        whole = retrieve("Where is Lake Lugano?", index, strategy="kirag").ranking[0][1]
        less = retrieve("Where is Lake Lugano?", index, strategy="kirag", without=["asked", "lexical"]).ranking[0][1]
        assert whole - less == pytest.approx(0.25 + 0.2, abs=1e-3)
        with pytest.raises(ValueError, match="there is no signal 'magic'; there are facts, lexical, asked, followed"):
            retrieve("Where is Lake Lugano?", index, strategy="kirag", without=["magic"])
