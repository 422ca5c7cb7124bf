"""One file over time: commits, compaction, readers and writers in threads and processes, disks that refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Document, Index, ask
from minirag.errors import (
    IndexClosedError,
    IndexLockedError,
    IndexMissingError,
    IndexReadOnlyError,
    IndexWriteError,
    InputError,
)
from minirag.naming.names import normalise_name
from minirag.storage.merging import read_document, read_vectors
from minirag.storage.store import Store
from minirag.storage.writing import Change, append_commit
from tests.rights import MODES_HOLD, ordinary_rights
from tests.stored import contents_of, make_documents, open_offline

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


@pytest.fixture
def index(path: Path) -> Iterator[Index]:
    with open_offline(path) as index:
        index.add(make_documents(6), progress=False)
        yield index


def run_child(task: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """One of the functions below, in a process of its own."""
    command = [sys.executable, "-m", "tests.test_store", task, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def names_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time of change."""
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(folder.iterdir())}


# --- commits -------------------------------------------------------------------------------------------------------


def test_adding_appends_and_rewrites_nothing(index: Index, path: Path) -> None:
    index.add(make_documents(12), progress=False)
    index.compact()
    before = path.read_bytes()
    index.add(make_documents(2, start=12), progress=False)
    index.delete("doc3", progress=False)
    after = path.read_bytes()
    assert after[: len(before)] == before
    assert index.info().segments > 1
    index.compact()
    assert index.info().segments == 1
    assert path.stat().st_size < len(after)
    assert [file.name for file in sorted(path.parent.iterdir())] == ["notes.usearch", "notes.usearch.lock"]


def test_ten_documents_cost_the_same_whatever_is_there(tmp_path: Path) -> None:
    grown = {}
    for size in (30, 240):
        with open_offline(tmp_path / f"{size}.usearch") as index:
            # Names of their own: what is new shares none with what is there, so bridging is the same work too.
            index.add([Document(f"old{n}", f"The ship Vessel{n} sank near Cape{n} in 1900.") for n in range(size)])
            before = index.info().bytes
            index.add(make_documents(10), progress=False)
            grown[size] = index.info().bytes - before
    assert grown[240] == pytest.approx(grown[30], rel=0.02)


def test_the_file_stays_small_over_many_commits(path: Path) -> None:
    with open_offline(path) as index:
        index.add(make_documents(10), progress=False)
        for number in range(60):
            index.add(Document("doc3", f"Mira Holt moved to Karsund in {1900 + number}."), progress=False)
        size, segments = index.info().bytes, index.info().segments
        index.compact()
        assert segments <= 12
        assert size < 2 * index.info().bytes + 2 * (1 << 20)


# --- readers -------------------------------------------------------------------------------------------------------


def test_a_reader_moves_when_it_refreshes(index: Index, path: Path) -> None:
    with open_offline(path, mode="r") as reader:
        held = reader.snapshot
        assert reader.refresh() is False
        index.add(make_documents(1, start=6), progress=False)
        assert len(reader) == 6
        assert (reader.refresh(), len(reader), reader.refresh()) == (True, 7, False)
        assert held.count("documents") == 6


@POSIX
def test_a_reader_of_a_replaced_file_keeps_its_commit(index: Index, path: Path) -> None:
    with open_offline(path, mode="r") as reader:
        before = contents_of(reader.snapshot)
        index.delete("doc0", progress=False)
        index.compact()
        assert contents_of(reader.snapshot) == before
        assert reader.refresh() is True
        assert "doc0" not in reader


def test_a_write_under_way_is_no_commit(index: Index, path: Path) -> None:
    with open_offline(path, mode="r") as reader:
        with path.open("ab") as file:
            file.write(b"half a section")
        assert (reader.refresh(), len(reader)) == (False, 6)
        with pytest.warns(UserWarning, match="the last 14 bytes are no whole commit"):
            Index(path, mode="r").close()
        index.add(make_documents(1, start=6), progress=False)
        assert (reader.refresh(), len(reader)) == (True, 7)
        assert b"half a section" in path.read_bytes()


def test_a_vanished_file_is_told(index: Index, path: Path) -> None:
    path.unlink()
    assert len(index.search("harbour")) > 0
    with pytest.raises(IndexMissingError, match="the file is gone"):
        index.refresh()
    with pytest.raises(IndexMissingError, match="the file is gone"):
        index.add(make_documents(1), progress=False)


def test_nothing_works_after_close(index: Index) -> None:
    index.close()
    index.close()
    calls = (
        lambda: index.search("harbour"),
        lambda: index.add("A text.", progress=False),
        lambda: index.delete("doc1"),
        index.compact,
        index.refresh,
        index.info,
        lambda: len(index),
        lambda: ask("Who?", index),
    )
    for call in calls:
        with pytest.raises(IndexClosedError, match="the index is closed"):
            call()


