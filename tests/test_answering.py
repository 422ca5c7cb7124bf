import asyncio
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minirag import Document, Index, aask, ask
from minirag.answering import aretrieve, retrieve
from minirag.errors import IndexMissingError, LLMSetupError
from tests.loopback import Loopback, Request, Served, honest, status

AYLWIN = Document("aylwin", "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards")
LAKE = Document("lake", "Lake Lugano lies between Switzerland and Italy.", "Lake Lugano")
QUESTION = "Where was the director of the film Aylwin born?"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answering") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add([AYLWIN, HENRY, LAKE], progress=False)
    return path


def test_offline_answer_joins_two_documents(path: Path) -> None:
    answer = ask(QUESTION, path, model="offline")
    assert str(answer) == "Weston-super-Mare"
    assert answer.found
    assert {"henry"} <= {citation.document_id for citation in answer.citations}
    assert [citation.number for citation in answer.citations] == list(range(1, len(answer.citations) + 1))
    assert (answer.model, answer.strategy, answer.question) == ("offline", "kirag", QUESTION)
    assert (answer.usage.calls, answer.usage.cost) == (0, 0.0)


def test_citations_are_the_passages_behind_the_units(path: Path) -> None:
    answer = ask(QUESTION, path, model="offline")
    cited = {citation.passage_id for citation in answer.citations}
    assert cited <= {passage for hit in answer.evidence for passage in hit.passage_ids}
    texts = {document.id: document.text for document in (AYLWIN, HENRY, LAKE)}
    assert all(citation.text == texts[citation.document_id] for citation in answer.citations)


def test_naive_sees_passages(path: Path) -> None:
    answer = ask(QUESTION, path, strategy="naive", k=2, model="offline")
    assert [hit.kind for hit in answer.evidence] == ["passage", "passage"]
    assert answer.strategy == "naive"


def test_balanced_selection(path: Path) -> None:
    assert "bridge" not in {hit.kind for hit in retrieve(QUESTION, path, strategy="indexrag", k=10, k_b=0).hits}
    kinds = [hit.kind for hit in retrieve(QUESTION, path, strategy="indexrag", k=3, k_b=1).hits]
    assert kinds.count("bridge") == 1


def test_the_whole_answer_is_json(path: Path) -> None:
    answer = ask(QUESTION, path, model="offline")
    value = json.loads(json.dumps(answer.to_dict()))
    assert value["citations"][0]["passage_id"] == answer.citations[0].passage_id
    assert value["usage"]["cost"] == 0.0


