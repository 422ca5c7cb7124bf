"""Files of format 1 are read as they are, added to, and written afresh in the present one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag import Document, Index, ask
from minirag.cli.running import program
from minirag.errors import EncoderError, EncoderMismatchError
from minirag.naming.names import normalise_name
from minirag.records import Estimate
from minirag.repairing import repair
from minirag.storage.finding import find_commit
from minirag.storage.layout import FORMAT
from minirag.storage.snapshot import open_snapshot
from minirag.storage.store import Store
from tests.loopback import Loopback
from tests.older_files import make_older
from tests.stored import answers_of, contents_of, make_documents, open_offline, shipped_encoder, vectors_of


@pytest.fixture(scope="module")
def older_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("older") / "notes.usearch"
    with open_offline(path) as index:
        index.add(make_documents(12), progress=False)
    held = make_older(path)
    assert contents_of(open_snapshot(path)) == contents_of(held)
    return path


@pytest.fixture
def older(older_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "notes.usearch"
    path.write_bytes(older_file.read_bytes())
    return path


def format_of(path: Path) -> int:
    with path.open("rb") as file:
        return find_commit(path, file).format


def test_it_is_of_format_1(older: Path) -> None:
    sections = open_snapshot(older).contents.segments[0].sections
    assert {"facts offsets", "triple vectors"} <= set(sections)
    assert format_of(older) == Index.verify(older).format == 1


def test_it_is_read_as_it_is(older: Path) -> None:
    before = older.read_bytes()
    with Index(older, mode="r", model="offline", encoder=shipped_encoder()) as index:
        assert index.search("Who wrote The Harbour Book 3?")
        assert index.search("Who wrote The Harbour Book 3?", kinds=["triple"])
        answer = ask("Where was the author of The Harbour Book 3 born?", index, strategy="kirag", units="triple")
        assert answer.citations
    assert Index.verify(older).whole
    assert older.read_bytes() == before


def test_it_is_added_to(older: Path) -> None:
    with open_offline(older) as index:
        index.add(make_documents(2, start=12), progress=False)
        index.delete(["doc3"], progress=False)
        added = contents_of(index.snapshot)
    assert format_of(older) == FORMAT
    assert Index.verify(older).whole
    with open_offline(older.with_name("new.usearch")) as fresh:
        fresh.add([d for d in make_documents(14) if d.id != "doc3"], progress=False)
        assert contents_of(fresh.snapshot) == added


def test_written_afresh_it_is_smaller_and_the_same(older: Path) -> None:
    held, before = open_snapshot(older), older.stat().st_size
    with open_offline(older) as index:
        index.compact()
    after = open_snapshot(older)
    assert format_of(older) == FORMAT
    assert older.stat().st_size < 0.8 * before
    assert contents_of(after) == contents_of(held)
    assert answers_of(after) == answers_of(held)
    assert vectors_of(after) == vectors_of(held)


@pytest.mark.parametrize("section", ["facts offsets", "passages offsets", "triple vectors", "fact slices"])
def test_damaged_it_is_repaired(older: Path, section: str) -> None:
    held = open_snapshot(older)
    contents = contents_of(held)
    place = held.contents.segments[0].sections[section].offset
    data = bytearray(older.read_bytes())
    data[place] ^= 4
    older.write_bytes(data)
    new = older.with_name("new.usearch")
    assert repair(older, new, encoder=shipped_encoder(), progress=False).lossless
    assert contents_of(open_snapshot(new)) == contents
    assert format_of(new) == FORMAT


# --- whose encoder is not to be had ---------------------------------------------------------------------------------


@pytest.fixture
def first(older: Path) -> Path:
    """As minirag 0.2 left it: its encoder is not the one that ships any more."""
    return with_encoder(older, name="minirag-aligner-1", fingerprint="0" * 16)


def with_encoder(path: Path, **changed: object) -> Path:
    store = Store(path, mode="a", normalise=normalise_name)
    encoder = store.snapshot.header["encoder"] | changed
    header = {name: value for name, value in store.snapshot.header.items() if name != "aligner"}
    with store.writing():
        store.replace_all(store.read_all(), {**header, "encoder": encoder})
    store.close()
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(program, [str(argument) for argument in arguments], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_what_encodes_nothing_works_with_it(first: Path, tmp_path: Path) -> None:
    assert "minirag-aligner-1, 384 dimensions" in run("info", first)
    assert len(run("info", first, "--documents").splitlines()) == 12
    assert "Everything holds" in run("info", first, "--verify")
    assert "MB before" in run("compact", "--index", first)
    run("export", first, "-o", tmp_path / "notes.jsonl", "--no-vectors", "-q")
    run("export", first, "-o", tmp_path / "notes.graphml", "-q")
    run("graph", first, "-o", tmp_path / "notes.html", "-q")
    assert (tmp_path / "notes.html").stat().st_size > 0
    found = json.loads(run("search", "Who wrote The Harbour Book 3?", "--index", first, "--mode", "lexical", "--json"))[
        "hits"
    ]
    assert found[0]["document_ids"] == ["doc3"]
    with Index(first, model="offline") as index:
        assert index.passage(found[0]["id"]).document_id == index.document("doc3").id
        answer = ask("Who wrote The Harbour Book 3?", index, strategy="naive", mode="lexical")
        assert str(answer) == "Otto Brell"


def test_what_is_written_without_a_new_vector_works_with_it(first: Path, tmp_path: Path) -> None:
    kept = make_documents(12)[4]
    with Index(first, model="offline") as index:
        assert index.add([], progress=False).added == ()
        assert index.add(kept, progress=False).unchanged == ("doc4",)
        assert index.add(replace(kept, metadata={"number": "four"}), progress=False).updated == ("doc4",)
        assert index.document("doc4").metadata == {"number": "four"}
        assert index.delete([], progress=False).deleted == ()
        assert index.delete(["nope"], progress=False).missing == ("nope",)
        assert index.prune(tmp_path, progress=False).deleted == ()
        assert index.estimate([], progress=False) == Estimate(0, 0, 0, 0, 0, 0, 0.0)
        alone = ("doc4", "doc5", "doc10", "doc11")  # who share names with nobody else
        assert index.delete(alone, progress=False).deleted == alone
        assert len(index) == 8
    assert Index.verify(first).whole


def test_what_encodes_asks_for_it(first: Path) -> None:
    before = first.read_bytes()
    with Index(first, model="offline") as index:
        for call in (
            lambda: index.search("harbour"),
            lambda: index.add(Document("new", "Ada Brell sailed to Oslo."), progress=False),
            lambda: index.delete("doc3", progress=False),
            lambda: index.estimate("Ada Brell sailed to Oslo.", progress=False),
            lambda: ask("Who wrote The Harbour Book 3?", index),
            index.require_encoder,
        ):
            with pytest.raises(
                EncoderMismatchError, match=r"with encoder minirag-aligner-1, but .* minirag reembed FILE"
            ):
                call()
        assert index.filtered({}).info().documents == 12
        assert first.read_bytes() == before
        index.reembed(None, progress=False)
        assert index.search("harbour")
        index.require_encoder()
    with pytest.raises(EncoderMismatchError, match="was built with encoder"):
        Index(with_encoder(first, name="older", fingerprint="1" * 16), encoder=shipped_encoder())


def test_it_is_asked_for_before_a_call_is_paid_for(first: Path) -> None:
    before = first.read_bytes()
    with (
        Loopback() as server,
        Index(
            first, model="openai/any", api_base=server.api_base, api_key="none", prices={"openai/any": (1, 2)}
        ) as index,
    ):
        for call in (
            lambda: index.add(Document("new", "Ada Brell sailed to Oslo."), progress=False),
            lambda: index.add(make_documents(14), progress=False),
            lambda: index.add(make_documents(14), progress=False, max_cost=1.0),
            lambda: index.delete("doc3", progress=False),  # others who share its names would be bridged afresh
        ):
            with pytest.raises(EncoderMismatchError, match="was built with encoder minirag-aligner-1"):
                call()
    assert server.requests == []
    assert first.read_bytes() == before


@pytest.mark.parametrize("source", [5, "", " ", {"a": 1}, ["x"]])
def test_a_file_that_names_its_encoder_by_no_name_says_so(older: Path, source: object) -> None:
    path = with_encoder(older, source=source, fingerprint="0" * 16)
    with Index(path, mode="r", model="offline") as index:
        assert len(index) == 12
        told = f"names {source!r} as its encoder, which is no folder and no model's name"
        with pytest.raises(EncoderError, match=re.escape(told)):
            index.search("harbour")


def test_a_folder_that_is_gone_is_told_when_it_is_needed(older: Path, tmp_path: Path) -> None:
    path = with_encoder(older, source=str(tmp_path / "gone"), fingerprint="0" * 16)
    with Index(path, mode="r", model="offline") as index:
        assert len(index) == 12
        with pytest.raises(EncoderError, match=r"gone lacks config\.json"):
            index.search("harbour")
    result = CliRunner().invoke(program, ["search", "harbour", "--index", str(path)])
    assert (result.exit_code, "gone lacks config.json" in result.stderr) == (1, True)
