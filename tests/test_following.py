import time
from pathlib import Path

import numpy as np
import pytest

from minirag import Document, Index
from minirag.following import (
    Link,
    Space,
    Weights,
    best_passages,
    name_key,
    passage_cosines,
    read_question,
    score,
)
from tests.chained import BELY, DOCUMENTS, HEDENG, MARTA, QUESTION, STRAYS, build, build_with_strays
from tests.stored import open_offline


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("whole") / "notes.usearch")


@pytest.fixture(scope="module")
def strayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_with_strays(tmp_path_factory.mktemp("strayed") / "notes.usearch")


def key_of(name: str) -> int:
    key = name_key(name)
    assert key is not None
    return key


def document_of(space: Space, passage: int) -> str:
    _, segment, row = space.locate(passage)
    return segment.passage(row).document_id


def scores_of(
    index: Index, question: str, *, weights: Weights | None = None, chain: tuple[Link, ...] = ()
) -> dict[str, float]:
    space = Space(index.snapshot)
    vector = index.encoder.encode([question], role="query")[0]
    scores = score(space, read_question(space, question), vector, weights or Weights(), chain=chain)
    assert scores.shape == (len(space),)
    assert not np.isnan(scores).any()
    return {document_of(space, passage): float(scores[passage]) for passage in range(len(space))}


def test_passages_are_numbered_through_all_segments(strayed: Path) -> None:
    with open_offline(strayed, mode="r") as index:
        space = Space(index.snapshot)
        assert len(index.snapshot.segments) > 1
        for passage in range(len(space)):
            number, segment, row = space.locate(passage)
            assert segment is index.snapshot.segments[number]
            if document_of(space, passage) in index:
                assert space.find(segment.passage(row).id) == passage
        with pytest.raises(KeyError, match="stray1#0-0"):
            space.find("stray1#0-0")


def test_names_that_only_hidden_or_deleted_documents_hold_hide_no_shorter_ones(tmp_path: Path) -> None:
    longer = Document(
        "longer", "Marta Ellinghaus Lane runs along the harbour.", "Marta Ellinghaus Lane", {"hidden": True}
    )
    question = "Who walks in Marta Ellinghaus Lane?"
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([MARTA, longer], progress=False)
        seen = index.filtered({"hidden": None}).snapshot
        assert read_question(Space(index.snapshot), question).names == (key_of("Marta Ellinghaus Lane"),)
        assert read_question(Space(seen), question).names == (key_of("Marta Ellinghaus"),)
        index.delete("longer", progress=False)
        assert read_question(Space(index.snapshot), question).names == (key_of("Marta Ellinghaus"),)


def test_a_name_leads_to_the_passages_that_name_it_and_to_those_about_it(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        space = Space(index.snapshot)
        keys = [key_of("marta ellinghaus"), key_of("Nobody Known"), key_of("Piet Olander")]
        names, passages, shares, about = space.namings(keys)
        assert names.tolist() == [0, 0, 2, 2]
        assert [document_of(space, passage) for passage in passages.tolist()] == ["tide", "marta", "lantern", "piet"]
        assert shares.tolist()[:2] == [0.5, 1.0]
        assert about.tolist() == [False, True, False, False]  # a document without a title is about nothing
        assert [len(column) for column in space.namings([])] == [0, 0, 0, 0]


def test_a_title_is_about_its_name_without_the_parenthesis(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        assert Space(index.snapshot).namings([key_of("Lantern Road")]).about.tolist() == [True]


def test_the_dead_are_named_by_nobody(strayed: Path) -> None:
    with open_offline(strayed, mode="r") as index:
        space = Space(index.snapshot)
        named = [document_of(space, passage) for passage in space.namings([key_of("Marta Ellinghaus")]).passages]
        assert named == ["tide", "marta"]
        mask = index.snapshot.segments[0].alive("passages")
        assert mask is not None
        assert mask.tolist() == [False, False] + [True] * 10


def test_the_dead_score_nothing_and_the_living_as_if_these_had_never_been(whole: Path, strayed: Path) -> None:
    with open_offline(whole, mode="r") as index:
        clean = scores_of(index, QUESTION)
    with open_offline(strayed, mode="r") as index:
        found = scores_of(index, QUESTION)
    assert {found.pop(stray.id) for stray in STRAYS} == {-np.inf}
    assert found == pytest.approx(clean, abs=1e-6)


def test_numbers_and_common_words_link_nothing() -> None:
    assert [name_key(name) for name in ("1931", "Monday", "the", "")] == [None] * 4


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (QUESTION, ["The Tide Clock"]),
        ("Did Marta Ellinghaus of Kessmarsh know Piet Olander?", ["Marta Ellinghaus", "Kessmarsh", "Piet Olander"]),
        ("Кто такая Анна Ледова?", ["Анна Ледова"]),
        ("《白鹤灯塔》的作者做什么？", ["白鹤灯塔"]),
        ("白鹤灯塔的作者是谁？", ["白鹤灯塔"]),
        ("what is a market, and is there one in kessmarsh", []),
        ("?!… — ()", []),
    ],
)
def test_the_names_in_a_question(whole: Path, question: str, names: list[str]) -> None:
    with open_offline(whole, mode="r") as index:
        assert read_question(Space(index.snapshot), question).names == tuple(key_of(name) for name in names)