# --- read-only -----------------------------------------------------------------------------------------------------


def test_reading_leaves_no_trace(index: Index, path: Path) -> None:
    index.close()
    (path.parent / "notes.usearch.lock").unlink()
    before = names_in(path.parent)
    with open_offline(path, mode="r") as reader:
        assert ask("Where was Ada Brell born?", reader, model="offline").found
        assert (reader.refresh(), len(reader.search("harbour"))) == (False, 10)
        for write in (lambda: reader.add("A text."), lambda: reader.delete("doc1"), reader.compact):
            with pytest.raises(IndexReadOnlyError, match="mode='a' to write"):
                write()
        with pytest.raises(IndexReadOnlyError, match="mode='a' to write"):
            reader.reembed(None)
    assert names_in(path.parent) == before


def test_a_serverless_handler(index: Index, path: Path, tmp_path: Path) -> None:
    """The README's: the index ships in the package, or is fetched once from an object store."""
    index.close()
    bucket, temporary = path, tmp_path / "tmp"
    temporary.mkdir()
    opened: list[Index] = []

    def handler(event: dict[str, str]) -> dict[str, object]:
        if not opened:  # once per instance, not per call
            local = temporary / "notes.usearch"
            partial = local.with_suffix(".part")
            shutil.copyfile(bucket, partial)  # or: s3.download_file("bucket", "notes.usearch", str(partial))
            partial.replace(local)
            opened.append(Index(local, mode="r", model="offline"))
        answer = ask(event["question"], opened[0])
        return {"answer": answer.text, "sources": [citation.document_id for citation in answer.citations]}

    first = handler({"question": "Where was Ada Brell born?"})
    assert first == handler({"question": "Where was Ada Brell born?"})
    assert first["answer"]
    assert list(names_in(temporary)) == ["notes.usearch"]
    opened[0].close()


# --- paths ---------------------------------------------------------------------------------------------------------


@POSIX
def test_a_link_is_another_name_of_the_same_file(index: Index, path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.usearch"
    link.symlink_to(path.name)
    with open_offline(link) as linked:
        linked.add(make_documents(1, start=6), progress=False)
        linked.compact()
        assert link.is_symlink()
        assert (index.refresh(), len(index)) == (True, 7)
        held = Store(path, mode="a", normalise=normalise_name).writing()
        with held, pytest.raises(IndexLockedError, match="is writing it"):
            linked.compact()


@pytest.mark.parametrize("kind", ["document", "passage", "fact"])
def test_a_record_that_is_too_large_is_told_and_leaves_the_file_as_it_was(index: Index, path: Path, kind: str) -> None:
    snapshot, before = index.snapshot, path.read_bytes()
    held = read_document(snapshot.segments[0], 3)
    huge, passage = "\x1f" * 45_000_000, held.passages[0]  # six bytes each
    if kind == "fact" and passage.extraction is not None:
        first, *others = passage.extraction.facts
        extraction = replace(passage.extraction, facts=(replace(first, text=huge), *others))
        held = replace(held, passages=[replace(passage, extraction=extraction)])
    elif kind == "passage":
        held = replace(held, passages=[replace(passage, before=huge)])
    else:
        held = replace(held, after=huge)
    data = read_vectors(snapshot.segments[0], 3, held, normalise_name)
    with pytest.raises(InputError, match=r"^doc3: a record of 270,000,\d{3} bytes is more than the 268,435,456 "):
        append_commit(snapshot, Change(snapshot.header, snapshot.pending, data))
    assert path.read_bytes() == before


def test_a_relative_path_survives_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_offline(Path("notes.usearch")) as index:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        index.add(make_documents(2), progress=False)
        assert len(index) == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


@POSIX
def test_the_file_keeps_its_mode(index: Index, path: Path) -> None:
    path.chmod(0o640)
    index.compact()
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_a_killed_compaction_left_is_removed(index: Index, path: Path) -> None:
    left = path.with_name("notes.usearch.rewrite")
    left.write_bytes(b"half of it")
    index.delete("doc1", progress=False)
    assert not left.exists()


# --- several -------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_told_at_once(index: Index, path: Path) -> None:
    with open_offline(path) as other, Store(path, mode="a", normalise=normalise_name).writing():
        started = time.monotonic()
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()} is writing it"):
            other.add(make_documents(1, start=6), progress=False)
        with pytest.raises(IndexLockedError, match="mode='r' to read meanwhile"):
            index.compact()
        assert time.monotonic() - started < 5
    assert len(index.search("harbour")) == 10


