import asyncio
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import minirag
from minirag import Answer, Index
from tests.coast import ANSWER, ENGINEER, LIGHTHOUSE, QUESTION, build_coast
from tests.extras import need

pytestmark = pytest.mark.extra
need("langchain_core")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.language_models import FakeListChatModel  # noqa: E402
from langchain_core.load import dumps, loads  # noqa: E402
from langchain_core.output_parsers import StrOutputParser  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import RunnablePassthrough  # noqa: E402
from langchain_core.tools import BaseTool, ToolException  # noqa: E402

from minirag.adapters.langchain import MiniragRetriever, MiniragTool  # noqa: E402


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_coast(tmp_path_factory.mktemp("coast") / "coast.usearch")


def test_documents_carry_id_metadata_and_score(coast: Path) -> None:
    retriever = MiniragRetriever(index=coast, model="offline", k=2)

    first, second = retriever.invoke(QUESTION)

    assert isinstance(retriever, BaseRetriever)
    assert isinstance(first, Document)
    assert first.page_content.startswith("Hallow Head Lighthouse stands on a chalk headland")
    assert first.id == first.metadata["passage_id"]
    assert {name: first.metadata[name] for name in ("title", "source", "document_id", "initial", "set", "kind")} == {
        "title": "Hallow Head Lighthouse",
        "source": LIGHTHOUSE,
        "document_id": LIGHTHOUSE,
        "initial": "H",
        "set": "coast",
        "kind": "passage",
    }
    assert first.metadata["score"] > second.metadata["score"] > 0
    assert second.metadata["document_id"] == ENGINEER


def test_facts_and_bridging_facts_as_documents(coast: Path) -> None:
    retriever = MiniragRetriever(index=coast, model="offline", strategy="indexrag", k=9, texts="evidence")

    sources = {(each.metadata["kind"], each.metadata["source"]) for each in retriever.invoke(QUESTION)}

    assert {("bridge", f"{LIGHTHOUSE}, {ENGINEER}"), ("fact", LIGHTHOUSE)} <= sources


def test_awaited_batched_and_overridden(coast: Path) -> None:
    retriever = MiniragRetriever(index=coast, model="offline", k=2)

    found = retriever.invoke(QUESTION)

    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    assert retriever.batch([QUESTION, QUESTION]) == [found, found]
    assert retriever.invoke(QUESTION, k=1) == found[:1]
    assert asyncio.run(retriever.ainvoke(QUESTION, k=1)) == found[:1]
    retriever.k = 1
    assert retriever.invoke(QUESTION) == found[:1]


def test_filters_narrow(coast: Path) -> None:
    retriever = MiniragRetriever(index=coast, model="offline", k=9, where={"initial": {"$in": ["H", "L"]}})

    def initials(found: list[Document]) -> set[str]:
        return {each.metadata["initial"] for each in found}

    assert initials(retriever.invoke(QUESTION)) == {"H", "L"}
    assert initials(retriever.invoke(QUESTION, where={"initial": {"$ne": "H"}})) == {"L"}
    assert initials(asyncio.run(retriever.ainvoke(QUESTION, where={"initial": "H"}))) == {"H"}
    assert retriever.invoke(QUESTION, where={"initial": "R"}) == []
    tool = MiniragTool(index=coast, model="offline", where={"initial": "H"})
    assert "Aldermoor" not in tool.invoke(QUESTION)


def test_a_chain_answers(coast: Path) -> None:
    """The fake model says what it is told to; what matters is that the prompt holds both passages."""
    seen: list[str] = []

    def look(prompt: Any) -> Any:  # noqa: ANN401
        seen.append(prompt.to_string())
        return prompt

    def join(documents: list[Document]) -> str:
        return "\n\n".join(f"{each.metadata['title']}: {each.page_content}" for each in documents)

    retriever = MiniragRetriever(index=str(coast), model="offline")
    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    given = {"context": retriever | join, "question": RunnablePassthrough()}
    chain = given | prompt | look | FakeListChatModel(responses=[ANSWER]) | StrOutputParser()

    assert chain.invoke(QUESTION) == ANSWER
    assert "It was designed by Lucasta Farrow" in seen[0]
    assert "She was born in Aldermoor" in seen[0]


