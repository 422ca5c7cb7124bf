import asyncio
import copy
import json
import pickle
import re
import threading
from pathlib import Path
from typing import Any, Literal

import pytest
import usearch.index

from minirag import Document, Index, MiniragError, Settings
from minirag.errors import (
    EncoderMismatchError,
    IndexClosedError,
    IndexCorruptError,
    IndexFileError,
    IndexMissingError,
    IndexReadOnlyError,
    NotAnIndexError,
    UnknownIdError,
)

AYLWIN = Document("aylwin", "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards")
LAKE = Document(
    "lake", "Lake Lugano lies between Switzerland and Italy. It covers 48 square kilometres.", "Lake Lugano"
)
DOCUMENTS = [AYLWIN, HENRY, LAKE]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


@pytest.fixture
def index(path: Path) -> Index:
    index = Index(path, model="offline")
    index.add(DOCUMENTS, progress=False)
    return index


def units(index: Index) -> set[tuple[str, str, str]]:
    """All that is reachable, apart from the order in the file."""
    found = index.search("film", k=1000, kinds=["passage", "fact", "bridge", "triple"])
    return {(hit.kind, hit.id, hit.text) for hit in found}


def test_add_reports_what_it_did(path: Path) -> None:
    with Index(path, model="offline") as index:
        first = index.add([AYLWIN, HENRY], progress=False)
        second = index.add([AYLWIN, Document("henry", "Henry Edwards was a director.", "Henry Edwards"), LAKE])
    assert (first.added, first.updated, first.unchanged, first.failed) == (("aylwin", "henry"), (), (), ())
    assert (second.added, second.updated, second.unchanged) == (("lake",), ("henry",), ("aylwin",))
    assert (first.usage.calls, first.usage.cost) == (0, 0.0)
    assert first.usage.seconds > 0


def test_a_bridging_fact_joins_two_documents(index: Index) -> None:
    (bridge,) = index.search("Where was the director of Aylwin born?", k=1, kinds=["bridge"])
    assert bridge.document_ids == ("aylwin", "henry")
    assert "Aylwin" in bridge.text
    assert "Henry Edwards" in bridge.text


def test_search_finds_the_kinds_that_are_asked_for(index: Index) -> None:
    assert {hit.kind for hit in index.search("lake", kinds=["passage"])} == {"passage"}
    assert {hit.kind for hit in index.search("lake", kinds=["fact"])} == {"fact"}
    assert {hit.kind for hit in index.search("lake", kinds=["triple", "passage"], k=50)} == {"triple", "passage"}
    assert {hit.kind for hit in index.search("film", k=50)} == {"fact", "bridge"}


