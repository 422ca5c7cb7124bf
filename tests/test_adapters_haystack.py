import asyncio
import os
from pathlib import Path

import pytest

from minirag import Index
from tests.coast import ANSWER, ENGINEER, LIGHTHOUSE, QUESTION, build_coast
from tests.extras import need

pytestmark = pytest.mark.extra
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # else a pipeline reports its runs over the network
need("haystack")

from haystack import GeneratedAnswer, Pipeline  # noqa: E402
from haystack.components.builders import ChatPromptBuilder  # noqa: E402
from haystack.components.generators.chat import MockChatGenerator  # noqa: E402
from haystack.dataclasses import ChatMessage  # noqa: E402

from minirag.adapters.haystack import MiniragAnswerer, MiniragRetriever  # noqa: E402

TEMPLATE = "{% for document in documents %}{{ document.meta.title }}: {{ document.content }}\n{% endfor %}{{ query }}"


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_coast(tmp_path_factory.mktemp("coast") / "coast.usearch")


def test_documents_carry_id_meta_and_score(coast: Path) -> None:
    first, second = MiniragRetriever(coast, model="offline", top_k=2).run(query=QUESTION)["documents"]

    assert first.id == first.meta["passage_id"]
    assert first.content is not None
    assert first.content.startswith("Hallow Head Lighthouse stands on a chalk headland")
    assert (first.meta["title"], first.meta["initial"], first.meta["set"]) == ("Hallow Head Lighthouse", "H", "coast")
    assert [first.meta["document_id"], second.meta["document_id"]] == [LIGHTHOUSE, ENGINEER]
    assert first.score is not None
    assert second.score is not None
    assert first.score > second.score > 0


def test_awaited_and_overridden(coast: Path) -> None:
    retriever = MiniragRetriever(coast, model="offline", top_k=2)
    retriever.warm_up()

    found = retriever.run(query=QUESTION)

    assert asyncio.run(retriever.run_async(query=QUESTION)) == found
    assert retriever.run(query=QUESTION, top_k=1) == {"documents": found["documents"][:1]}
    with pytest.raises(ValueError, match="k must be at least 1"):
        retriever.run(query=QUESTION, top_k=0)


def test_filters_narrow(coast: Path) -> None:
    retriever = MiniragRetriever(coast, model="offline", top_k=9, where={"initial": {"$in": ["H", "L"]}})
    filters = {"field": "meta.initial", "operator": "!=", "value": "H"}

    assert {each.meta["initial"] for each in retriever.run(query=QUESTION)["documents"]} == {"H", "L"}
    found = retriever.run(query=QUESTION, filters=filters)
    assert {each.meta["initial"] for each in found["documents"]} == {"L"}
    assert asyncio.run(retriever.run_async(query=QUESTION, filters=filters)) == found
    answerer = MiniragAnswerer(coast, model="offline")
    assert answerer.run(query=QUESTION)["replies"] == [ANSWER]
    assert answerer.run(query=QUESTION, filters={**filters, "operator": "=="})["replies"] != [ANSWER]


def build_pipeline(coast: Path) -> Pipeline:
    """Its generator repeats the prompt, which must hold both passages."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", MiniragRetriever(coast, model="offline", strategy="kirag", top_k=3))
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables="*"))
    pipeline.add_component("model", MockChatGenerator())
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    return pipeline


def test_a_pipeline_answers(coast: Path) -> None:
    given = {"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}}
    pipeline = build_pipeline(coast)

    told = pipeline.run(given)["model"]["replies"][0].text
    awaited = asyncio.run(pipeline.run_async(given))["model"]["replies"][0].text

    assert "It was designed by Lucasta Farrow" in told
    assert "She was born in Aldermoor" in told
    assert awaited == told


def test_a_pipeline_is_saved_and_loaded(coast: Path) -> None:
    pipeline = build_pipeline(coast)

    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["minirag.adapters.haystack"])

    assert loaded.to_dict()["components"]["retriever"] == pipeline.to_dict()["components"]["retriever"]
    given = {"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}}
    assert "She was born in Aldermoor" in loaded.run(given)["model"]["replies"][0].text


def test_an_open_index_is_saved_by_its_path(coast: Path) -> None:
    with Index(coast, mode="r", model="offline") as index:
        view = index.filtered({"set": "coast"})
        retriever = MiniragRetriever(view, strategy="indexrag", top_k=4, texts="evidence", options={"k_b": 1})
        answerer = MiniragAnswerer(index)
        found = retriever.run(query=QUESTION)

    assert retriever.to_dict() == {
        "type": "minirag.adapters.haystack.MiniragRetriever",
        "init_parameters": {
            "index": str(coast),
            "model": "offline",
            "strategy": "indexrag",
            "top_k": 4,
            "where": {"set": "coast"},
            "texts": "evidence",
            "options": {"k_b": 1},
        },
    }
    assert [each.meta["kind"] for each in found["documents"]].count("bridge") == 1
    assert MiniragRetriever.from_dict(retriever.to_dict()).run(query=QUESTION) == found
    assert MiniragAnswerer.from_dict(answerer.to_dict()).run(query=QUESTION)["replies"] == [ANSWER]


def test_the_answerer_answers_with_its_sources(coast: Path) -> None:
    answerer = MiniragAnswerer(coast, model="offline", strategy="kirag")
    pipeline = Pipeline()
    pipeline.add_component("answerer", answerer)
    answerer.warm_up()

    given = pipeline.run({"answerer": {"query": QUESTION}})["answerer"]
    awaited = asyncio.run(pipeline.run_async({"answerer": {"query": QUESTION}}))["answerer"]

    (answer,) = given["answers"]
    assert isinstance(answer, GeneratedAnswer)
    assert (answer.data, answer.query, given["replies"]) == (ANSWER, QUESTION, [ANSWER])
    assert {each.meta["document_id"] for each in answer.documents} == {ENGINEER, LIGHTHOUSE}
    assert (answer.meta["found"], answer.meta["model"], answer.meta["strategy"]) == (True, "offline", "kirag")
    assert awaited["answers"][0].documents == answer.documents


def test_wrong_options_are_said_when_it_is_made(coast: Path) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        MiniragRetriever(coast, top_k=0)
    with pytest.raises(ValueError, match="strategy 'naive' has no option 'steps'; it has mode"):
        MiniragAnswerer(coast, strategy="naive", options={"steps": 2})
