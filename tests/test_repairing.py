"""Real damage to a real index: what is whole is saved, what is lost is told, and the next add makes it good."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag import Document, Index
from minirag.cli import program
from minirag.encoder import OnnxEncoder
from minirag.errors import EncoderMismatchError, IndexCorruptError, IndexFileError
from minirag.naming.names import normalise_name
from minirag.repairing import RepairReport, repair
from minirag.storage.salvaging import salvage
from minirag.storage.snapshot import open_snapshot
from tests.stored import answers_of, contents_of, make_documents, open_offline, shipped_encoder, vectors_of

# Large enough for tables of several pages; what an index of its own documents alone must be equal to.
COUNT = 60
MORE = 4


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repair") / "notes.usearch"
    with open_offline(path) as index:
        index.add(make_documents(COUNT), progress=False)
        index.add(make_documents(MORE, start=COUNT), progress=False)
        index.delete(["doc7", f"doc{COUNT + 1}"], progress=False)
    return path


@pytest.fixture
def damaged(original: Path, tmp_path: Path) -> Path:
    path = tmp_path / "damaged.usearch"
    path.write_bytes(original.read_bytes())
    return path


def flip(path: Path, section: str, *, segment: int = 0, at: int = 0) -> None:
    """One bit of a section."""
    entry = open_snapshot(path).contents.segments[segment]
    sections = entry.dead if section.startswith("dead ") else entry.sections
    place = sections[section.removeprefix("dead ")].offset
    with path.open("r+b") as file:
        file.seek(place + at)
        byte = file.read(1)
        file.seek(place + at)
        file.write(bytes([byte[0] ^ 4]))


def mend(damaged: Path) -> tuple[RepairReport, Path]:
    new = damaged.with_name("new.usearch")
    return repair(damaged, new, encoder=shipped_encoder(), progress=False), new


def contents_in(path: Path) -> dict[str, list[object]]:
    return contents_of(open_snapshot(path))


def test_a_whole_index_is_copied(damaged: Path, original: Path) -> None:
    report, new = mend(damaged)
    assert (report.lossless, report.documents, report.lost_vectors) == (True, COUNT + MORE - 2, 0)
    assert str(report).endswith("Nothing was lost.")
    assert contents_in(new) == contents_in(original)
    assert answers_of(open_snapshot(new)) == answers_of(open_snapshot(original))
    assert vectors_of(open_snapshot(new)) == vectors_of(open_snapshot(original))


@pytest.mark.parametrize(
    "section",
    [
        "facts and bridging facts",
        "passage vectors",
        "packed triple vectors",
        "documents pages",
        "passages pages",
        "document slices",
        "document ids keys",
        "fact slices",
        "triple slices",
        "facts pages",
        "entities rows",
        "bridges pages",
        "bridge entities starts",
        "terms keys",
        "passage lengths",
        "dead documents",
        "dead bridges",
    ],
)
def test_what_can_be_computed_is_not_lost(damaged: Path, original: Path, section: str) -> None:
    flip(damaged, section, at=9 if section == "facts and bridging facts" else 0)
    assert [damage.section for damage in Index.verify(damaged).damaged] == [f"{section} (segment 0)"]
    report, new = mend(damaged)
    assert report.lossless
    assert (report.lost_vectors > 0) == ("vectors" in section or "bridging facts" in section)
    assert report.lost_vectors < 10
    assert contents_in(new) == contents_in(original)
    assert answers_of(open_snapshot(new)) == answers_of(open_snapshot(original))
    assert Index.verify(new).whole


def test_what_was_cut_off_is_told(damaged: Path) -> None:
    """What lay there cannot be known any more: a commit, or one that never came to its end."""
    with damaged.open("r+b") as file:
        file.truncate(damaged.stat().st_size - 1_500)
    report, _ = mend(damaged)
    assert report.torn > 0
    assert f"The last {report.torn:,} bytes belong to no whole commit" in str(report)
    assert "\nNothing was lost." not in str(report)


def test_lost_facts_are_derived_afresh_by_the_next_add(damaged: Path, original: Path) -> None:
    flip(damaged, "facts", at=20)
    report, new = mend(damaged)
    assert (report.lost_documents, report.documents) == ((), COUNT + MORE - 2)
    assert 0 < len(report.lost_extractions) < COUNT / 2
    assert report.lost_bridges > 0
    assert "the next `add` derives them afresh" in str(report)
    with open_offline(new) as index:
        assert {failure.id for failure in index.info().failed} >= set(report.lost_extractions)
        assert index.add([], progress=False).failed == ()
        assert contents_of(index.snapshot) == contents_in(original)
        assert index.info().failed == ()


def test_lost_documents_are_named_and_the_others_kept(damaged: Path, original: Path) -> None:
    flip(damaged, "passages", at=20)
    verified = Index.verify(damaged)
    assert verified.damaged[0].section == "passages (segment 0)"
    assert verified.saved["documents"] == (COUNT + MORE - 2 - len(verified.lost_documents), COUNT + MORE - 2)
    assert "Lost documents: doc" in str(verified)
    report, new = mend(damaged)
    assert report.lost_documents == verified.lost_documents
    assert 0 < len(report.lost_documents) < COUNT / 2
    with open_offline(new) as index:
        assert not any(name in index for name in report.lost_documents)
        index.add([d for d in make_documents(COUNT + MORE) if d.id not in ("doc7", f"doc{COUNT + 1}")], progress=False)
        assert contents_of(index.snapshot) == contents_in(original)


def test_lost_bridging_facts_are_written_afresh(damaged: Path, original: Path) -> None:
    flip(damaged, "bridges", at=10)
    report, new = mend(damaged)
    assert (report.lost_documents, report.lost_extractions) == ((), ())
    assert report.lost_bridges > 0
    with open_offline(new) as index:
        index.add([], progress=False)
        assert contents_of(index.snapshot) == contents_in(original)


def test_what_was_deleted_does_not_come_back(damaged: Path) -> None:
    """Not even when both lists of the dead are damaged: then nothing of the segment can be trusted."""
    flip(damaged, "dead documents")
    flip(damaged, "dead documents copy")
    report, new = mend(damaged)
    assert report.documents == MORE - 1
    assert "doc7" not in str(contents_in(new)["document"])


@pytest.mark.parametrize("seed", range(8))
def test_any_damage_saves_only_what_was_there(damaged: Path, original: Path, seed: int) -> None:
    """A hundred random places: what is saved is a part of what was there, to the letter."""
    dice = random.Random(seed)
    data = bytearray(damaged.read_bytes())
    contents = [place for _, place in open_snapshot(damaged).sections()]
    for _ in range(100):
        section = dice.choice(contents)
        if section.length:
            data[section.offset + dice.randrange(section.length)] ^= dice.randrange(1, 256)
    damaged.write_bytes(data)
    saved = salvage(open_snapshot(damaged), normalise_name)
    report, new = mend(damaged)
    assert (report.documents, report.lost_bridges) == (len(saved.documents), saved.lost_bridges)
    before, after = contents_in(original), contents_in(new)
    assert all(set(map(str, after[kind])) <= set(map(str, before[kind])) for kind in before)
    assert Index.verify(new).whole


def test_without_any_table_of_contents_nothing_can_be_saved(damaged: Path) -> None:
    data = damaged.read_bytes().replace(b'"file_id"', b'"FILE_ID"')
    damaged.write_bytes(data)
    with pytest.raises(IndexCorruptError, match=r"no whole commit is in it|is no minirag index"):
        mend(damaged)
    assert "Nothing can be saved" in str(Index.verify(damaged))


def test_a_repaired_file_replaces_nothing(damaged: Path, original: Path) -> None:
    with pytest.raises(IndexFileError, match="exists already"):
        repair(damaged, original, progress=False)


# --- another encoder -----------------------------------------------------------------------------------------------


@pytest.fixture
def other_encoder(tmp_path: Path) -> Path:
    """The shipped model, but for another prefix: other vectors, and so another fingerprint."""
    folder = tmp_path / "encoder"
    folder.mkdir()
    for file in shipped_encoder().folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"document_prefix": "p: ", "fingerprint": f"other{config['fingerprint']}"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_reembed_changes_every_vector_and_no_record(damaged: Path, other_encoder: Path) -> None:
    with pytest.raises(EncoderMismatchError, match=r"change it: minirag reembed FILE, or minirag\.reembed\(path"):
        Index(damaged, encoder=other_encoder)
    with open_offline(damaged) as index, open_offline(damaged) as other:
        before, vectors = contents_of(index.snapshot), set(vectors_of(index.snapshot))
        index.reembed(other_encoder, progress=False)
        assert contents_of(index.snapshot) == before
        assert vectors.isdisjoint(vectors_of(index.snapshot))
        assert index.info().encoder == index.encoder.name
        index.add(Document("new", "Ada Brell sailed to Oslo."), progress=False)
        assert index.search("Who sailed to Oslo?", k=1, kinds=["passage"])[0].document_ids == ("new",)
        # Who holds the old vectors keeps them, and is told when it wants to move on.
        assert len(other.search("harbour")) == 10
        with pytest.raises(EncoderMismatchError, match="was built with encoder"):
            other.add(Document("wrong", "Otto Vane sailed to Rome."), progress=False)
        with pytest.raises(EncoderMismatchError, match="was built with encoder"):
            other.refresh()
    with Index(damaged, model="offline") as index:
        assert index.encoder.fingerprint.startswith("other")
        assert "new" in index
    assert Index.verify(damaged).whole


def test_an_index_of_an_older_shipped_encoder_opens_again_after_reembed(damaged: Path, other_encoder: Path) -> None:
    """As an older minirag left it: the file names no folder, and its encoder is not the one that is here."""
    with open_offline(damaged) as index:
        contents, questions = contents_of(index.snapshot), index.search("harbour", k=3)
        index.reembed(OnnxEncoder(other_encoder), progress=False)
    with pytest.raises(EncoderMismatchError, match="minirag reembed FILE"):
        open_offline(damaged)
    result = CliRunner().invoke(program, ["reembed", str(damaged)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{damaged}: embedded anew, in ")
    with open_offline(damaged) as index:
        assert contents_of(index.snapshot) == contents
        assert [hit.id for hit in index.search("harbour", k=3)] == [hit.id for hit in questions]


def test_reembed_of_nothing_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(program, ["reembed", str(tmp_path / "no.usearch")])
    assert result.exit_code == 1
    assert "no.usearch" in result.stderr
