from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from minirag.errors import IndexWriteError
from minirag.storage.kept_vectors import KeptVectors, keeps_vectors

TEXTS = ["one", "two \ud83d", "three"]
VECTORS = np.arange(12, dtype=np.int8).reshape(3, 4)


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


def kept(index_path: Path) -> KeptVectors:
    with KeptVectors(index_path) as opened:
        opened.put("encoder", TEXTS, VECTORS)
    return opened


def found(index_path: Path, *texts: str, encoder: str = "encoder") -> list[list[int] | None]:
    with KeptVectors(index_path) as opened:
        rows = [opened.get(encoder, text) for text in texts]
    return [None if row is None else row.tolist() for row in rows]


def test_nothing_is_created_before_the_first_vectors(index_path: Path) -> None:
    with KeptVectors(index_path) as opened:
        assert opened.get("encoder", "one") is None
        opened.forget()
        opened.discard()
    assert list(index_path.parent.iterdir()) == []
    assert not keeps_vectors(index_path)


def test_the_next_run_finds_what_was_put(index_path: Path) -> None:
    assert kept(index_path).path == index_path.with_name("notes.usearch.vectors")
    assert keeps_vectors(index_path)
    assert found(index_path, *TEXTS, "four") == [*VECTORS.tolist(), None]
    assert found(index_path, "one", encoder="another") == [None]
    assert KeptVectors(index_path).holds("encoder", "one")
    assert not KeptVectors(index_path).holds("encoder", "four")
    assert b"three" not in index_path.with_name("notes.usearch.vectors").read_bytes()


def test_a_killed_process_loses_nothing_that_was_put(index_path: Path) -> None:
    with KeptVectors(index_path) as opened:
        opened.put("encoder", TEXTS, VECTORS)
        assert found(index_path, *TEXTS) == VECTORS.tolist()


def test_vectors_of_several_lengths_lie_side_by_side(index_path: Path) -> None:
    kept(index_path)
    with KeptVectors(index_path) as opened:
        opened.put("longer", ["one"], np.full((1, 9), 7, np.int8))
    assert found(index_path, "one", "three") == [VECTORS[0].tolist(), VECTORS[2].tolist()]
    assert found(index_path, "one", encoder="longer") == [[7] * 9]


@pytest.mark.parametrize("harm", ["torn", "flipped", "foreign", "boundless"])
def test_a_harmed_block_is_ignored_and_written_over(index_path: Path, harm: str) -> None:
    file = kept(index_path).path
    whole = file.read_bytes()
    second = {
        "torn": whole[:-3],
        "flipped": whole[:-1] + bytes([whole[-1] ^ 1]),
        "foreign": b"what is this, and who has left it here?",
        "boundless": whole[:4] + b"\xff" * 8 + whole[12:],
    }[harm]
    file.write_bytes(whole + second)
    with KeptVectors(index_path) as opened:
        assert len(opened) == 3
        opened.put("encoder", ["four"], np.full((1, 4), 9, np.int8))
    assert found(index_path, *TEXTS, "four") == [*VECTORS.tolist(), [9] * 4]


def test_forgetting_lets_go_of_what_was_used_and_keeps_the_rest(index_path: Path) -> None:
    kept(index_path)
    with KeptVectors(index_path) as opened:
        assert opened.get("encoder", "two \ud83d") is not None
        opened.put("encoder", ["four"], np.full((1, 4), 9, np.int8))
        opened.forget()
        opened.put("encoder", ["five"], np.full((1, 4), 5, np.int8))
    assert found(index_path, *TEXTS, "four", "five") == [[0, 1, 2, 3], None, [8, 9, 10, 11], None, [5] * 4]
    with KeptVectors(index_path) as opened:
        for text in ("one", "three", "five"):
            opened.get("encoder", text)
        opened.forget()
    assert list(index_path.parent.iterdir()) == []


def test_discarding_lets_go_of_all(index_path: Path) -> None:
    kept(index_path)
    with KeptVectors(index_path) as opened:
        opened.discard()
        assert len(opened) == 0
    assert list(index_path.parent.iterdir()) == []


def test_once_closed_nothing_is_written(index_path: Path) -> None:
    opened = kept(index_path)
    size = opened.path.stat().st_size
    opened.put("encoder", ["four"], VECTORS[:1])
    assert (opened.get("encoder", "one"), opened.path.stat().st_size) == (None, size)


def test_a_vanished_folder_is_told(tmp_path: Path) -> None:
    vectors: NDArray[np.int8] = VECTORS
    with (
        KeptVectors(tmp_path / "gone" / "notes.usearch") as opened,
        pytest.raises(IndexWriteError, match=r"notes\.usearch\.vectors: could not be written \(needs 12 bytes\)"),
    ):
        opened.put("encoder", TEXTS, vectors)
