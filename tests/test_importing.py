"""A new index from an export: the same records, vectors and answers, and nothing when a line is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from minirag import Document, Index, Settings, ask, import_index
from minirag.cli import program
from minirag.encoder import HostedEncoder, Role
from minirag.errors import IndexFileError, InputError
from minirag.importing.lines import Lines
from minirag.importing.rebuilding import rebuild
from minirag.progress import Progress
from tests.chained import QUESTION, build_with_strays
from tests.loopback import Loopback, Request, Served, honest
from tests.stored import answers_of, contents_of, make_documents, open_offline, shipped_encoder, vectors_of
from tests.terminals import on_terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

QUESTIONS = (QUESTION, "Where did Piet Olander come from?", "Who kept bees?", "Кто написал роман?")


def export_of(index: Index, **options: Any) -> bytes:  # noqa: ANN401
    file = BytesIO()
    index.export(file, progress=False, **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Of two commits, with deleted documents."""
    with open_offline(build_with_strays(tmp_path_factory.mktemp("original") / "notes.usearch"), mode="r") as index:
        yield index


@pytest.fixture(scope="module")
def lines(original: Index) -> list[bytes]:
    return export_of(original).splitlines(keepends=True)


def assert_same(index: Index, other: Index) -> None:
    assert index.document_ids() == other.document_ids()
    assert contents_of(index.snapshot) == contents_of(other.snapshot)
    assert answers_of(index.snapshot) == answers_of(other.snapshot)
    assert vectors_of(index.snapshot) == vectors_of(other.snapshot)
    for question in QUESTIONS:
        for kinds in (None, "passage", "triple"):
            assert index.search(question, kinds=kinds) == other.search(question, kinds=kinds)
        for strategy in ("kirag", "indexrag", "naive"):
            one, two = (ask(question, each, strategy=strategy, model="offline") for each in (index, other))
            assert (one.text, one.citations, one.evidence) == (two.text, two.citations, two.evidence)


def test_the_same_index_comes_back(original: Index, lines: list[bytes], tmp_path: Path) -> None:
    report = import_index(BytesIO(b"".join(lines)), tmp_path / "copy.usearch", progress=False)

    info = original.info()
    assert (report.documents, report.passages, report.facts) == (info.documents, info.passages, info.facts)
    assert (report.triples, report.bridges, report.encoded) == (info.triples, info.bridges, False)
    with open_offline(tmp_path / "copy.usearch", mode="r") as copy:
        assert_same(original, copy)
        assert export_of(copy) == b"".join(lines)
    assert Index.verify(tmp_path / "copy.usearch").whole


def test_without_vectors_they_are_computed(original: Index, tmp_path: Path) -> None:
    bare = export_of(original, vectors=False)
    report = import_index(BytesIO(bare), tmp_path / "copy.usearch", progress=False)

    assert report.encoded
    with open_offline(tmp_path / "copy.usearch", mode="r") as copy:
        assert contents_of(copy.snapshot) == contents_of(original.snapshot)
        assert export_of(copy, vectors=False) == bare
        for question in QUESTIONS:
            assert str(ask(question, copy, model="offline")) == str(ask(question, original, model="offline"))


