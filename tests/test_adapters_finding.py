import asyncio
import copy
import subprocess
import sys
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.adapters.extras import missing
from minirag.adapters.finding import Source, Way, aanswer_with_texts, afind, answer_with_texts, find
from minirag.adapters.telling import tell
from minirag.answering import ask, retrieve
from minirag.demo import load_documents
from minirag.errors import IndexMissingError
from minirag.records import Place
from tests.coast import ANSWER, ENGINEER, LIGHTHOUSE, QUESTION, build_coast


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_coast(tmp_path_factory.mktemp("coast") / "coast.usearch")


@pytest.fixture
def source(coast: Path) -> Source:
    return Source(coast, "offline")


def test_passages_come_as_the_strategy_ranks_them(source: Source, coast: Path) -> None:
    found = find(QUESTION, source, Way("kirag", 3))

    ranking = retrieve(QUESTION, coast, strategy="kirag", k=3, model="offline").ranking
    assert [(each.id, each.score) for each in found] == list(ranking[:3])
    assert [each.metadata["document_id"] for each in found[:2]] == [LIGHTHOUSE, ENGINEER]


def test_a_passage_has_its_place_and_its_document_s_metadata(source: Source, coast: Path) -> None:
    first = find(QUESTION, source, Way(k=1))[0]

    with Index(coast, mode="r", model="offline") as index:
        text = index.document(LIGHTHOUSE).text
    assert first.text == text[first.metadata["start"] : first.metadata["end"]]
    assert first.metadata == {
        "initial": "H",
        "set": "coast",
        "kind": "passage",
        "title": "Hallow Head Lighthouse",
        "document_id": LIGHTHOUSE,
        "passage_id": first.id,
        "start": 0,
        "end": len(text),
    }


@pytest.mark.parametrize("strategy", ["indexrag", "naive", "ircot", "kirag"])
def test_every_strategy_gives_five_passages_unless_told_otherwise(source: Source, strategy: str) -> None:
    found = find(QUESTION, source, Way(strategy))

    assert {each.metadata["kind"] for each in found} == {"passage"}
    assert len({each.id for each in found}) == len(found) == 5
    assert len(find(QUESTION, source, Way(strategy, 9))) == 9


def test_evidence_is_what_the_reader_sees(source: Source, coast: Path) -> None:
    found = find(QUESTION, source, Way("indexrag", 4, "evidence"))

    hits = retrieve(QUESTION, coast, strategy="indexrag", k=4, model="offline").hits
    assert [(each.id, each.text, each.score) for each in found] == [(hit.id, hit.text, hit.score) for hit in hits]
    bridges = [place for place, hit in enumerate(hits) if hit.kind == "bridge"]
    first = next(place for place in bridges if hits[place].document_ids == (LIGHTHOUSE, ENGINEER))
    assert found[first].metadata == {
        "set": "coast",  # both say so; their initials differ
        "kind": "bridge",
        "title": "Hallow Head Lighthouse / Lucasta Farrow",
        "document_ids": [LIGHTHOUSE, ENGINEER],
        "passage_ids": list(hits[first].passage_ids),
        "titles": ["Hallow Head Lighthouse", "Lucasta Farrow"],
    }
    fact = next(each.metadata for each, hit in zip(found, hits, strict=True) if hit.kind == "fact")
    assert fact["initial"] == fact["document_id"][0].upper()


def test_evidence_of_kirag_is_passages(source: Source) -> None:
    assert find(QUESTION, source, Way("kirag", 3, "evidence"))[0] == find(QUESTION, source, Way("kirag", 3))[0]


def test_an_answer_comes_with_the_passages_that_it_cites(source: Source, coast: Path) -> None:
    answer, cited = answer_with_texts(QUESTION, source, Way("kirag"))

    assert answer.text == ANSWER
    assert [each.id for each in cited] == [citation.passage_id for citation in answer.citations]
    assert [each.text for each in cited] == [citation.text for citation in answer.citations]
    assert ask(QUESTION, coast, strategy="kirag", model="offline").citations == answer.citations


def test_awaited_it_is_the_same(source: Source) -> None:
    way = Way("kirag", 3)

    assert asyncio.run(afind(QUESTION, source, way)) == find(QUESTION, source, way)
    assert asyncio.run(aanswer_with_texts(QUESTION, source, way))[1] == answer_with_texts(QUESTION, source, way)[1]


