from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minirag.loading import load
from minirag.loading.markdown import convert, split_front_matter
from minirag.records import Document, Failure, Place


def written(folder: Path, text: str, name: str = "a.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_headings_are_places(tmp_path: Path) -> None:
    text = "# Guide\n\nIntro.\n\n## Install\n\nTake it.\n\n### *Linux*\n\n```\n# no heading\n```\n\nUse\n===\n\nEnd."
    found = convert(written(tmp_path, text))
    assert (found.text, found.title, found.metadata) == (text, "Guide", {})
    assert [(text[place.start :].split("\n")[0], place.headings) for place in found.places] == [
        ("## Install", ("Install",)),
        ("### *Linux*", ("Install", "Linux")),
        ("Use", ("Use",)),
    ]
    assert convert(written(tmp_path, "No heading.")).places == ()
    assert convert(written(tmp_path, "# A\n\nx\n\n# B\n\ny")).places == (Place(8, headings=("B",)),)


def test_front_matter_is_metadata(tmp_path: Path) -> None:
    head = "---\ntitle: 'The: Lamp'\ndate: 2024-05-06\ntags: [a, b]\nn: .nan\nnested: {x: {1: null}}\n---\n\n"
    (found,) = load(written(tmp_path, head + "# Light\n\nIt shines."))
    assert isinstance(found, Document)
    assert (found.title, found.text) == ("The: Lamp", "# Light\n\nIt shines.")
    assert found.metadata == {
        "date": "2024-05-06",
        "tags": ["a", "b"],
        "n": "nan",
        "nested": {"x": {"1": None}},
        "path": found.id,
    }
    assert found.places == (Place(0, headings=("Light",)),)


TAGGED = "---\nx: !!python/object/apply:os.system [ls]\n---\nText"
BILLION_LAUGHS = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b]\n---\nText"


@pytest.mark.parametrize(
    ("text", "metadata", "body"),
    [
        ("+++\nx = 1\nd = 2024-01-02\n+++\nText", {"x": 1, "d": "2024-01-02"}, "Text"),
        ("---\nx: 1\n...\nText", {"x": 1}, "Text"),
        ("---\nx: 1\n---", {"x": 1}, ""),
        ("---\njust words\n---\nText", {}, "---\njust words\n---\nText"),
        ("---\nx: [1\n---\nText", {}, "---\nx: [1\n---\nText"),
        ("---\nd: 2024-99-01\n---\nText", {}, "---\nd: 2024-99-01\n---\nText"),
        ("+++\nx = \n+++\nText", {}, "+++\nx = \n+++\nText"),
        (TAGGED, {}, TAGGED),
        (BILLION_LAUGHS, {}, BILLION_LAUGHS),
        ("Text\n---\nx: 1\n---\n", {}, "Text\n---\nx: 1\n---\n"),
    ],
)  # fmt: skip
def test_what_is_front_matter(text: str, metadata: dict[str, Any], body: str) -> None:
    assert split_front_matter(text) == (metadata, body)


def test_nothing_but_front_matter(tmp_path: Path) -> None:
    path = written(tmp_path, "---\nx: 1\n---\n")
    assert list(load(path)) == [Failure(path.as_posix(), "has no text")]
