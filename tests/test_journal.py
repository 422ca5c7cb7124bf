import errno
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xxhash

from minirag.errors import IndexWriteError
from minirag.storage.journal import Journal


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


def test_nothing_is_created_before_the_first_reply(index_path: Path) -> None:
    with Journal(index_path) as journal:
        assert (journal.get("a"), len(journal)) == (None, 0)
    assert list(index_path.parent.iterdir()) == []


def test_the_next_run_reads_what_was_put(index_path: Path) -> None:
    with Journal(index_path) as journal:
        journal.put("a", [["Ünïcode\n", ["x"]]], documents=["doc"])
        journal.put("b", [], documents=["doc", "other"])
        assert journal.get("a") == [["Ünïcode\n", ["x"]]]
    again = Journal(index_path)
    assert (again.get("a"), again.get("b"), again.get("c")) == ([["Ünïcode\n", ["x"]]], [], None)
    assert index_path.with_name("notes.usearch.replies").exists()


def test_a_killed_process_loses_nothing_that_was_put(index_path: Path) -> None:
    script = (
        "import os, sys, pathlib; from minirag.storage.journal import Journal;"
        "journal = Journal(pathlib.Path(sys.argv[1])); [journal.put(str(n), n) for n in range(20)]; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(index_path)], check=False).returncode == 9
    assert [Journal(index_path).get(str(number)) for number in range(21)] == [*range(20), None]


@pytest.mark.parametrize("torn", [1, 5, 20, 33])
def test_a_torn_line_is_ignored_and_ended(index_path: Path, torn: int) -> None:
    with Journal(index_path) as journal:
        journal.put("a", "first")
        journal.put("b", "second reply")
    with journal.path.open("r+b") as file:
        file.truncate(journal.path.stat().st_size - torn)
    with Journal(index_path) as journal:
        assert (journal.get("a"), journal.get("b")) == ("first", None)
        journal.put("c", "third")
    again = Journal(index_path)
    assert [again.get(key) for key in "abc"] == ["first", None, "third"]


def test_a_damaged_line_is_ignored(index_path: Path) -> None:
    with Journal(index_path) as journal:
        for key in "abc":
            journal.put(key, key * 3)
    content = journal.path.read_bytes()
    journal.path.write_bytes(content.replace(b"bbb", b"bxb") + b"\n" + bytes(range(256)))
    again = Journal(index_path)
    assert [again.get(key) for key in "abc"] == ["aaa", None, "ccc"]


def test_replies_are_on_the_disk_after_sixteen_or_a_second(index_path: Path) -> None:
    with Journal(index_path) as journal:
        for number in range(15):
            journal.put(str(number), number)
        assert journal.unsynced == 15
        journal.put("15", 15)
        assert journal.unsynced == 0
        journal.put("16", 16)
        assert journal.unsynced == 1
        deadline = time.monotonic() + 10
        while journal.unsynced and time.monotonic() < deadline:
            time.sleep(0.02)
        assert journal.unsynced == 0


def test_what_is_noted_beside_replies_is_there_afterwards(index_path: Path) -> None:
    notes = iter([{"calls": 1}, {"calls": 2}])
    with Journal(index_path, note=lambda: next(notes)) as journal:
        journal.put("a", 1, documents=["x"])
        journal.put("b", 2, documents=["y"])
        assert journal.notes == []
    with Journal(index_path) as journal:
        assert journal.notes == [{"calls": 1}, {"calls": 2}]
        journal.put("c", 3)
        journal.settle(["x"])
    again = Journal(index_path)
    assert (again.notes, again.get("b")) == ([{"calls": 2}], 2)


def test_lines_of_before_have_no_note(index_path: Path) -> None:
    body = b'["a",{"facts":[]},["x"]]'
    Journal(index_path).path.write_bytes(b"\n" + xxhash.xxh3_64_hexdigest(body).encode() + b" " + body)
    again = Journal(index_path)
    assert (again.get("a"), again.notes) == ({"facts": []}, [])


def test_settling_forgets_what_was_used_and_what_is_told_of_done_documents(index_path: Path) -> None:
    with Journal(index_path) as journal:
        journal.put("of doc", 1, documents=["doc"])
        journal.put("of other", 2, documents=["other"])
        journal.put("of both", 3, documents=["doc", "other"])
        journal.put("of third", 4, documents=["third"])
    with Journal(index_path) as journal:
        assert journal.get("of third") == 4
        journal.settle(["doc"])
    again = Journal(index_path)
    assert [again.get(key) for key in ("of doc", "of other", "of both", "of third")] == [None, 2, None, None]
    again.settle([])
    assert list(index_path.parent.iterdir()) == []


def test_settling_nothing_touches_nothing(index_path: Path) -> None:
    with Journal(index_path) as journal:
        journal.put("a", 1, documents=["doc"])
    before = journal.path.stat()
    Journal(index_path).settle(["other"])
    assert journal.path.stat() == before


def test_a_vanished_folder_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "gone" / "notes.usearch")
    with pytest.raises(
        IndexWriteError, match=r"notes\.usearch\.replies: could not be written \(needs \d+ bytes\)"
    ) as caught:
        journal.put("a", 1)
    assert caught.value.needed == len(b'\n0123456789abcdef ["a",1,[]]')
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOENT


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limits there")
def test_a_full_disk_keeps_what_is_there(index_path: Path) -> None:
    """In a child whose files may not grow beyond 2,000 bytes."""
    script = (
        "import pathlib, resource, signal, sys\n"
        "from minirag.errors import IndexWriteError\n"
        "from minirag.storage.journal import Journal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "with Journal(pathlib.Path(sys.argv[1])) as journal:\n"
        "    for number in range(100):\n"
        "        try:\n"
        "            journal.put(str(number), 'x' * 100)\n"
        "        except IndexWriteError as error:\n"
        "            print(number, error.needed)\n"
        "            break\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(index_path)], capture_output=True, text=True, check=True)
    number, needed = map(int, done.stdout.split())
    assert (number, needed) == (15, len('\n0123456789abcdef ["15","",[]]') + 100)
    assert index_path.with_name("notes.usearch.replies").stat().st_size == 2_000
    journal = Journal(index_path)
    assert [journal.get(str(kept)) for kept in (0, 14, 15)] == ["x" * 100, "x" * 100, None]
