"""The picture of an index: what is in it, and how it is written."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from minirag import Document, Index
from minirag.cli import program
from minirag.drawing import look_at
from minirag.errors import OutputError
from tests.chained import DOCUMENTS, build, build_with_strays
from tests.stored import make_documents, open_offline
from tests.test_pages import EVIL, Parsed


def data_of(page: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(re.search(r'id="data">(.*?)</script>', page.decode(), re.DOTALL)[1])  # type: ignore[index]  # it is there
    return found


def drawn(index: Index, **options: int) -> dict[str, Any]:
    file = BytesIO()
    index.draw(file, progress=False, **options)
    return data_of(file.getvalue())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_offline(build(tmp_path_factory.mktemp("drawn") / "notes.usearch", commits=(5, 7)), mode="r")


def test_it_holds_all_documents_and_all_that_joins_them(index: Index) -> None:
    data = drawn(index)

    assert data["name"] == "notes.usearch"
    assert sorted((id_, title, text) for id_, title, text, _ in data["documents"]) == sorted(
        (each.id, each.title, each.text) for each in DOCUMENTS
    )
    info = index.info()
    assert len(data["bridges"]) == info.bridges
    assert len(data["entities"]) == info.bridge_entities
    assert data["left_out"] == 0
    ids = [each[0] for each in data["documents"]]
    joined = {(data["entities"][entity], *(ids[place] for place in places)) for entity, _, places in data["bridges"]}
    assert ("Marta Ellinghaus", "marta", "tide") in {(name, *sorted(each)) for name, *each in joined}


def test_what_was_deleted_is_not_in_it(tmp_path: Path) -> None:
    with open_offline(build_with_strays(tmp_path / "notes.usearch"), mode="r") as opened:
        page = BytesIO()
        opened.draw(page, progress=False)

    assert b"stray" not in page.getvalue()
    assert len(data_of(page.getvalue())["documents"]) == len(DOCUMENTS)


@pytest.mark.parametrize("most", [1, 7, 12, 25, 60])
def test_the_least_connected_is_left_out(tmp_path: Path, most: int) -> None:
    with open_offline(tmp_path / "notes.usearch") as opened:
        opened.add(make_documents(20), progress=False)
        all_of_it = drawn(opened)
        data = drawn(opened, most_nodes=most)

    total = sum(len(all_of_it[name]) for name in ("documents", "entities", "bridges"))
    shown = sum(len(data[name]) for name in ("documents", "entities", "bridges"))
    assert total == 40
    assert shown <= most
    assert shown >= min(most - 3, total)
    assert data["left_out"] == sum(len(all_of_it[name]) - len(data[name]) for name in ("documents", "bridges"))
    assert all(place < len(data["documents"]) for _, _, places in data["bridges"] for place in places)


def test_long_texts_are_cut(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as opened:
        opened.add(Document("long", "Ten bells. " * 2_000), progress=False)
        [[id_, title, text, is_cut]] = drawn(opened)["documents"]

    assert (id_, title, len(text), is_cut) == ("long", "", 20_000, True)


def test_progress_reaches_the_total(index: Index) -> None:
    told: list[tuple[str, int, int]] = []
    index.draw(BytesIO(), progress=lambda *step: told.append(step))

    total = len(DOCUMENTS) + index.info().bridges
    assert told[-1] == ("drawing", total, total)


def test_an_empty_index(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as opened:
        assert drawn(opened) == {
            "name": "notes.usearch",
            "documents": [],
            "entities": [],
            "bridges": [],
            "left_out": 0,
        }
        assert look_at(opened.snapshot, most_nodes=1, progress=lambda _: None).documents == []


def test_no_text_breaks_out(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as opened:
        opened.add(
            [Document(EVIL, f"{EVIL} Ada Brell spoke.", EVIL), Document("b", f"Ada Brell {EVIL}")], progress=False
        )
        opened.draw(tmp_path / "graph.html", progress=False)

    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    parsed = Parsed(page)
    assert parsed.tags.count("script") == 2
    assert parsed.tags.count("style") == 1
    assert data_of(page.encode())["documents"][0][0] == EVIL


def test_the_index_itself_is_not_overwritten(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as opened:
        before = opened.path.read_bytes()
        for write in (opened.draw, opened.export):
            with pytest.raises(ValueError, match=r"notes\.usearch is the index itself; write to another file"):
                write(tmp_path / "." / "notes.usearch")
        command = ["ask", "Who?", "--index", str(opened.path), "--html", str(opened.path)]
        done = CliRunner().invoke(program, command)
        assert done.exit_code == 2
        assert "is the index itself" in done.stderr
        assert opened.path.read_bytes() == before


def test_wrong_arguments(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="most_nodes must be at least 1, not 0"):
        index.draw(BytesIO(), most_nodes=0)
    with pytest.raises(OutputError, match="could not be written: No such file or directory"):
        index.draw(tmp_path / "no" / "graph.html", progress=False)


# --- command line --------------------------------------------------------------------------------------------------


def test_graph_command(index: Index, tmp_path: Path) -> None:
    page = tmp_path / "graph.html"

    done = CliRunner().invoke(program, ["graph", str(index.path), "-o", str(page)])

    assert done.exit_code == 0
    assert re.fullmatch(rf"{re.escape(str(page))}: open it in a browser \(0\.0\d MB\)\n", done.stdout)
    assert data_of(page.read_bytes()) == drawn(index)


def test_graph_to_standard_output(index: Index) -> None:
    done = CliRunner().invoke(program, ["graph", str(index.path), "--output", "-", "--max-nodes", "9"])

    assert (done.exit_code, done.stderr) == (0, "")
    assert data_of(done.stdout_bytes) == drawn(index, most_nodes=9)


def test_graph_of_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(program, ["graph", str(tmp_path / "none.usearch"), "-o", str(tmp_path / "graph.html")])

    assert done.exit_code == 1
    assert "there is no such file" in done.stderr
    assert list(tmp_path.iterdir()) == []
