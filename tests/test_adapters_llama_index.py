import asyncio
from pathlib import Path

import pytest

from minirag import Index
from tests.coast import ANSWER, ENGINEER, LIGHTHOUSE, QUESTION, build_coast
from tests.extras import need

pytestmark = pytest.mark.extra
need("llama_index.core")

from llama_index.core import get_response_synthesizer  # noqa: E402
from llama_index.core.llms import MockLLM  # noqa: E402
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine  # noqa: E402
from llama_index.core.retrievers import BaseRetriever  # noqa: E402
from llama_index.core.schema import MetadataMode  # noqa: E402
from llama_index.core.tools import QueryEngineTool  # noqa: E402
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters  # noqa: E402

from minirag.adapters.llama_index import MiniragQueryEngine, MiniragRetriever  # noqa: E402


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_coast(tmp_path_factory.mktemp("coast") / "coast.usearch")


def test_nodes_carry_id_metadata_score_and_source(coast: Path) -> None:
    retriever = MiniragRetriever(coast, model="offline", k=2)

    first, second = retriever.retrieve(QUESTION)

    assert isinstance(retriever, BaseRetriever)
    assert first.node.node_id == first.node.metadata["passage_id"]
    assert (first.node.ref_doc_id, second.node.ref_doc_id) == (LIGHTHOUSE, ENGINEER)
    assert (first.node.metadata["title"], first.node.metadata["initial"]) == ("Hallow Head Lighthouse", "H")
    assert first.score is not None
    assert second.score is not None
    assert first.score > second.score > 0
    assert (first.node.start_char_idx, first.node.end_char_idx) == (0, len(first.node.text))


def test_a_model_is_shown_the_title_and_the_document_s_metadata_only(coast: Path) -> None:
    for retriever in (
        MiniragRetriever(coast, model="offline", k=1),
        MiniragRetriever(coast, model="offline", strategy="indexrag", k=1, texts="evidence"),
    ):
        (found,) = retriever.retrieve(QUESTION)

        shown = found.node.get_metadata_str(MetadataMode.LLM).splitlines()
        assert {line.partition(":")[0] for line in shown} <= {"title", "initial", "set"}
        assert shown[-1].startswith("title: Hallow Head Lighthouse")


def test_a_bridging_fact_has_no_single_source(coast: Path) -> None:
    retriever = MiniragRetriever(coast, model="offline", strategy="indexrag", k=9, texts="evidence")
    found = [each.node for each in retriever.retrieve(QUESTION)]

    assert [LIGHTHOUSE, ENGINEER] in [node.metadata["document_ids"] for node in found if node.ref_doc_id is None]
    assert LIGHTHOUSE in {node.ref_doc_id for node in found}


def test_filters_narrow(coast: Path) -> None:
    starting = MetadataFilters(filters=[MetadataFilter(key="initial", operator=FilterOperator.IN, value=["H", "L"])])
    either = MiniragRetriever(coast, model="offline", k=9, filters=starting)
    both = MiniragRetriever(coast, model="offline", k=9, filters=starting, where={"initial": {"$ne": "H"}})
    engine = MiniragQueryEngine(index=coast, model="offline", where={"initial": "H"})

    assert {each.node.metadata["initial"] for each in either.retrieve(QUESTION)} == {"H", "L"}
    assert {each.node.metadata["initial"] for each in both.retrieve(QUESTION)} == {"L"}
    assert str(engine.query(QUESTION)) != ANSWER


def test_awaited_it_is_the_same(coast: Path) -> None:
    retriever = MiniragRetriever(coast, model="offline")

    assert asyncio.run(retriever.aretrieve(QUESTION)) == retriever.retrieve(QUESTION)


def test_a_pipeline_answers(coast: Path) -> None:
    """The mock model repeats its prompt, which must hold both passages."""
    synthesizer = get_response_synthesizer(llm=MockLLM())
    engine = RetrieverQueryEngine(MiniragRetriever(str(coast), model="offline"), response_synthesizer=synthesizer)

    response = engine.query(QUESTION)

    assert "It was designed by Lucasta Farrow" in str(response)
    assert "She was born in Aldermoor" in str(response)
    assert [node.node.ref_doc_id for node in response.source_nodes[:2]] == [LIGHTHOUSE, ENGINEER]


def test_the_query_engine_answers_with_its_sources(coast: Path) -> None:
    with Index(coast, mode="r", model="offline") as index:
        engine = MiniragQueryEngine(index=index, strategy="kirag", k=4)

        response = engine.query(QUESTION)
        awaited = asyncio.run(engine.aquery(QUESTION))

    assert isinstance(engine, CustomQueryEngine)
    assert str(response) == str(awaited) == ANSWER
    assert [node.node.ref_doc_id for node in response.source_nodes] == [ENGINEER, LIGHTHOUSE]
    assert response.source_nodes == awaited.source_nodes
    assert response.metadata is not None
    assert {name: response.metadata[name] for name in ("found", "model", "strategy")} == {
        "found": True,
        "model": "offline",
        "strategy": "kirag",
    }
    assert response.metadata["usage"]["calls"] == 0


def test_the_query_engine_as_a_tool(coast: Path) -> None:
    engine = MiniragQueryEngine(index=coast, model="offline")
    tool = QueryEngineTool.from_defaults(engine, name="coast", description="Articles about a coast.")

    assert tool.call(QUESTION).content == ANSWER


def test_wrong_options_are_said_when_it_is_made(coast: Path) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        MiniragRetriever(coast, k=0)
    with pytest.raises(ValueError, match="strategy 'naive' has no option 'steps'; it has mode"):
        MiniragQueryEngine(index=coast, strategy="naive", options={"steps": 2})