def test_a_write_in_spite_of_the_lock_is_noticed(index: Index, path: Path) -> None:
    """The lock file was deleted, and another writer came in."""
    first = Store(path, mode="a", normalise=normalise_name)
    with first.writing():
        path.with_name("notes.usearch.lock").unlink()
        index.add(make_documents(1, start=6), progress=False)
        with pytest.raises(IndexWriteError, match="was changed by another process"):
            first.commit(Change({**first.snapshot.header, "model": "other"}, first.snapshot.pending))
        with pytest.raises(IndexWriteError, match="was changed by another process"):
            first.compact()
    with open_offline(path, mode="r") as reader:
        assert len(reader) == 7


@pytest.mark.slow
def test_two_processes_write_and_three_read(path: Path) -> None:
    """Every commit adds a pair of documents: no reader ever sees one without the other."""
    with open_offline(path) as index:
        index.add(pair(0, "start"), progress=False)
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.test_store", *task, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for task in (["write", "left"], ["write", "right"], ["read"], ["read"], ["read"])
    ]
    printed = [child.communicate(timeout=300) for child in children]
    assert [complaint for _, complaint in printed] == [""] * 5
    assert [child.returncode for child in children] == [0] * 5
    seen = [int(output) for output, _ in printed[2:]]
    assert min(seen) >= 3
    with open_offline(path, mode="r") as index:
        assert len(index) == 2 * (1 + 2 * PAIRS)
        assert index.snapshot.contents.commit >= 1 + 2 * PAIRS
    assert Index.verify(path).whole


PAIRS = 12


def pair(number: int, writer: str) -> list[Document]:
    text = f"The {writer} harbour {number} was dug by Ada Brell."
    return [Document(f"{writer}-{number}-{half}", text, f"{writer} {number} {half}") for half in "ab"]


def write(writer: str, path: str) -> None:
    with open_offline(Path(path)) as index:
        for number in range(PAIRS):
            while True:
                try:
                    index.add(pair(number, writer), progress=False)
                    break
                except IndexLockedError:
                    time.sleep(0.01)


def read(path: str) -> None:
    seen = 0
    with open_offline(Path(path), mode="r") as index:
        while len(index) < 2 * (1 + 2 * PAIRS):
            if index.refresh():
                seen += 1
            with open_offline(Path(path), mode="r") as fresh:
                for reader in (index, fresh):
                    ids = [row[0] for row in contents_of(reader.snapshot)["document"]]
                    assert len(ids) % 2 == 0
                    assert {name[:-1] for name in ids if name[-1] == "a"} == {n[:-1] for n in ids if n[-1] == "b"}
                    assert reader.search("harbour", k=5)
    print(seen)  # noqa: T201


