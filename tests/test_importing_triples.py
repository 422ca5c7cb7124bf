"""Triples made elsewhere become an index that answers."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from minirag import Index, Settings, ask, import_index
from minirag.errors import InputError
from tests.stored import open_offline

CSV = """head,relation,tail
Aylwin,directed by,Henry Edwards
Henry Edwards,place_of_birth,Weston-super-Mare
Aylwin,released in,1920
"""
PARTS = ("head", "relation", "tail")
AYLWIN = "Aylwin is a film of 1920.\n\nIt was directed by Henry Edwards."


def built(path: Path, content: str, *, settings: Settings | None = None) -> Index:
    import_index(BytesIO(content.encode()), path, settings=settings, progress=False)
    return open_offline(path)


def test_each_head_makes_a_document(tmp_path: Path) -> None:
    with built(tmp_path / "facts.usearch", CSV) as index:
        assert index.document_ids() == ["Aylwin", "Henry Edwards"]
        assert index.document("Aylwin").text == "Aylwin directed by Henry Edwards.\nAylwin released in 1920."
        assert index.document("Aylwin").title == "Aylwin"
        facts = index.search("Weston-super-Mare", k=1, kinds="fact")
        assert facts[0].text == "Henry Edwards place of birth Weston-super-Mare."
        triples = index.search("birth", k=1, kinds="triple")
        assert triples[0].text == "Henry Edwards place_of_birth Weston-super-Mare"
        assert index.info().bridges > 0
        answer = ask("What is the place of birth of the one who directed Aylwin?", index, model="offline")
        assert {citation.document_id for citation in answer.citations} <= {"Aylwin", "Henry Edwards"}
        assert index.info().model == "offline"
        assert index.info().usage.calls == 0


@pytest.mark.parametrize(
    "content",
    [
        CSV.replace(",", "\t"),
        CSV.replace(",", ";").replace("\n", "\r\n"),
        CSV.replace("head,relation,tail", " Subject ,PREDICATE,object") + "\n\n",
        "\n".join(json.dumps(dict(zip(PARTS, row.split(","), strict=True))) for row in CSV.split("\n")[1:4]),
        '{"document": "Aylwin", "title": "Aylwin", "triples": [["Aylwin", "directed by", "Henry Edwards"], '
        '["Aylwin", "released in", 1920]]}\n'
        '{"subject": " Henry  Edwards ", "predicate": "place_of_birth", "object": "Weston-super-Mare"}',
    ],
)  # fmt: skip
def test_other_spellings_of_the_same(tmp_path: Path, content: str) -> None:
    with built(tmp_path / "one.usearch", CSV) as one, built(tmp_path / "other.usearch", content) as other:
        assert sorted(hit.text for hit in one.search("x", k=50, kinds=["triple"])) == sorted(
            hit.text for hit in other.search("x", k=50, kinds=["triple"])
        )
        assert [one.document(each) for each in one.document_ids()] == [
            other.document(each) for each in other.document_ids()
        ]


def test_with_documents(tmp_path: Path) -> None:
    content = (
        "document,title,text,head,relation,tail\n"
        f'd1,Aylwin (film),"{AYLWIN}",Aylwin,directed by,Henry Edwards\n'
        "d2,,,Henry Edwards,born in,Weston\n"
        "d1,,,Aylwin,released in,1920\n"
    )
    with built(tmp_path / "facts.usearch", content) as index:
        assert index.document("d1").text == AYLWIN
        assert index.document("d1").title == "Aylwin (film)"
        assert index.document("d2").title == ""
        assert index.document("d2").text == "Henry Edwards born in Weston."
        texts = {hit.text for hit in index.search("Aylwin", k=50, kinds=["fact"]) if hit.document_ids == ("d1",)}
        assert texts == {"Aylwin is a film of 1920.", "Aylwin was directed by Henry Edwards."}
        triples = {hit.text for hit in index.search("Aylwin", k=50, kinds=["triple"]) if hit.document_ids == ("d1",)}
        assert triples == {"Aylwin directed by Henry Edwards", "Aylwin released in 1920"}


def test_many_triples_of_one_head_are_in_the_passages_that_state_them(tmp_path: Path) -> None:
    rows = "".join(f"Port Ansel,harbours,the ship number {number} of the northern fleet\n" for number in range(200))
    with built(tmp_path / "facts.usearch", "head,relation,tail\n" + rows) as index:
        info = index.info()
        assert info.passages > 5
        assert (info.facts, info.triples) == (200, 200)
        [hit] = index.search("ship number 150", k=1, kinds=["fact"])
        assert hit.text.removesuffix(".") in index.passage(hit.passage_ids[0]).text


def test_settings_say_how_it_is_built(tmp_path: Path) -> None:
    with built(tmp_path / "facts.usearch", CSV, settings=Settings(bridge_min_length=40)) as index:
        assert index.info().bridges == 0
        assert index.settings.bridge_min_length == 40


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("head,relation\na,b\n", r"x:1: names no column tail or object, only head, relation"),
        (
            '<?xml version="1.0"?>\n<graphml/>\n',
            r"x:1: is XML, and GraphML, which .*, cannot be imported\. What",
        ),
        ("\n  <graphml/>\n", r"x:2: is XML"),
        ('[{"head": "a"}]\n', r"x:1: is a JSON list, not an object a line\. What can be is JSON Lines that"),
        ("head,relation,tail\na,b,c\na,,c\n", r"x:3: relation is missing or blank"),
        ("head,relation,tail\na,b\n", r"x:2: tail is missing or blank"),
        ("head,relation,tail\na,b,c,d\n", r"x:2: has 4 fields, but there are 3 columns"),
        ('head,relation,tail\n"a,b,c\n', r"x:2: is no CSV: unexpected end of data"),
        (
            "head,relation,tail,document,text\na,b,c,d,one\n\na,b,e,d,two\n",
            r"x:4: gives 'd' another text than line 2 does",
        ),
        ('{"head": "a", "relation": "b"}\n', r"x:1: tail is missing or blank"),
        ('{"head": "a", "relation": "b", "tail": []}\n', r"x:1: tail must be a text, not \[\]"),
        ('{"triples": [["a", "b"]]}\n', r"x:1: has a triple that is not \[head, relation, tail\]: \['a', 'b'\]"),
        ('{"triples": "abc"}\n', r"x:1: has 'triples' that are no list of \[head, relation, tail\]"),
        ('{"head": "a", "relation": "b", "tail": "c"}\n{"head"\n', r"x:2: is not JSON"),
        ('{"head": "a", "relation": "b", "tail": "\\ud800"}\n', r"x:1: text has a lone surrogate, U\+D800"),
        (f"head,relation,tail\n{'a' * 1_100},b,c\n", r"x:2: id has 1,100 characters, at most 1,024 are allowed"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    source = BytesIO(content.encode())
    source.name = "x"

    with pytest.raises(InputError, match=rf"{message}.*\. Nothing was imported"):
        import_index(source, tmp_path / "facts.usearch", progress=False)
    assert {path.name for path in tmp_path.iterdir()} <= {"facts.usearch.lock"}