def test_hits_come_best_first(index: Index) -> None:
    hits = index.search("How large is Lake Lugano?", k=50)
    assert hits[0].document_ids == ("lake",)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(-1 <= hit.score <= 1.001 for hit in hits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": "3"}, "k must be a whole number, not '3'"),
        ({"k": 2.5}, "k must be a whole number, not 2.5"),
        ({"query": None}, "the query must be a string, not None"),
        ({"kinds": ["sentence"]}, r"unknown kinds \['sentence'\]"),
    ],
)
def test_wrong_arguments_of_search(index: Index, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.search(**{"query": "film", **arguments})  # type: ignore[arg-type]  # on purpose


def test_an_empty_index_finds_nothing(path: Path) -> None:
    with Index(path) as index:
        assert index.search("anything") == []
        assert len(index) == 0
        assert index.info().documents == 0


def test_blank_queries_find_nothing(index: Index) -> None:
    assert index.search("  \n") == []


def test_it_is_the_same_after_opening_again(index: Index, path: Path) -> None:
    before = units(index)
    index.close()
    with Index(path, mode="r") as opened:
        assert units(opened) == before
        assert "aylwin" in opened
        assert len(opened) == 3


def test_plain_usearch_finds_the_facts(index: Index, path: Path) -> None:
    plain = usearch.index.Index.restore(str(path), view=True)
    assert plain is not None
    info = index.info()
    assert len(plain) == info.facts + info.bridges
    vector = index.encoder.encode(["How large is Lake Lugano?"], role="query")[0]
    best = int(plain.search(vector, 1).keys[0])
    assert index.snapshot.segments[0].fact(best).id == index.search("How large is Lake Lugano?", k=1)[0].id


def test_delete_takes_everything_derived(index: Index, path: Path) -> None:
    report = index.delete(["henry", "nobody"], progress=False)
    assert (report.deleted, report.missing, report.failed) == (("henry",), ("nobody",), ())
    with Index(path.with_name("other.usearch"), model="offline") as other:
        other.add([LAKE, AYLWIN], progress=False)
        assert units(index) == units(other)
    assert "henry" not in index


def test_order_of_adding_does_not_matter(index: Index, path: Path) -> None:
    with Index(path.with_name("other.usearch"), model="offline") as other:
        for document in reversed(DOCUMENTS):
            other.add(document, progress=False)
        assert units(index) == units(other)


def test_reextract_derives_afresh(index: Index) -> None:
    before = units(index)
    assert index.add(DOCUMENTS, reextract=True, progress=False).updated == ("aylwin", "henry", "lake")
    assert units(index) == before


def test_what_cannot_be_loaded_is_reported_and_the_rest_is_indexed(path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"caf\xe9 without an encoding")
    with Index(path, model="offline") as index:
        report = index.add([AYLWIN, str(bad), "missing.txt"], progress=False)
        assert report.added == ("aylwin",)
        assert [failure.id for failure in report.failed] == [bad.as_posix(), "missing.txt"]
        assert index.info().documents == 1


def test_read_only_mode_writes_nothing(index: Index, path: Path) -> None:
    index.close()
    before = sorted(path.parent.iterdir())
    with Index(path, mode="r") as opened:
        opened.search("film")
        with pytest.raises(IndexReadOnlyError, match="Open it with mode='a'"):
            opened.add(AYLWIN)
        with pytest.raises(IndexReadOnlyError, match="Open it with mode='a'"):
            opened.delete("aylwin")
    assert sorted(path.parent.iterdir()) == before


def test_read_only_mode_creates_nothing(path: Path) -> None:
    with pytest.raises(IndexMissingError, match="no such index"):
        Index(path, mode="r")
    assert list(path.parent.iterdir()) == []


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(IndexMissingError, match="Create it first"):
        Index(tmp_path / "nowhere" / "notes.usearch")


def test_an_unknown_mode(path: Path) -> None:
    with pytest.raises(ValueError, match="mode must be 'a' or 'r', not 'w'"):
        Index(path, mode="w")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("setings", "settings"),
        ("max_paralel", "max_parallel"),
        ("modle", "model"),
        ("token_per_minute", "tokens_per_minute"),
    ],
)
def test_a_misspelt_argument_is_named(path: Path, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"Index\(\) has no argument '{name}'. Did you mean '{meant}'\?"):
        Index(path, **{name: 1})  # type: ignore[arg-type]  # on purpose
    assert not path.exists()


def test_another_encoder_is_refused(index: Index, path: Path, tmp_path: Path) -> None:
    shipped = Path(index.encoder.folder)  # type: ignore[attr-defined]  # the shipped one is an ONNX folder
    copy = tmp_path / "encoder"
    copy.mkdir()
    for file in shipped.iterdir():
        if file.suffix in (".onnx", ".json"):
            (copy / file.name).symlink_to(file)
    config = json.loads((shipped / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").unlink()
    config |= {"fingerprint": "0" * 16, "name": "other"}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    index.close()
    with pytest.raises(EncoderMismatchError, match=r"was built with encoder .*, but opened with other"):
        Index(path, encoder=copy)


def test_settings_are_kept_and_fixed(path: Path) -> None:
    settings = Settings(passage_tokens=32, bridge_max_documents=3)
    Index(path, settings=settings).close()
    with Index(path) as index:
        assert index.settings == settings
    with pytest.raises(
        ValueError, match="passage_tokens=32, not None, bridge_max_documents=3, not 10: settings are fixed"
    ):
        Index(path, settings=Settings())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"passage_tokens": 3}, "passage_tokens must be at least 16"),
        ({"bridge_min_documents": 1}, "must be at least 2"),
        ({"bridge_min_documents": 5, "bridge_max_documents": 4}, "not 5 of 4"),
        ({"bridge_min_length": 0}, "must be at least 1"),
        ({"compact_at": 0.0}, "compact_at must be above 0"),
        ({"bridge_within": " "}, "bridge_within must be a key of the metadata, not ' '"),
        ({"bridge_within": 5}, "bridge_within must be a key of the metadata, not 5"),
    ],
)
def test_impossible_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_a_closed_index_says_so(index: Index) -> None:
    index.close()
    with pytest.raises(IndexClosedError, match="Open it again"):
        index.search("film")


