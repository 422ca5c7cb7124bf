from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.errors import InputError
from minirag.loading import SUFFIXES, Source, check, content_hash, load
from minirag.loading.headings import first_heading
from minirag.records import Document, Failure
from tests.rights import MODES_HOLD, ordinary_rights


def loaded(*sources: Any) -> list[Document | Failure]:  # noqa: ANN401 - wrong types are part of what is tested
    return list(load(sources))


BY_EXTRA = {".pdf", ".html", ".htm", ".xhtml", ".docx", ".pptx", ".xlsx", ".xlsm", ".epub"}


def read(name: str, text: str, title: str) -> Document:
    """What a file comes to."""
    return Document(name, text, title, {"path": name})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, so that ids are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- documents and mappings ----------------------------------------------------------------------------------------


def test_a_document_is_given_as_it_is() -> None:
    document = Document("a", "The text.", "Title", {"year": 1901, "tags": ["x", None]})
    assert loaded(document) == [document]


def test_a_mapping_becomes_a_document() -> None:
    record = {"id": 7, "title": 1984, "text": "A novel.", "metadata": {"year": 1949}, "author": "Orwell", "year": 0}
    assert loaded(record) == [Document("7", "A novel.", "1984", {"author": "Orwell", "year": 1949})]


def test_null_counts_as_missing() -> None:
    record = {"id": None, "title": None, "text": "t", "metadata": None}
    assert loaded(record) == loaded("t") == [Document("text-07d2f3f6ed015540", "t")]


def test_an_id_made_from_content_depends_on_title_and_text_only() -> None:
    plain, titled, annotated = (
        document.id
        for document in loaded({"text": "t"}, {"text": "t", "title": "T"}, {"text": "t", "title": "U", "k": 1})
        if isinstance(document, Document)
    )
    assert len({plain, titled, annotated}) == 3
    assert loaded({"text": "t", "title": "T", "k": 2}) == [Document(titled, "t", "T", {"k": 2})]


def test_one_source_need_not_be_in_a_list() -> None:
    assert list(load("One text.")) == loaded("One text.")
    assert list(load({"id": "a", "text": "t"})) == list(load(Document("a", "t"))) == [Document("a", "t")]


def test_metadata_become_plain_json_of_their_own() -> None:
    inner = [1, 2]
    (document,) = loaded(Document("a", "t", metadata=MappingProxyType({"pair": (1, 2), "list": inner})))
    inner.append(3)
    assert document == Document("a", "t", "", {"pair": [1, 2], "list": [1, 2]})


@pytest.mark.parametrize(
    ("source", "failure"),
    [
        ("", Failure("source #1", "text is blank")),
        (" \n\t", Failure("source #1", "text is blank")),
        (5, Failure("source #1", "a document must be an object with 'text', not int")),
        (None, Failure("source #1", "a document must be an object with 'text', not null")),
        (b"bytes", Failure("source #1", "a document must be an object with 'text', not bytes")),
        ({}, Failure("source #1", "is an empty object")),
        ({"body": "x", "url": "y"}, Failure("source #1", "has no 'text', only 'body', 'url'")),
        ({"id": "a", "body": "x"}, Failure("a", "has no 'text', only 'id', 'body' (source #1)")),
        ({"id": "a", "text": None}, Failure("a", "text must be a string, not null (source #1)")),
        ({"id": "a", "text": "t", "title": ["x"]}, Failure("a", "title must be a string, not list (source #1)")),
        ({"id": "a", "text": "t", "metadata": [1]}, Failure("a", "metadata must be an object, not list (source #1)")),
        ({"id": 1.5, "text": "t"}, Failure("source #1", "id must be a string, not float")),
        ({"id": True, "text": "t"}, Failure("True", "id must be a string, not bool (source #1)")),
        ({"id": " ", "text": "t"}, Failure("source #1", "id is blank")),
        ({"id": "i" * 1025, "text": "t"}, Failure("source #1", "id has 1,025 characters, at most 1,024 are allowed")),
        (
            {"id": "a", "text": "ab\ud800c"},
            Failure("a", "text has a lone surrogate, U+D800, at character 2: replace it (source #1)"),
        ),
        (
            Document("a\udcff", "t"),
            Failure("a\\udcff", "id has a lone surrogate, U+DCFF, at character 1: replace it (source #1)"),
        ),
        (
            Document("a", "t", metadata={1: 2}),  # type: ignore[dict-item]  # wrong on purpose
            Failure("a", "metadata has the key 1 (int); keys are strings (source #1)"),
        ),
        (
            {"id": "a", "text": "t", "score": float("nan")},
            Failure("a", "metadata.score is nan, which is no JSON value: use null, or leave the key out (source #1)"),
        ),
        (
            {"id": "a", "text": "t", "tags": {1}},
            Failure(
                "a",
                "metadata.tags is a set, which is no JSON value: use strings, numbers, true, false, null, lists and "
                "objects (a date as a string such as '2026-03-31') (source #1)",
            ),
        ),
        (
            {"id": "a", "text": "t", "tags": "\ud800"},
            Failure("a", "metadata.tags has a lone surrogate, U+D800, at character 0: replace it (source #1)"),
        ),
        (
            {"id": "a", "text": "t", "page": "x" * 1_000_000},
            Failure(
                "a",
                "metadata take 1,000,012 bytes, at most 1,000,000 are allowed: keep the rest elsewhere (source #1)",
            ),
        ),
    ],
)
def test_what_is_no_document_is_named(source: object, failure: Failure) -> None:
    (found,) = loaded(source)
    assert found == failure


