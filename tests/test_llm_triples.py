import json
from pathlib import Path

import pytest

from minirag.errors import InputError
from minirag.training.llm_triples import read_triples


def test_triples_by_title_and_text(tmp_path: Path) -> None:
    path = tmp_path / "triples.json"
    path.write_text(json.dumps([{"title": "T", "text": "x", "triples": [["a", "b", "c"], ["d", "e", "f"]]}]), "utf-8")
    assert read_triples(path) == {("T", "x"): ["a b c", "d e f"]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[{}]", "lacks 'title'"),
        ('[{"title": "T", "text": "x", "triples": [["a"]]}]', "not enough values to unpack"),
        ("{", "Expecting property name"),
        ("[1]", "not subscriptable"),
    ],
)
def test_another_form_is_named(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "triples.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"is no JSON list of objects with title, text and triples: .*{reason}"):
        read_triples(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_triples(tmp_path / "none.json")