def test_it_is_taken_apart_and_put_together(coast: Path) -> None:
    options = {"strategy": "kirag", "k": 2, "options": {"constructor": False, "steps": 1}}
    with Index(coast, mode="r", model="offline") as index:
        retriever = MiniragRetriever(index=index.filtered({"initial": {"$in": ["H", "R"]}}), **options)
        saved, found = dumps(retriever), retriever.invoke(QUESTION)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is in beta")
        loaded = loads(saved, allowed_objects=[MiniragRetriever], valid_namespaces=["minirag"])

    assert (loaded.index, loaded.model, loaded.options) == (str(coast), "offline", options["options"])
    assert loaded.where == {"initial": {"$in": ["H", "R"]}}
    assert loaded.invoke(QUESTION) == found


def test_wrong_options_are_said_when_it_is_made(coast: Path) -> None:
    with pytest.raises(ValueError, match="Input should be 'indexrag', 'kirag', 'ircot' or 'naive'"):
        MiniragRetriever(index=coast, strategy="graph")
    with pytest.raises(ValueError, match="k must be at least 1"):
        MiniragRetriever(index=coast, k=0)
    with pytest.raises(ValueError, match="strategy 'naive' has no option 'steps'; it has mode"):
        MiniragTool(index=coast, strategy="naive", options={"steps": 2})


def test_the_tool_answers_with_its_sources(coast: Path) -> None:
    tool = MiniragTool(index=coast, model="offline")

    message = tool.invoke({"name": tool.name, "args": {"question": QUESTION}, "id": "call-1", "type": "tool_call"})

    assert isinstance(tool, BaseTool)
    assert list(tool.args) == ["question"]
    assert message.tool_call_id == "call-1"
    assert message.content.startswith(f"{ANSWER}\n\n[1] ")
    assert re.search(r"^\[\d\] Lucasta Farrow \(lucasta-farrow\)\nLucasta Farrow \(1822", message.content, re.MULTILINE)
    assert re.search(r"^\[\d\] Hallow Head Lighthouse \(hallow-head-lighthouse\)$", message.content, re.MULTILINE)
    assert isinstance(message.artifact, Answer)
    assert message.artifact.text == ANSWER
    assert asyncio.run(tool.ainvoke({"question": QUESTION})) == message.content == tool.invoke(QUESTION)


def test_the_tool_says_what_it_cannot_answer(coast: Path) -> None:
    text = MiniragTool(index=coast, model="offline").invoke("What is the atomic weight of bismuth?")

    assert text.endswith("(The indexed documents do not answer this.)")


def test_the_tool_s_errors_reach_the_agent(tmp_path: Path) -> None:
    missing = tmp_path / "none.usearch"

    with pytest.raises(ToolException, match=r"none\.usearch: no such index"):
        MiniragTool(index=missing, model="offline").invoke(QUESTION)
    told = MiniragTool(index=missing, model="offline", handle_tool_error=True).invoke(QUESTION)
    assert told.startswith(f"{missing}: no such index")
    with pytest.raises(ToolException, match=r"none\.usearch: no such index"):
        asyncio.run(MiniragTool(index=missing, model="offline").ainvoke(QUESTION))


def test_the_readme_s_example(coast: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (Path(minirag.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from minirag.adapters.langchain.*?)```", readme, flags=re.DOTALL)
    monkeypatch.chdir(coast.parent)
    coast.with_name("notes.usearch").write_bytes(coast.read_bytes())

    names: dict[str, Any] = {}

    exec(compile(code, "README.md", "exec"), names)

    found = names["retriever"].invoke("Where was the director of the film Aylwin born?")
    shown = [f"{each.metadata['title']} {each.metadata['score']} {each.page_content}\n" for each in found]
    assert len(shown) == 4
    assert capsys.readouterr().out == "".join(shown)
    assert names["tool"].model == "openai/gpt-4o-mini"