def test_a_failure_stops_nothing() -> None:
    assert loaded("First.", 5, "Second.")[0::2] == loaded("First.", "Second.")


def test_the_longest_id_is_allowed() -> None:
    assert check(Document("i" * 1024, "t")).id == "i" * 1024


def test_check_raises() -> None:
    with pytest.raises(InputError, match=r"^text is blank$"):
        check(Document("a", "\n"))


def test_the_same_again_is_passed_over_and_other_content_fails() -> None:
    assert loaded({"id": "a", "text": "t", "m": 1, "n": 2}, {"n": 2, "m": 1, "id": "a", "text": "t"}, "x", "x") == [
        Document("a", "t", "", {"m": 1, "n": 2}),
        *loaded("x"),
    ]
    assert (
        loaded(Document("a", "t"), Document("a", "u"), Document("a", "t", "T"))[1:]
        == [Failure("a", "came before with other content; ids must be unique, so only the first is used")] * 2
    )


def test_sources_are_drawn_one_by_one() -> None:
    drawn = []

    def sources() -> Iterator[Source]:
        for number in range(3):
            drawn.append(number)
            yield f"Text {number}."

    documents = load(sources())
    assert drawn == []
    next(documents)
    assert drawn == [0]


def test_the_hash_knows_content_and_no_order() -> None:
    hashes = {
        content_hash(document)
        for document in (
            Document("a", "t"),
            Document("b", "t", "", {}),
            Document("a", "", "t"),
            Document("a", "t", "", {"x": 1, "y": 2}),
            Document("a", "t", "", {"y": 2, "x": 1}),
        )
    }
    assert len(hashes) == 3
    assert content_hash(Document("a", "t")) == "41b6a2ef0a13e52469ffa751e1448ffc"


VALUES = st.none() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=2)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text())
def test_any_record_gives_one_document_or_one_failure(record: Mapping[str, Any], text: str) -> None:
    (found,) = loaded({**record, "text": text})
    if isinstance(found, Document):
        assert found.text == text
        assert loaded(found) == [found]
        assert json.loads(json.dumps(dict(found.metadata), ensure_ascii=False).encode()) == found.metadata
    else:
        assert found.reason


# --- strings -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("text", ["missing.md", "my missing notes.TXT", "./missing", "no/such/folder"])
def test_a_string_that_looks_like_a_path_is_no_text(text: str) -> None:
    assert loaded(text) == [Failure(Path(text).as_posix(), "no such file or folder")]


@pytest.mark.parametrize("text", ["https://x.org/a", "HTTP://x.org/a.txt", "s3://bucket/a.pdf"])
def test_an_address_is_told_to_be_one(text: str) -> None:
    why = "is an address, and minirag fetches nothing. Download it, and give the file"
    assert loaded(text) == loaded(Path(text)) == [Failure(text, why)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "text",
    [
        "Plain words",
        "word",
        "Read this and/or that.",
        "and/or.",
        "東京/大阪は日本の都市です。",
        "two\nlines.md",
        "zero\0byte",
        "\udcff",
        "x" * 5000,
        "a/" * 200,
    ],
)
def test_any_other_string_is_a_text(text: str) -> None:
    (found,) = loaded(text)
    expected = text if text != "\udcff" else "text has a lone surrogate, U+DCFF, at character 0: replace it"
    assert expected == (found.text if isinstance(found, Document) else found.reason)