def test_a_path_is_opened_once_and_follows_other_writers(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(Document("lake", "Lake Lugano lies in Switzerland."), progress=False)
        source = Source(path, "offline")
        opened = source.open()
        assert len(find("Where does Como lie?", source, Way())) == 1

        index.add(Document("como", "Como lies in Italy."), progress=False)

        assert [each.metadata["document_id"] for each in find("Where does Como lie?", source, Way())] == [
            "como",
            "lake",
        ]
        assert source.open() is opened


def test_an_open_index_is_used_as_it_is(coast: Path) -> None:
    with Index(coast, mode="r", model="offline") as index:
        source = Source(index, None)

        assert source.open() is index
        assert source.describe(None) == {"index": str(coast), "model": "offline", "where": None}
        with pytest.raises(TypeError, match="pass its path, and open it there"):
            copy.deepcopy(source)


def test_a_source_of_a_path_can_be_copied(source: Source) -> None:
    assert find(QUESTION, copy.deepcopy(source), Way(k=1)) == find(QUESTION, source, Way(k=1))


def test_a_missing_file_is_said_at_the_first_question(tmp_path: Path) -> None:
    source = Source(tmp_path / "none.usearch", None)

    with pytest.raises(IndexMissingError, match="no such index"):
        find(QUESTION, source, Way())


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"texts": "facts"}, "texts must be one of passages, evidence, not 'facts'"),
        ({"where": {"year": {"$near": 2}}}, r"unknown operator '\$near' in year"),
        ({"strategy": "graph"}, "unknown strategy 'graph'; there are naive, indexrag, kirag, ircot"),
        ({"strategy": "naive", "options": {"steps": 2}}, "strategy 'naive' has no option 'steps'; it has mode"),
    ],
)
def test_wrong_options_are_said_at_once(way: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Way(**way)  # type: ignore[arg-type]  # that is the point


def test_options_reach_the_strategy(source: Source) -> None:
    lexical = find("chalk headland", source, Way("naive", 1, options={"mode": "lexical"}))

    assert lexical[0].metadata["document_id"] == LIGHTHOUSE
    assert lexical[0].score != find("chalk headland", source, Way("naive", 1))[0].score


def test_filters_hold_for_all_that_is_given(source: Source, coast: Path) -> None:
    only = {"initial": {"$in": ["H", "P"]}}
    for texts in ("passages", "evidence"):
        for found in find(QUESTION, source, Way("indexrag", 50, texts, only)):
            documents = found.metadata.get("document_ids") or [found.metadata["document_id"]]
            assert {source.open().document(each).metadata["initial"] for each in documents} <= {"H", "P"}
    answer, cited = answer_with_texts(QUESTION, source, Way("kirag", where={"initial": "H"}))
    assert (answer.text != ANSWER, {each.metadata["initial"] for each in cited} <= {"H"}) == (True, True)

    with Index(coast, mode="r", model="offline") as index:
        view = Source(index.filtered({"initial": "L"}), None)
        assert [each.metadata["initial"] for each in find(QUESTION, view, Way(k=9))] == ["L"]
        assert find(QUESTION, view, Way(k=9, where={"initial": "H"})) == []
        described = view.describe({"set": "coast"})
    assert described["where"] == {"$and": [{"initial": "L"}, {"set": "coast"}]}
    assert [each.metadata["initial"] for each in find(QUESTION, source, Way(k=9, where=described["where"]))] == ["L"]


def test_a_missing_framework_is_named_with_the_extra() -> None:
    error = missing("langchain", ModuleNotFoundError("No module named 'langchain_core'", name="langchain_core"))

    assert error.name == "langchain_core"
    assert str(error).endswith("Install it: pip install 'minirag[langchain]'")


@pytest.mark.parametrize(
    ("module", "package"),
    [("langchain", "langchain_core"), ("llama_index", "llama_index"), ("haystack", "haystack"), ("mcp", "mcp")],
)
def test_an_adapter_without_its_framework_says_what_to_install(module: str, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import minirag.adapters.{module}"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"pip install 'minirag[{module.replace('_', '-')}]'" in done.stderr.splitlines()[-1]


def test_the_command_without_the_sdk_says_what_to_install(coast: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from minirag.cli import main; main()"

    command = [sys.executable, "-c", code, "mcp", str(coast)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Install it: pip install 'minirag[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_documents_come_back_as_they_were_added(tmp_path: Path) -> None:
    odd = Document("odd", "\n  One.\n\n" + "A sentence about nothing. " * 200 + "\n \n", "", {"a": [1, {"b": None}]})
    with Index(tmp_path / "notes.usearch", model="offline") as index:
        index.add([odd, *load_documents()[:2]], progress=False)

        assert [index.document(each) for each in index.document_ids()] == [odd, *load_documents()[:2]]
        with pytest.raises(KeyError, match="none"):
            index.document("none")


def test_a_passage_of_a_file_says_where_it_stands(tmp_path: Path) -> None:
    text = "The engine ran at night.\n\nAda Holm was born in Bergen."
    places = (Place(0, "page", 1), Place(26, "page", 2))
    with Index(tmp_path / "n.usearch", model="offline") as index:
        index.add(Document("log", text, "Log", places=places), progress=False)
        answer, cited = answer_with_texts("Where was Ada Holm born?", Source(index, None), Way("naive"))

    assert [each.metadata["location"] for each in cited] == ["pages 1–2"]
    assert "[1] Log (log), pages 1–2\n" in tell(answer)
