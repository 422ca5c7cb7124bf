"""Whatever was added, replaced and deleted before: an index equals the one that is built from what is left."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minirag import Document, Index
from tests.remembering import RememberingEncoder
from tests.stored import PEOPLE, PLACES, answers_of, contents_of, inflated, vectors_of

ENCODER = RememberingEncoder()


def marker(number: int, version: int) -> str:
    """A word that only one version of one document has."""
    return f"Qx{number}v{version}zz"


def make(number: int, version: int) -> Document:
    person, other = PEOPLE[(number + version) % 3], PEOPLE[number % 4]
    place = PLACES[(number * 2 + version) % 3]
    text = f"{person} wrote {marker(number, version)} with {other} in {1900 + version}. {person} was born in {place}."
    return Document(f"doc{number}", text, f"Book {marker(number, version)}", {"version": version})


pairs = st.tuples(st.integers(0, 5), st.integers(0, 2))
operations: st.SearchStrategy[tuple[str, list[Any]]] = st.one_of(
    st.tuples(st.just("add"), st.lists(pairs, min_size=1, max_size=4, unique_by=lambda pair: pair[0])),
    st.tuples(st.just("delete"), st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)),
    st.tuples(st.sampled_from(["compact", "reopen", "reextract"]), st.just([])),
)


def open_index(path: Path) -> Index:
    return Index(path, model="offline", encoder=ENCODER)


def apply(index: Index, model: dict[int, int], operation: str, what: list[Any]) -> Index:
    """One operation on the index, and on the dict of what should be there."""
    if operation == "add":
        index.add([make(*pair) for pair in what], progress=False)
        model.update(what)
    elif operation == "delete":
        index.delete([f"doc{number}" for number in what], progress=False)
        for number in what:
            model.pop(number, None)
    elif operation == "compact":
        index.compact()
    elif operation == "reextract":
        index.add([make(*pair) for pair in model.items()], reextract=True, progress=False)
    else:
        path = index.path
        index.close()
        index = open_index(path)
    return index


def assert_same(index: Index, model: dict[int, int], folder: Path, order: Callable[[list[Document]], object]) -> None:
    """Equal to the index of the survivors: records, answers and vectors."""
    survivors = [make(number, version) for number, version in model.items()]
    order(survivors)
    with open_index(folder / "fresh.usearch") as fresh:
        fresh.add(survivors, progress=False)
        assert contents_of(index.snapshot) == contents_of(fresh.snapshot)
        assert answers_of(index.snapshot) == answers_of(fresh.snapshot)
        assert vectors_of(index.snapshot) == vectors_of(fresh.snapshot)


def assert_gone(index: Index, model: dict[int, int], seen: set[tuple[int, int]]) -> None:
    """No call gives anything of what was deleted or replaced; after `compact`, no byte of it is there."""
    gone = seen - set(model.items())
    reachable = repr([contents_of(index.snapshot), answers_of(index.snapshot), index.info()])
    assert [pair for pair in gone if marker(*pair) in reachable] == []
    assert [number for number, _ in gone if number not in model and f"doc{number}" in index] == []
    assert [number for number, _ in gone if number not in model and f'"doc{number}#' in reachable] == []
    index.compact()
    left = b"".join(inflated(file.read_bytes()) for file in index.path.parent.glob(index.path.name + "*"))
    assert [pair for pair in gone if marker(*pair).encode() in left] == []
    assert [pair for pair in model.items() if marker(*pair).encode() not in left] == []


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(operations, min_size=1, max_size=8), order=st.randoms(use_true_random=False))
def test_an_index_equals_the_one_of_its_survivors(steps: list[tuple[str, list[Any]]], order: random.Random) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model: dict[int, int] = {}
        seen: set[tuple[int, int]] = set()
        index = open_index(folder / "notes.usearch")
        for operation, what in steps:
            index = apply(index, model, operation, what)
            seen |= set(model.items())
        assert_same(index, model, folder, order.shuffle)
        assert_gone(index, model, seen)
        assert Index.verify(index.path).whole
        index.close()


def test_add_add_delete_equals_add(tmp_path: Path) -> None:
    with open_index(tmp_path / "notes.usearch") as index:
        index.add([make(0, 0), make(3, 0)], progress=False)
        index.add(make(0, 1), progress=False)
        index.delete("doc0", progress=False)
        model = {3: 0}
        assert_same(index, model, tmp_path, list.reverse)
        assert_gone(index, model, {(0, 0), (0, 1), (3, 0)})


def test_many_small_commits_equal_one_large_one(tmp_path: Path) -> None:
    with open_index(tmp_path / "notes.usearch") as index:
        index.add([make(number, 0) for number in range(40)], progress=False)
        most = 0
        for number in range(40, 75):
            index.add(make(number, 0), progress=False)
            most = max(most, index.info().segments)
        assert 3 <= most <= 12
        assert_same(index, dict.fromkeys(range(75), 0), tmp_path, list.reverse)