@pytest.mark.parametrize("wrong", [None, 5, b"text", True, object])
def test_what_is_no_source_is_told(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(
        ValueError, match="documents are Documents, mappings, texts or paths, one or several of them, not "
    ):
        list(load(wrong))


def test_a_string_is_a_path_if_there_is_one(folder: Path) -> None:
    (folder / "LICENSE").write_text("Free.")
    assert loaded("LICENSE") == [read("LICENSE", "Free.", "LICENSE")]
    assert loaded({"id": "a", "text": "LICENSE"}) == [Document("a", "LICENSE")]


@pytest.mark.usefixtures("folder")
def test_an_existing_path_with_a_zero_character_cannot_be() -> None:
    (found,) = loaded("zero\0.md")
    assert isinstance(found, Failure)
    assert found.id == "zero\0.md"
    assert found.reason.startswith("cannot be read: ")


# --- text files ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "content",
    [
        "Ärger\nund 東京".encode(),
        b"\xef\xbb\xbf" + "Ärger\nund 東京".encode(),
        "Ärger\r\nund 東京".encode(),
        "Ärger\rund 東京".encode(),
        "Ärger\nund 東京".encode("utf-16"),
        b"\xfe\xff" + "Ärger\r\nund 東京".encode("utf-16-be"),
        "Ärger\nund 東京".encode("utf-32"),
    ],
)
def test_text_of_any_unicode_coding(content: bytes) -> None:
    Path("a.txt").write_bytes(content)
    assert loaded(Path("a.txt")) == [read("a.txt", "Ärger\nund 東京", "a")]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"\xff\xfe", "is empty"),
        ("Über".encode("latin-1"), "is not UTF-8: byte 0xDC at offset 0. Convert it to UTF-8"),
        ("ab é".encode("latin-1"), "is not UTF-8: byte 0xE9 at offset 3. Convert it to UTF-8"),
        (b"%PDF\x00\xff", "is a binary file: zero byte at offset 4"),
        (b"\xff\xfea\0\0\0", "is a binary file: zero character at 1"),
        (b"\xff\xfea\0b", "is not UTF-16: byte 0x62 at offset 4. Convert it to UTF-8"),
    ],
)
def test_files_that_hold_no_text_are_named(content: bytes, reason: str) -> None:
    Path("a.txt").write_bytes(content)
    assert loaded(Path("a.txt"), "Go on") == [Failure("a.txt", reason), *loaded("Go on")]


def test_ids_of_files_are_paths_as_given(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("t")
    assert loaded("sub", "./sub/a.txt", Path("sub/a.txt")) == [read("sub/a.txt", "t", "a")]
    absolute = (folder / "sub" / "a.txt").as_posix()
    assert loaded(folder) == [read(absolute, "t", "a")]


@pytest.mark.usefixtures("folder")
def test_a_file_given_by_itself_is_read_whatever_its_suffix() -> None:
    Path("Makefile.log").write_text("t")
    Path(".hidden").write_text("u")
    assert loaded("Makefile.log", ".hidden") == [
        read("Makefile.log", "t", "Makefile"),
        read(".hidden", "u", ".hidden"),
    ]
    assert loaded(".") == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The Lamp\n\nText", "The Lamp"),
        ("Text before\n\n## The *Lamp* ##\n", "The Lamp"),
        ("# **The Lamp**", "The Lamp"),
        ("# C#", "C#"),
        ("# ![logo](l.png)The [Lamp](http://x) `v2` * 3", "logoThe Lamp v2 * 3"),
        ("#hashtag\n#1\n", ""),
        ("```\n# comment\n```\n# Real", "Real"),
        ("~~~~\n# comment\n~~~\n# more", ""),
        ("The Lamp\n========\n", "The Lamp"),
        ("====\nLamp\n====\n", "Lamp"),
        ("| a | b |\n|---|---|\n", ""),
        ("---\ntitle: 'The Lamp'\nx: 1\n---\n# Other", "The Lamp"),
        ("---\n# comment\nx: 1\n---\n# Other", "Other"),
        ("---\ntitle:\n---\nNothing", ""),
        ("# " + "x" * 500, "x" * 200),
        ("# " + " " * 100_000 + "x", ""),
        ("Nothing", ""),
    ],
)
def test_first_heading(text: str, title: str) -> None:
    assert first_heading(text) == title


@pytest.mark.usefixtures("folder")
def test_the_title_of_a_file_is_its_heading_or_name() -> None:
    Path("a.md").write_text("# The Lamp\n\nText.")
    Path("b.markdown").write_text("Text.")
    Path("c.txt").write_text("# No heading")
    assert loaded(".") == [
        read("a.md", "# The Lamp\n\nText.", "The Lamp"),
        read("b.markdown", "Text.", "b"),
        read("c.txt", "# No heading", "c"),
    ]