def test_sixteen_threads_ask_while_one_writes(index: Index) -> None:
    question = "Where was the author of The Harbour Book 1 born?"
    expected = ask(question, index, model="offline").text
    stop = threading.Event()

    def ask_often() -> set[str]:
        answers = set()
        while not stop.is_set():
            answers.add(ask(question, index, model="offline").text)
            answers.add(str(len(index.search("harbour", k=5))))
        return answers

    with ThreadPoolExecutor(16) as pool:
        asking = [pool.submit(ask_often) for _ in range(16)]
        for number in range(5):
            index.add(Document(f"other{number}", f"Lake Lugano is {number} km long."), progress=False)
        index.compact()
        stop.set()
        assert [found.result() for found in asking] == [{expected, "5"}] * 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_an_index_survives_fork(path: Path) -> None:
    """In a process that has no other threads yet than those that minirag itself starts."""
    done = run_child("fork", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child 8\nparent 8\n", "")


def fork(path: str) -> None:
    index = open_offline(Path(path))
    index.add(make_documents(6), progress=False)
    inherited = index.snapshot
    child = os.fork()
    if child == 0:
        assert index.snapshot is not inherited
        assert len(index.search("harbour")) == 10
        assert ask("Where was Ada Brell born?", index, model="offline").found
        index.add(make_documents(2, start=6), progress=False)
        print("child", len(index), flush=True)  # noqa: T201
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert index.refresh()
    assert len(index.search("harbour")) == 10
    print("parent", len(index), flush=True)  # noqa: T201


# --- disks that refuse ---------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("task", ["append", "compact"])
def test_a_full_disk_keeps_the_last_commit(path: Path, task: str) -> None:
    """A child whose files may not grow beyond a limit: the system then refuses as it does on a full disk."""
    with open_offline(path) as index:
        index.add(make_documents(12), progress=False)
        before = contents_of(index.snapshot)
    size = path.stat().st_size
    done = run_child("fill", task, path, size + 5_000 if task == "append" else size // 2)
    assert (done.returncode, done.stderr) == (0, "")
    message, needed, segments = done.stdout.splitlines()
    assert message.startswith(f"{path}: could not be written (needs {int(needed):,} bytes): File too large. The index")
    assert int(needed) > (5_000 if task == "append" else size // 2)
    assert segments == "1"
    assert path.stat().st_size == size
    assert [file.name for file in sorted(path.parent.iterdir())] == ["notes.usearch", "notes.usearch.lock"]
    with open_offline(path) as index:
        assert contents_of(index.snapshot) == before
        index.add(make_documents(13), progress=False)
        assert len(index) == 13
    assert Index.verify(path).whole


def fill(task: str, path: str, limit: str) -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    index = open_offline(Path(path))
    index.search("harbour")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    with pytest.raises(IndexWriteError, match="could not be written") as caught:
        index.add(make_documents(4, start=12), progress=False) if task == "append" else index.compact()
    assert index.refresh() is False
    assert len(index.search("harbour")) == 10
    print(caught.value, caught.value.needed, index.info().segments, sep="\n")  # noqa: T201


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("a small disk needs Linux and the right to mount one")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def add_until_refused(index: Index) -> None:
    for number in range(100):
        index.add(make_documents(3, start=3 * number), progress=False)


def test_a_really_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "disk" / "notes.usearch"
    with small_disk(tmp_path / "disk", "256k"), open_offline(path) as index:
        with pytest.raises(IndexWriteError, match=r"No space left on device\. The index on disk is still its last"):
            add_until_refused(index)
        added = len(index)
        assert added > 3
        assert (index.refresh(), len(index)) == (False, added)
        assert Index.verify(path).whole
        with open_offline(path, mode="r") as reader:
            assert len(reader) == added


@POSIX
def test_a_vanished_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with open_offline(folder / "notes.usearch") as index:
        index.add(make_documents(3), progress=False)
        shutil.rmtree(folder)
        with pytest.raises(IndexWriteError, match=r"its folder .*folder is gone"):
            index.add(make_documents(6), progress=False)
        assert len(index.search("harbour", k=3)) == 3
    assert not folder.exists()
    with pytest.raises(IndexMissingError, match=r"the folder .*folder does not exist"):
        Index(folder / "notes.usearch")


@MODES_HOLD
def test_no_permission_is_told(tmp_path: Path) -> None:
    """To somebody who may read the folder and not write it: reading works, writing names the folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with open_offline(folder / "notes.usearch") as index:
        index.add(make_documents(3), progress=False)
    (folder / "notes.usearch.lock").unlink()
    (folder / "notes.usearch").chmod(0o444)
    folder.chmod(0o555)
    before = names_in(folder)
    done = run_child("forbidden", folder / "notes.usearch")
    assert (done.returncode, done.stderr, names_in(folder)) == (0, "", before)
    remedy = "Give the index another place, or open it with mode='r' to read"
    refusal = f"{folder / 'notes.usearch'}: its folder {folder} cannot be written: Permission denied. {remedy}"
    assert done.stdout == f"{refusal}\n3 3\n"
    folder.chmod(0o755)


def forbidden(path: str) -> None:
    with ordinary_rights(), open_offline(Path(path)) as index:
        with pytest.raises(IndexWriteError, match="cannot be written: Permission denied") as caught:
            index.add(make_documents(6), progress=False)
        print(caught.value)  # noqa: T201
        with open_offline(Path(path), mode="r") as reader:
            print(len(index), len(reader))  # noqa: T201


@MODES_HOLD
def test_a_file_that_may_only_be_read_is_told_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with open_offline(path) as index:
        index.add(make_documents(3), progress=False)
    path.chmod(0o444)
    done = run_child("sealed", path)
    refusal = f"{path}: could not be written: Permission denied. Nothing was written\n"
    assert (done.returncode, done.stderr, done.stdout) == (0, "", refusal)


def sealed(path: str) -> None:
    with ordinary_rights(), open_offline(Path(path)) as index:
        documents = iter(make_documents(6))
        with pytest.raises(IndexWriteError, match="could not be written: Permission denied") as caught:
            index.add(documents, progress=False)
        assert len(list(documents)) == 6  # not one was drawn
        print(caught.value)  # noqa: T201


if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {
        "write": write,
        "read": read,
        "fork": fork,
        "fill": fill,
        "forbidden": forbidden,
        "sealed": sealed,
    }
    tasks[sys.argv[1]](*sys.argv[2:])
