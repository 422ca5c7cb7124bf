"""Files of format 1 are read as they are, added to, and written afresh in the present one."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirag import Index, ask
from minirag.repairing import repair
from minirag.storage.finding import find_commit
from minirag.storage.layout import FORMAT
from minirag.storage.snapshot import open_snapshot
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