# --- JSON ----------------------------------------------------------------------------------------------------------

LAMP, OIL = {"id": "l", "title": "Lamp", "text": "A lamp."}, {"id": "o", "text": "Oil.", "year": 1901}
DOCUMENTS = [Document("l", "A lamp.", "Lamp"), Document("o", "Oil.", "", {"year": 1901})]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("content", [[LAMP, OIL], {"documents": [LAMP, OIL]}, {"documents": [LAMP, OIL], "version": 1}])
def test_json_of_several_documents(content: object) -> None:
    Path("a.JSON").write_text(json.dumps(content))
    assert loaded("a.JSON") == DOCUMENTS


@pytest.mark.usefixtures("folder")
def test_json_of_one_document() -> None:
    Path("a.json").write_text(json.dumps({**LAMP, "documents": [1]}))
    assert loaded("a.json") == [Document("l", "A lamp.", "Lamp", {"documents": [1]})]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("content", "failures"),
    [
        ("", [Failure("a.json", "is empty")]),
        ("[]", [Failure("a.json", "is an empty list")]),
        ('{"documents": []}', [Failure("a.json", "is an empty list")]),
        ("7", [Failure("a.json", "a document must be an object with 'text', not int")]),
        ('{"name": "x"}', [Failure("a.json", "has no 'text', only 'name'")]),
        ('[1, {"id": 1}]', [Failure("a.json", "none of its 2 items is an object with 'text'")]),
        ('[{"text": 1}, 2]', [
            Failure("a.json[0]", "text must be a string, not int"),
            Failure("a.json[1]", "a document must be an object with 'text', not int"),
        ]),
        ('{"text": \n "x" "y"}', [Failure("a.json", "is not JSON: Expecting ',' delimiter (line 2, column 6)")]),
        ('{"text": "x"', [Failure("a.json", "is not JSON: Expecting ',' delimiter (column 13)")]),
    ],
)  # fmt: skip
def test_json_without_documents_is_named(content: str, failures: list[Failure]) -> None:
    Path("a.json").write_text(content)
    assert loaded("a.json") == failures


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("content", ["[" * 200_000, "1" * 10_000])
def test_json_that_python_refuses_is_named(content: str) -> None:
    Path("a.json").write_text(content)
    (found,) = loaded("a.json")
    assert isinstance(found, Failure)
    assert found.id == "a.json"
    assert found.reason.startswith(("is JSON that cannot be read: ", "is not JSON: "))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_lines(encoding: str) -> None:
    lines = [
        json.dumps(LAMP),
        "",
        "  ",
        json.dumps(OIL),
        json.dumps({"text": "línea\u2028", "id": 3}, ensure_ascii=False),
    ]
    Path("a.jsonl").write_bytes("\r\n".join(lines).encode(encoding))
    assert loaded("a.jsonl") == [*DOCUMENTS, Document("3", "línea\u2028")]


@pytest.mark.usefixtures("folder")
def test_a_broken_line_fails_alone() -> None:
    broken = [
        b'{"text": "a"',
        b'{"id": "bad", "text": " "}',
        b'{"text": "\xe9"}',
        b"[1]",
        b'{"text": "\\ud83d", "id": 2}',
    ]
    Path("a.ndjson").write_bytes(b"\n".join([json.dumps(LAMP).encode(), *broken, b"", json.dumps(OIL).encode()]))
    assert loaded("a.ndjson") == [
        DOCUMENTS[0],
        Failure("a.ndjson:2", "is not JSON: Expecting ',' delimiter (column 13)"),
        Failure("bad", "text is blank (a.ndjson:3)"),
        Failure("a.ndjson:4", "is not UTF-8: byte 0xE9 at offset 10. Convert it to UTF-8"),
        Failure("a.ndjson:5", "a document must be an object with 'text', not list"),
        Failure("2", "text has a lone surrogate, U+D83D, at character 0: replace it (a.ndjson:6)"),
        DOCUMENTS[1],
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b"\n \n", "is empty"), (b"PK\x03\x00", "is a binary file: zero byte at offset 3")],
)
def test_json_lines_without_lines_are_named(content: bytes, reason: str) -> None:
    Path("a.jsonl").write_bytes(content)
    assert loaded("a.jsonl") == [Failure("a.jsonl", reason)]