def test_words_count_up_to_one(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        space = Space(index.snapshot)
        lexical = read_question(space, "the tide").lexical
        best = {document_of(space, passage) for passage in best_passages(lexical, 2)}
        assert best == {"tide", "tables"}
        assert lexical.max() == 1.0
        assert not read_question(space, "zzz").lexical.any()


def test_a_followed_name_lifts_the_passage_about_it_above_those_with_the_words(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        with_names = scores_of(index, QUESTION)
        without = scores_of(index, QUESTION, weights=Weights(followed=0.0))
    assert without["marta"] < min(without["novels"], without["writers"])
    assert with_names["marta"] > max(with_names["novels"], with_names["writers"])
    assert {name for name in without if abs(with_names[name] - without[name]) > 0.1} == {"marta"}


def test_a_chain_leads_on_from_where_it_stands(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        space = Space(index.snapshot)
        marta = best_passages(read_question(space, "Marta bees honey medal").lexical, 1)[0]
        plain = scores_of(index, QUESTION)
        led = scores_of(index, QUESTION, chain=(Link(marta, [key_of("Kessmarsh"), key_of("Marta Ellinghaus")]),))
    weights = Weights()
    assert led["kessmarsh"] >= plain["kessmarsh"] + 0.9 * weights.followed
    assert led["marta"] == pytest.approx(plain["marta"], abs=1e-6)


def test_names_that_are_everywhere_are_not_followed(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        one = scores_of(index, QUESTION, weights=Weights(most_passages=1))
        none = scores_of(index, QUESTION, weights=Weights(followed=0.0))
    assert one["marta"] == pytest.approx(none["marta"], abs=1e-6)


@pytest.mark.parametrize("question", ["?!… — ()", "12 34", "x", "\U0001f980", QUESTION * 200, "《白鹤灯塔》" * 50])
def test_any_question_has_scores(whole: Path, question: str) -> None:
    with open_offline(whole, mode="r") as index:
        assert all(np.isfinite(list(scores_of(index, question).values())))


@pytest.mark.parametrize("commits", [(6, 6), (6, 2, 2, 2), (7, 3, 1, 1)])
def test_segments_make_no_difference(whole: Path, tmp_path: Path, commits: tuple[int, ...]) -> None:
    build(tmp_path / "parts.usearch", commits=commits)
    with open_offline(whole, mode="r") as index:
        expected = scores_of(index, QUESTION)
    with open_offline(tmp_path / "parts.usearch", mode="r") as index:
        assert len(index.snapshot.segments) == len(commits)
        assert scores_of(index, QUESTION) == expected


def test_segments_without_passages_and_segments_of_the_dead(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([HEDENG, BELY, *DOCUMENTS[:4]], progress=False)
        index.add(STRAYS, progress=False)
        index.delete([stray.id for stray in STRAYS], progress=False)
        masks = [segment.alive("passages") for segment in index.snapshot.segments]
        assert any(mask is not None and not mask.any() for mask in masks)
        assert 0 in [segment.count("passages") for segment in index.snapshot.segments]
        found = scores_of(index, QUESTION)
        assert max(found, key=lambda name: found[name]) == "tide"
        assert [name for name, value in found.items() if value == -np.inf] == ["stray1", "stray2"]


def test_passages_without_facts_stand_for_themselves(tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add([Document("marks", "*** --- ***"), Document("more", "+++")], progress=False)
        space = Space(index.snapshot)
        assert index.info().facts == 0
        vector = index.encoder.encode(["stars"], role="query")[0]
        scores = score(space, read_question(space, "stars"), vector, Weights())
        assert scores.tolist() == pytest.approx(passage_cosines(space, vector).tolist(), abs=1e-6)


def test_best_passages_leave_out_the_dead() -> None:
    scores = np.array([0.1, -np.inf, 0.7, 0.4, -np.inf], np.float32)
    assert best_passages(scores, 2) == [2, 3]
    assert best_passages(scores, 99) == [2, 3, 0]
    assert best_passages(scores[:0], 3) == []


def test_equal_passages_stay_in_the_order_of_the_file() -> None:
    scores = np.array([0.5] * 300 + [0.9] + [0.5] * 300, np.float32)
    assert best_passages(scores, 4) == [300, 0, 1, 2]


def test_a_very_long_question_is_read_quickly(whole: Path) -> None:
    with open_offline(whole, mode="r") as index:
        started = time.perf_counter()
        names = read_question(Space(index.snapshot), f"{QUESTION} " * 5_000).names
        assert time.perf_counter() - started < 5.0  # without a limit it takes a minute
        assert names == (key_of("The Tide Clock"),)
