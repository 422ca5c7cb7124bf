from __future__ import annotations

import csv
from pathlib import Path

import pytest

from minirag.loading import load
from minirag.records import Document, Failure, Place


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'Film,Year\nAylwin,1920\n"Broken, Threads",1917\n'),
        ("a.CSV", 'Film;Year\r\nAylwin;1920\r\n"Broken, Threads";1917\r\n'),
        ("a.tsv", "Film\tYear\nAylwin\t1920\nBroken, Threads\t1917\n"),
    ],
)
def test_rows_are_lines_with_the_names_of_their_columns(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content.encode())
    (found,) = load(name)
    assert isinstance(found, Document)
    assert found.text == "Film: Aylwin; Year: 1920\nFilm: Broken, Threads; Year: 1917"
    assert (found.id, found.title, found.metadata) == (name, "a", {"rows": 3, "path": name})
    assert found.places == (Place(0, "row", 2), Place(25, "row", 3))


def test_one_column_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("word\nother\n")
    (found,) = load(path)
    assert isinstance(found, Document)
    assert found.text == "word\nother"


@pytest.mark.parametrize("limit", [131_072, 2**24])
def test_a_quote_that_is_never_closed_is_named(tmp_path: Path, limit: int) -> None:
    before = csv.field_size_limit(limit)  # whatever others in the process set
    path = tmp_path / "a.csv"
    path.write_text('a,b\nc,"' + "x" * 200_000)
    reason = "is no table: field larger than field limit (131072) (is there a quote that is never closed?)"
    try:
        assert list(load(path)) == [Failure(path.as_posix(), reason)]
    finally:
        csv.field_size_limit(before)