@pytest.mark.usefixtures("folder")
def test_json_lines_that_stop_being_unicode_keep_what_came_before() -> None:
    Path("a.jsonl").write_bytes((json.dumps(LAMP) + "\n").encode("utf-16") + b"\x00\xdc\x41\x00")
    found = loaded("a.jsonl")
    assert isinstance(found[-1], Failure)
    assert found[-1].id == "a.jsonl"


@pytest.mark.usefixtures("folder")
def test_records_without_id_keep_their_ids_in_any_order() -> None:
    Path("a.json").write_text('[{"text": "x"}, {"text": "y"}]')
    Path("b.jsonl").write_text('{"text": "y"}\n{"text": "x"}')
    assert loaded("a.json") == loaded("a.json", "b.jsonl") == loaded("b.jsonl")[::-1]


# --- folders -------------------------------------------------------------------------------------------------------


def test_a_folder_is_walked_in_order_and_skips_are_told(folder: Path) -> None:
    for name in (
        "b.txt",
        "a/z.txt",
        "a/b/c.md",
        ".git/x.txt",
        ".hidden.txt",
        "picture.png",
        "README",
        "c.TXT",
        "ä.txt",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("t " + name)
    skipped: list[Path] = []
    documents = [item.id for item in load(".", on_skip=skipped.append)]
    assert documents == ["a/b/c.md", "a/z.txt", "b.txt", "c.TXT", "ä.txt"]
    assert skipped == [Path(".git"), Path(".hidden.txt"), Path("README"), Path("picture.png")]


@pytest.mark.usefixtures("folder")
def test_every_suffix_is_read_in_a_folder() -> None:
    for suffix in set(SUFFIXES) - BY_EXTRA:
        Path(f"file{suffix}").write_text(json.dumps({"id": suffix, "text": "t"}))
    assert len(loaded(".")) == len(SUFFIXES) - len(BY_EXTRA) == 9


def test_links_are_followed_inside_the_folder_only(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "out.txt").write_text("outside")
    (folder / "in" / "real.txt").write_text("inside")
    (folder / "in" / "again.txt").symlink_to("real.txt")
    (folder / "in" / "secret.txt").symlink_to("../out.txt")
    (folder / "in" / "up").symlink_to("..")
    (folder / "in" / "gone.txt").symlink_to("nowhere")
    (folder / "in" / "loop.txt").symlink_to("loop.txt")
    (folder / "way").symlink_to("in")
    skipped: list[Path] = []
    again, gone, loop, real = load(Path("way"), on_skip=skipped.append)
    assert again == read("way/again.txt", "inside", "again")
    assert gone == Failure("way/gone.txt", "is a link that leads nowhere")
    assert isinstance(loop, Failure)
    assert loop.id == "way/loop.txt"
    assert real == read("way/real.txt", "inside", "real")
    assert skipped == [Path("way/secret.txt"), Path("way/up")]
    assert loaded("in/secret.txt") == [read("in/secret.txt", "outside", "secret")]


@pytest.mark.usefixtures("folder")
def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("pipe.txt")
    assert loaded(".", "pipe.txt") == [Failure("pipe.txt", "is neither a file nor a folder")] * 2


@pytest.mark.usefixtures("folder")
def test_a_socket_is_named() -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        assert loaded(".") == [Failure("socket.md", "is neither a file nor a folder")]


@pytest.mark.usefixtures("folder")
@MODES_HOLD
def test_what_may_not_be_read_is_named() -> None:
    Path("a.txt").write_text("t")
    Path("a.txt").chmod(0)
    Path("b").mkdir(mode=0)
    Path("c.txt").write_text("t")
    with ordinary_rights():
        found = loaded(".")
    Path("b").chmod(0o700)
    assert found == [
        Failure("a.txt", "cannot be read: Permission denied"),
        Failure("b", "cannot be read: Permission denied"),
        read("c.txt", "t", "c"),
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes as names")
def test_a_name_that_is_no_unicode() -> None:
    Path(os.fsdecode(b"caf\xe9.txt")).write_text("t")
    Path(os.fsdecode(b"empty\xe9.txt")).write_text("")
    assert loaded(".") == [read("caf\\udce9.txt", "t", "caf\\udce9"), Failure("empty\\udce9.txt", "is empty")]


@pytest.mark.usefixtures("folder")
@given(content=st.binary(max_size=200), suffix=st.sampled_from(sorted(SUFFIXES)))
def test_any_bytes_are_read_or_named(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    found = loaded(path)
    assert found
    for item in found:
        assert item.id.encode()
        assert (item.text if isinstance(item, Document) else item.reason).strip()