def test_offline_by_default_warns_once_and_by_name_does_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIRAG_MODEL", raising=False)
    with pytest.warns(UserWarning, match="answered offline, by rules"):
        ask(QUESTION, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(QUESTION, path, model="offline")


def test_offline_answers_from_what_a_model_built_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIRAG_MODEL", raising=False)
    with Loopback() as server, Index(tmp_path / "b.usearch", model="openai/any", api_base=server.api_base) as index:
        index.add([Document("a", "Aylwin was directed by Henry Edwards.", "Aylwin")], progress=False)
        assert ask(QUESTION, index).trace.notes == ()
    with Index(tmp_path / "b.usearch", mode="r") as index:
        with pytest.warns(
            UserWarning, match=r"^answered offline, by .+, though the index was built by openai/any\. Give"
        ):
            answer = ask(QUESTION, index)
        told = "answered offline; the index was built by openai/any: name a model for answers by an LLM"
        assert answer.trace.to_dict()["notes"] == (told,)
        assert json.loads(answer.trace.to_json())["notes"] == [told]


def test_an_empty_index_answers_that_it_found_nothing(tmp_path: Path) -> None:
    with Index(tmp_path / "empty.usearch", model="offline") as index:
        for strategy in ("naive", "indexrag"):
            answer = ask(QUESTION, index, strategy=strategy)
            assert (answer.found, answer.citations, answer.evidence) == (False, (), ())
            assert answer.text == "The index holds nothing that answers this."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": "  "}, "the question is blank"),
        ({"question": None}, "the question must be a string, not None"),
        ({"k": "3"}, "k must be a whole number, not '3'"),
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"strategy": "magic"}, "unknown strategy 'magic'; there are naive, indexrag"),
        ({"strategy": "kirga"}, r"there are naive, indexrag, kirag, ircot\. Did you mean 'kirag'\?"),
        ({"strategy": "naive", "modle": "x"}, r"strategy 'naive' has no option 'modle'; it has mode\. .*'model'\?"),
        ({"strategy": "kirag", "k_b": 3}, r"'kirag' has no option 'k_b'; .*, without\. indexrag and ircot have it\.$"),
        ({"strategy": "kirag", "kb": 3}, r"'kirag' has no option 'kb'; .*, without\. Did you mean 'k_b'\?$"),
        ({"strateg": "naive"}, r"has no option 'strateg'; .* Did you mean 'strategy'\?"),
        ({"strategy": "indexrag", "k_b": -1}, "must not be negative"),
        ({"strategy": "indexrag", "colour": "red"}, r"strategy 'indexrag' has no option 'colour'; it has k_b"),
    ],
)
def test_wrong_arguments(path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask(**{"question": QUESTION, "index": path, "model": "offline", **arguments})  # type: ignore[arg-type]


def test_swapped_arguments_are_told_before_anything_else(path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a string, not .* \(the question comes before the index\)"):
        ask(path, QUESTION)  # type: ignore[arg-type]  # on purpose


def test_a_path_without_an_index(tmp_path: Path) -> None:
    with pytest.raises(IndexMissingError, match="no such index"):
        ask(QUESTION, tmp_path / "none.usearch", model="offline")
    assert list(tmp_path.iterdir()) == []


def test_awaited_inside_a_running_loop_and_blocking_there_too(path: Path) -> None:
    async def main() -> list[str]:
        with Index(path, model="offline", mode="r") as index:
            answers = await asyncio.gather(*(aask(QUESTION, index) for _ in range(8)))
            evidence = await aretrieve(QUESTION, index)
            assert evidence.hits == answers[0].evidence
            return [answer.text for answer in answers] + [ask(QUESTION, index).text]

    assert asyncio.run(main()) == ["Weston-super-Mare"] * 9


def read_reply(items: list[int], *, found: bool = True) -> dict[str, object]:
    return {"found": found, "answer": "Weston-super-Mare" if found else "It is not said.", "items": items}


def test_an_llm_reads_once_and_is_cited_by_number(path: Path) -> None:
    with (
        Loopback([Served(text=json.dumps(read_reply([2, 99, -1, 2])))]) as server,
        Index(path, model="openai/any", api_base=server.api_base, api_key="secret", mode="r") as index,
    ):
        answer = ask(QUESTION, index)
    assert len(server.requests) == 1
    assert (answer.text, answer.found, answer.model) == ("Weston-super-Mare", True, "openai/any")
    assert answer.used == (1,)
    assert {c.passage_id for c in answer.citations} == set(answer.evidence[1].passage_ids)
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.cached_tokens) == (1, 100, 40)


def test_an_llm_may_find_nothing(path: Path) -> None:
    with (
        Loopback([Served(text=json.dumps(read_reply([1], found=False)))]) as server,
        Index(path, model="openai/any", api_base=server.api_base, api_key="secret", mode="r") as index,
    ):
        answer = ask(QUESTION, index)
    assert (answer.found, answer.citations, answer.text) == (False, (), "It is not said.")


def test_another_model_for_one_question(path: Path) -> None:
    models: list[str] = []

    def serve(request: Request) -> Served:
        models.append(request.body["model"])
        return honest(request)

    with (
        Loopback(serve) as server,
        Index(path, model="openai/one", api_base=server.api_base, api_key="secret", mode="r") as index,
    ):
        ask(QUESTION, index)
        assert ask(QUESTION, index, model="openai/two").model == "openai/two"
        assert ask(QUESTION, index, model="offline").model == "offline"
    assert models == ["one", "two"]


def test_a_wrong_key_is_said_in_one_line(path: Path) -> None:
    with (
        Loopback([status(401, "Incorrect API key provided")]) as server,
        Index(path, model="openai/any", api_base=server.api_base, api_key="secret", mode="r") as index,
        pytest.raises(LLMSetupError, match="Incorrect API key provided") as caught,
    ):
        ask(QUESTION, index)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_main_job_without_litellm(tmp_path: Path) -> None:
    """As in a function package that leaves its 200 MB out."""
    code = """
import sys
sys.modules["litellm"] = None
from minirag import Document, Index, ask
index = Index(sys.argv[1], model="openai/any", api_base=sys.argv[2], api_key="secret")
report = index.add(
    [
        Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)"),
        Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards"),
    ],
    progress=False,
)
answer = ask("Who directed Aylwin?", index)
print(len(report.added), index.info().bridges, answer.found, len(answer.citations) > 0, answer.usage.cost)
"""
    with Loopback(honest) as server:
        command = [sys.executable, "-c", code, str(tmp_path / "notes.usearch"), server.api_base]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "1", "True", "True", "None"]
