"""What an index holds as one number."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.filtering import parse_filter

ADA = Document("ada", "Ada Holm was born in Karsund. Ada Holm built ships.", "Ada Holm", {"year": 1900})
OTTO = Document("otto", "Otto Vane is married to Ada Holm.", "Otto Vane", {"year": 1910})


def digest(path: Path, *documents: Document) -> str:
    with Index(path, model="offline") as index:
        for document in documents:
            index.add(document, progress=False)
        return index.snapshot.digest


def test_it_is_of_the_content_and_not_of_its_order(tmp_path: Path) -> None:
    first = digest(tmp_path / "a.usearch", ADA, OTTO)
    assert len(first) == 16
    assert digest(tmp_path / "b.usearch", OTTO, ADA) == first
    assert digest(tmp_path / "a.usearch") == first
    assert digest(tmp_path / "empty.usearch") == digest(tmp_path / "other.usearch") != first


@pytest.mark.parametrize(
    "changed",
    [
        Document("ada", "Ada Holm was born in Oslo. Ada Holm built ships.", "Ada Holm", {"year": 1900}),
        Document("ada", ADA.text, "Ada", {"year": 1900}),
        Document("ada", ADA.text, "Ada Holm", {"year": 1901}),
        Document("eda", ADA.text, "Ada Holm", {"year": 1900}),
    ],
)
def test_it_changes_with_each_part_of_a_document(tmp_path: Path, changed: Document) -> None:
    assert digest(tmp_path / "a.usearch", ADA, OTTO) != digest(tmp_path / "b.usearch", changed, OTTO)


def test_a_filtered_view_has_its_own(tmp_path: Path) -> None:
    with Index(tmp_path / "a.usearch", model="offline") as index:
        index.add([ADA, OTTO], progress=False)
        whole = index.snapshot.digest
        seen = index.snapshot.through(parse_filter({"year": 1900}))
        assert seen.digest != whole
        assert index.snapshot.digest == whole
    assert seen.digest == digest(tmp_path / "b.usearch", ADA)