def test_in_several_parts(original: Index, lines: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "copy.usearch"
    rebuild(Lines("x", BytesIO(b"".join(lines))), path, encoder=None, progress=Progress(False), part=12)

    with open_offline(path, mode="r") as copy:
        assert copy.info().segments > 3
        assert contents_of(copy.snapshot) == contents_of(original.snapshot)
        assert export_of(copy) == b"".join(lines)


class OtherEncoder:
    """The shipped encoder under another fingerprint."""

    def __init__(self) -> None:
        self._encoder = shipped_encoder()
        self.name, self.fingerprint = "other", "another"
        self.max_tokens, self.dimensions = self._encoder.max_tokens, self._encoder.dimensions

    @property
    def tokenizer(self) -> Tokenizer:
        return self._encoder.tokenizer

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        return -self._encoder.encode(texts, role=role, progress=progress)


def test_another_encoder_computes_all_vectors(original: Index, lines: list[bytes], tmp_path: Path) -> None:
    stages: dict[str, int] = {}
    report = import_index(
        BytesIO(b"".join(lines)),
        tmp_path / "copy.usearch",
        encoder=OtherEncoder(),
        progress=lambda stage, done, total: stages.update({stage: total - done}),
    )

    assert report.encoded
    assert stages == {"importing": 0, "encoding": 0}
    with Index(tmp_path / "copy.usearch", encoder=OtherEncoder(), model="offline") as copy:
        assert copy.info().encoder == "other"
        assert contents_of(copy.snapshot) == contents_of(original.snapshot)
        assert [hit.id for hit in copy.search(QUESTION)] == [hit.id for hit in original.search(QUESTION)]


def test_it_goes_on_as_the_original_would(original: Index, lines: list[bytes], tmp_path: Path) -> None:
    import_index(BytesIO(b"".join(lines)), tmp_path / "copy.usearch", progress=False)

    more = Document("more", "Marta Ellinghaus wrote a letter to Piet Olander in Sundvik.", "A letter")
    with open_offline(tmp_path / "copy.usearch") as copy:
        copy.add(more, progress=False)
        copy.delete("tide", progress=False)
        with open_offline(tmp_path / "other.usearch") as other:
            other.add([original.document(id_) for id_ in original.document_ids() if id_ != "tide"], progress=False)
            other.add(more, progress=False)
            assert contents_of(copy.snapshot) == contents_of(other.snapshot)


# --- what was paid for ---------------------------------------------------------------------------------------------


def refusing(word: str) -> Callable[[Request], Served]:
    def serve(request: Request) -> Served:
        return Served(text="I would rather not.") if word in request.prompt else honest(request)

    return serve


def open_paid(path: Path, server: Loopback) -> Index:
    return Index(path, model="openai/loopback", api_base=server.api_base, api_key="x", encoder=shipped_encoder())


def test_nothing_is_paid_for_twice(tmp_path: Path) -> None:
    documents = make_documents(6)
    with Loopback(refusing("Harbour Book 4")) as server, open_paid(tmp_path / "notes.usearch", server) as index:
        failed = index.add(documents, progress=False).failed
        content = export_of(index)
        info = index.info()
    assert [failure.id.partition("#")[0] for failure in failed] == ["doc4"]

    with Loopback(honest) as server:
        import_index(BytesIO(content), tmp_path / "copy.usearch", progress=False)
        with open_paid(tmp_path / "copy.usearch", server) as copy:
            assert copy.info().failed == info.failed
            assert copy.info().usage == info.usage
            assert copy.info().model == "openai/loopback"
            assert export_of(copy) == content
            assert server.requests == []
            report = copy.add(documents, progress=False)
            assert report.unchanged == tuple(document.id for document in documents)
            extracted = [request for request in server.requests if '"task": "extract"' in request.prompt]
            assert len(extracted) == 1  # what had failed
            assert copy.info().failed == ()


def test_a_hosted_encoder_is_asked_for_nothing(tmp_path: Path) -> None:
    with Loopback(honest) as server:
        encoder = HostedEncoder("openai/any-embedding", api_base=server.api_base, api_key="k")
        with Index(tmp_path / "notes.usearch", model="offline", encoder=encoder) as index:
            index.add(make_documents(4), progress=False)
            content = export_of(index)
            asked = len(server.requests)
            again = HostedEncoder("openai/any-embedding", api_base=server.api_base, api_key="k")
            report = import_index(BytesIO(content), tmp_path / "copy.usearch", encoder=again, progress=False)
            again.close()
            assert not report.encoded
            assert len(server.requests) == asked
            with Index(tmp_path / "copy.usearch", model="offline", encoder=encoder, mode="r") as copy:
                assert export_of(copy) == content


# --- broken files --------------------------------------------------------------------------------------------------


def edit(line: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    record = json.loads(line)
    change(record)
    return json.dumps(record).encode() + b"\n"


def drop(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.pop(key)


def put(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.update({key: value})


def in_passage(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["passages"][0].update({key: value})


def in_header(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["header"].update(values)


BRIDGE = 13  # the first line that is a bridging fact, from 0


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (0, put("format", 9), r"export of format 9, this minirag reads 1: pip install -U minirag"),
        (0, drop("header"), r"'header' is missing"),
        (
            0,
            lambda record: record["header"].update(settings={"nonsense": 1}),
            r"has settings that cannot be used: .*nonsense",
        ),
        (0, in_header(prompts={"dance": {}}), r"has prompts that cannot be used: prompts has no 'dance'"),
        (0, in_header(usage={"dances": 1}), r"has usage that cannot be used: .*dances"),
        (0, in_header(usage=[]), r"has usage that cannot be used"),
        (0, in_header(usage_by_task={"read": 3}), r"has usage that cannot be used"),
        (0, in_header(failed_names=["x"]), r"'failed_names' holds 'x', which is no name with a reason"),
        (0, in_header(aligner=3), r"'aligner' is not an object"),
        (0, in_header(model=None), r"'model' is not a text"),
        (0, lambda record: record["header"]["encoder"].update(source=3), r"'source' is not a text"),
        (0, put("counts", [1]), r"'counts' is not an object"),
        (-1, put("pending", ["-1"]), r"has a 'pending' that is no list of hashes"),
        (-1, put("pending", ["f" * 17]), r"has a 'pending' that is no list of hashes"),
        (1, in_passage("key", 3), r"passage 0: 'key' is not a text"),
        (1, drop("text"), r"'text' is missing"),
        (1, put("id", 7), r"'id' is not a text"),
        (1, put("text", "  "), r"text is blank"),
        (1, put("metadata", [1]), r"metadata must be an object, not list"),
        (1, put("passages", []), r"has no passages"),
        (
            1,
            put("text", "Another text of the same document, but much longer than it was before. " * 2),
            r"passage 0 has the id 'tide#0-\w+', its text makes it 'tide#0-\w+'. Was the text changed\?",
        ),
        (1, in_passage("end", 9999), r"passage 0 is \[0:9999\] of a text of \d+ characters"),
        (1, in_passage("start", True), r"passage 0: 'start' is not a whole number"),
        (1, in_passage("facts", [{"text": "", "entities": []}]), r"passage 0: 'text' holds '', which is no text"),
        (1, in_passage("facts", [{"text": "x", "entities": [1]}]), r"passage 0: 'entities' holds 1, which is no text"),
        (
            1,
            in_passage("triples", [["a", "b", "c"]]),
            r"passage 0: 'triples' holds \['a', 'b', 'c'\], which is no object",
        ),
        (1, in_passage("facts", [{"text": "\ud800", "entities": []}]), r"passage 0: 'text' has a lone surrogate"),
        (1, put("vectors", {}), r"has vectors of 0 bytes, 1 of 384 bytes each were expected"),
        (1, lambda record: record["vectors"].update(facts="*"), r"has vectors that are no base64"),
        (2, put("id", "tide"), r"passage 0 has the id|has the id 'tide', as a document before it"),
        (2, put("type", "song"), r"is of type 'song'; there are 'document', 'bridge' and"),
        (
            BRIDGE,
            put("passage_ids", ["tide#0-1", "marta#0-2"]),
            r"names the passage 'tide#0-1', which no document before it has",
        ),
        (BRIDGE, put("passage_ids", ["tide#0-1"]), r"joins fewer than two documents"),
        (BRIDGE, put("vector", None), r"has vectors of 0 bytes, 1 of 384 bytes each were expected"),
        (-1, put("pending", ["x"]), r"has a 'pending' that is no list of hashes"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_imported(
    lines: list[bytes], tmp_path: Path, number: int, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    broken = list(lines)
    broken[number] = edit(broken[number], change)
    source = tmp_path / "notes.jsonl"
    source.write_bytes(b"".join(broken))

    at = number + 1 if number >= 0 else len(lines)
    with pytest.raises(InputError, match=rf"notes\.jsonl:{at}: .*{message}.*\. Nothing was imported"):
        import_index(source, tmp_path / "copy.usearch", progress=False)
    assert {path.name for path in tmp_path.iterdir()} <= {"notes.jsonl", "copy.usearch.lock"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda lines: lines[:-1], r"x:\d+: is the last line, but not of type 'end': the file was cut off"),
        (lambda lines: [*lines[:-1], lines[-1][:9]], r"x:\d+: is not JSON: .*column 9\)"),
        (lambda lines: [*lines, lines[1]], r"x:\d+: stands behind the last line, of type 'end': 'document'"),
        (lambda lines: [lines[0], b"[1]\n"], r"x:2: is no JSON object"),
        (lambda lines: [lines[0], b"\xff\n"], r"x:2: is not UTF-8: byte 0xFF"),
        (lambda lines: [lines[0], lines[0]], r"x:2: is of type 'index'"),
        (lambda _: [], r"x: is empty"),
        (lambda _: [b"\n \n"], r"x: is empty"),
    ],
)
def test_a_broken_file(
    lines: list[bytes], tmp_path: Path, content: Callable[[list[bytes]], list[bytes]], message: str
) -> None:
    source = BytesIO(b"".join(content(lines)))
    source.name = "x"

    with pytest.raises(InputError, match=message):
        import_index(source, tmp_path / "copy.usearch", progress=False)
    assert {path.name for path in tmp_path.iterdir()} <= {"copy.usearch.lock"}


def test_what_is_there_is_left_alone(lines: list[bytes], tmp_path: Path) -> None:
    (tmp_path / "copy.usearch").write_bytes(b"mine")

    with pytest.raises(IndexFileError, match=r"copy\.usearch: exists already\. Import into a new file"):
        import_index(BytesIO(b"".join(lines)), tmp_path / "copy.usearch", progress=False)
    assert (tmp_path / "copy.usearch").read_bytes() == b"mine"
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read: No such file or directory"):
        import_index(tmp_path / "none.jsonl", tmp_path / "new.usearch")
    with pytest.raises(ValueError, match="an export has settings of its own; give none"):
        import_index(BytesIO(b"".join(lines)), tmp_path / "new.usearch", settings=Settings())
    assert not (tmp_path / "new.usearch").exists()


def test_a_mark_and_blank_lines_do_no_harm(lines: list[bytes], tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + b"\r\n\n".join(line.rstrip() for line in lines)
    report = import_index(BytesIO(content), tmp_path / "copy.usearch", progress=False)

    assert report.documents == 12


def test_a_file_made_by_hand(tmp_path: Path) -> None:
    header = {"encoder": {"name": "any", "fingerprint": "any"}, "settings": {}}
    text = "Ada Brell wrote a book."
    fact = {"text": text, "entities": ["Ada Brell"]}
    made = [
        {"type": "index", "format": 1, "header": header},
        {"type": "document", "id": "a", "text": text, "passages": [{"start": 0, "end": len(text), "facts": [fact]}]},
        {"type": "document", "id": "b", "text": "  x  ", "passages": [{"start": 2, "end": 3}]},
        {"type": "end"},
    ]  # fmt: skip
    source = BytesIO("\n".join(map(json.dumps, made)).encode())
    import_index(source, tmp_path / "copy.usearch", progress=False)

    with open_offline(tmp_path / "copy.usearch") as copy:
        assert copy.document("b").text == "  x  "
        assert copy.search("Who wrote a book?", k=1)[0].text == text
        assert copy.add(Document("a", text), progress=False).unchanged == ("a",)


# --- command line --------------------------------------------------------------------------------------------------


def test_export_and_import_through_pipes(original: Index, lines: list[bytes], tmp_path: Path) -> None:
    runner = CliRunner()
    exported = runner.invoke(program, ["export", str(original.path)])
    assert exported.stdout_bytes == b"".join(lines)

    copy = tmp_path / "copy.usearch"
    done = runner.invoke(program, ["import", "-", str(copy)], input=exported.stdout_bytes)
    info = original.info()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        f"{copy} holds 12 documents, {info.facts} facts, {info.triples} triples, {info.bridges} bridging facts\n"
    )
    assert runner.invoke(program, ["export", str(copy)]).stdout_bytes == b"".join(lines)


def test_export_spares_a_terminal(original: Index, lines: list[bytes]) -> None:
    pty = pytest.importorskip("pty")  # not on Windows
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "minirag", "export", str(original.path)]
    refused = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert refused.returncode == 2
    assert refused.stderr.endswith("Error: name a file by -o FILE; -o - has all of it on this terminal\n")
    assert on_terminal("export", original.path, "-o", "-").encode() == b"".join(lines)


def test_export_to_files(original: Index, tmp_path: Path) -> None:
    target = tmp_path / "notes.jsonl"
    done = CliRunner().invoke(program, ["export", str(original.path), "-o", str(target), "--no-vectors"])

    assert done.exit_code == 0
    assert done.stdout == f"{target}: 0.01 MB\n"
    report = CliRunner().invoke(program, ["import", str(target), str(tmp_path / "copy.usearch"), "--json"])
    assert json.loads(report.stdout)["encoded"] is True


def test_import_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Once upon a time.\n")
    done = CliRunner().invoke(program, ["import", str(tmp_path / "notes.txt"), str(tmp_path / "copy.usearch")])

    assert done.exit_code == 1
    assert "notes.txt:1: names no column head or subject, only once upon a time." in done.stderr