def test_a_file_that_is_no_index(path: Path) -> None:
    path.write_text("just text", encoding="utf-8")
    with pytest.raises(NotAnIndexError, match="is no minirag index, but a text") as caught:
        Index(path)
    assert isinstance(caught.value, IndexCorruptError)
    assert path.read_text(encoding="utf-8") == "just text"


def test_refresh_moves_to_the_newest_commit(index: Index, path: Path) -> None:
    with Index(path, mode="r") as reader:
        assert reader.refresh() is False
        index.delete("lake", progress=False)
        assert "lake" in reader
        assert reader.refresh() is True
        assert "lake" not in reader


def test_passage_by_id(index: Index) -> None:
    (hit,) = index.search("lake", k=1, kinds=["passage"])
    assert index.passage(hit.id).text == LAKE.text
    with pytest.raises(UnknownIdError, match=r"no passage has the id 'lake#7-00000000'\. Hits .*, as 'lake'") as caught:
        index.passage("lake#7-00000000")
    assert isinstance(caught.value, KeyError)
    assert (caught.value.id, caught.value.near) == ("lake#7-00000000", ())


def test_document_by_id(index: Index) -> None:
    assert index.document("lake").text == LAKE.text
    with pytest.raises(UnknownIdError, match=r"^no document has the id 'lakes'\. Did you mean 'lake'\?$") as caught:
        index.document("lakes")
    assert (caught.value.id, caught.value.near) == ("lakes", ("lake",))
    with pytest.raises(KeyError, match=r"^no document has the id 'qqqqqq'\.$"):
        index.document("qqqqqq")


def test_progress_can_be_listened_to(path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    with Index(path, model="offline") as index:
        index.add(DOCUMENTS, progress=lambda stage, done, total: seen.append((stage, done, total)))
    assert [entry for entry in seen if entry[0] == "reading"] == [("reading", n, 3) for n in (1, 2, 3)]
    stage, done, total = seen[-1]
    assert (stage, done) == ("encoding", total)


def test_files_that_are_converted_are_counted(path: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep" / ".hidden").mkdir(parents=True)
    for place in ("a.md", "deep/b.CSV", "deep/.hidden/c.md", "d.bin"):
        (docs / place).write_text("name,born\nAda Brell,Karsund\n", encoding="utf-8")
    (docs / "broken.md").write_bytes(b"\xff\xfe\x00")
    (docs / "lines.jsonl").write_text('{"text": "Otto Vane sailed to Karsund."}\n', encoding="utf-8")
    seen: list[tuple[str, int, int]] = []
    with Index(path, model="offline") as index:
        report = index.add(
            [docs, AYLWIN, "A text."], progress=lambda stage, done, total: seen.append((stage, done, total))
        )
        assert (len(report.added), [failure.id for failure in report.failed]) == (5, [f"{docs.as_posix()}/broken.md"])
        assert [entry for entry in seen if entry[0] == "converting"] == [("converting", n, 3) for n in (1, 2, 3)]
        assert seen[2][0] == "converting"  # all of them before anything is read
        seen.clear()
        index.add(iter([docs]), progress=lambda stage, done, total: seen.append((stage, done, total)))
        assert seen == []


def test_awaited_and_from_threads(path: Path) -> None:
    async def main() -> None:
        with Index(path, model="offline") as index:
            first, second = await asyncio.gather(index.aadd(AYLWIN, progress=False), index.aadd(HENRY, progress=False))
            assert (first.added, second.added) == (("aylwin",), ("henry",))
            assert (await index.adelete("aylwin", progress=False)).deleted == ("aylwin",)

    asyncio.run(main())
    with Index(path, mode="r") as index:
        found: list[int] = []
        threads = [threading.Thread(target=lambda: found.append(len(index.search("actor")))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 1
        assert len(found) == 8


def test_text_in_any_script(path: Path) -> None:
    texts = {
        "zh": "《红楼梦》是曹雪芹写的小说。曹雪芹生于南京。",
        "ar": "نجيب محفوظ كاتب مصري. ولد في القاهرة عام 1911.",
        "ru": "Лев Толстой родился в Ясной Поляне. Он написал «Войну и мир».",
        "emoji": "🚀 launches at dawn. The 🚀 is red.",
    }
    with Index(path, model="offline") as index:
        report = index.add([Document(name, text) for name, text in texts.items()], progress=False)
        assert report.added == tuple(texts)
        assert {hit.document_ids[0] for hit in index.search("x", k=50, kinds=["passage"])} == set(texts)


def test_every_error_is_a_minirag_error() -> None:
    assert issubclass(IndexCorruptError, MiniragError)


def test_search_by_words(index: Index) -> None:
    hits = index.search("the director of Aylwin", mode="lexical")
    assert [hit.kind for hit in hits] == ["passage"]
    assert hits[0].document_ids == ("aylwin",)
    assert index.search("nothing of this", mode="lexical", k=3) == []


def test_hybrid_search_joins_both_rankings(index: Index) -> None:
    hits = index.search("English actor", mode="hybrid")
    assert hits[0].document_ids == ("henry",)
    assert len(hits) == 3
    assert hits[0].score == pytest.approx(2 / 61)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "magic"}, "mode must be 'dense', 'lexical' or 'hybrid', not 'magic'"),
        ({"mode": "lexical", "kinds": ["fact"]}, "mode='lexical' finds passages only, not fact"),
    ],
)
def test_wrong_modes(index: Index, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.search(**{"query": "film", **arguments})  # type: ignore[arg-type]  # on purpose


def test_triples_made_elsewhere(path: Path) -> None:
    given = {"aylwin": [("Aylwin", "director", "Henry  Edwards")]}
    with Index(path, model="offline") as index:
        index.add([AYLWIN, HENRY], triples=given, progress=False)
        found = index.search("Aylwin", k=50, kinds=["triple"])
        assert [hit.text for hit in found if hit.document_ids == ("aylwin",)] == ["Aylwin director Henry Edwards"]
        assert any(hit.document_ids == ("henry",) for hit in found)


def test_a_triple_has_three_texts(path: Path) -> None:
    with Index(path, model="offline") as index, pytest.raises(ValueError, match="a triple of 'aylwin' is not three"):
        index.add([AYLWIN], triples={"aylwin": [("Aylwin", "director")]}, progress=False)


@pytest.mark.parametrize("mode", ["a", "r"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("a" * 300, "File name too long"), ("circle", "(?i)symlink loop|symbolic links|no such index|no lock")],
    ids=["too long", "circle"],
)
def test_paths_that_cannot_be_reached(tmp_path: Path, name: str, reason: str, mode: Literal["a", "r"]) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(IndexFileError, match=reason):
        Index(tmp_path / name, mode=mode)


def test_reports_are_told_in_a_line(index: Index) -> None:
    report = index.add([LAKE, {"id": "new", "text": "Oslo is a city."}, {"id": "bad", "text": 5}], progress=False)
    assert re.fullmatch(r"added 1, updated 0, unchanged 1, failed 1; 0 calls, \$0, \d\.\d\d s", str(report))
    assert re.fullmatch(r"deleted 1, missing 1, failed 0; 0 calls, .+", str(index.delete(["new", "x"], progress=False)))


@pytest.mark.parametrize("wrong", [3, None, b"lake", ["lake", 3]])
def test_ids_are_strings(index: Index, wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"^ids are strings, not (3|None|b'lake')$"):
        index.delete(wrong, progress=False)
    assert "lake" in index
    for find in (index.document, index.passage):
        with pytest.raises(ValueError, match=r"^ids are strings, not "):
            find(wrong)


def test_an_open_index_is_not_pickled_or_copied(index: Index) -> None:
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pass its path, and open it there"):
            use(index)


def test_document_ids(index: Index) -> None:
    index.delete("henry", progress=False)
    assert index.document_ids() == ["aylwin", "lake"]


def test_one_kind_needs_no_list(index: Index) -> None:
    assert {hit.kind for hit in index.search("lake", kinds="passage")} == {"passage"}
