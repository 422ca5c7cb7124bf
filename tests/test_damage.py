"""Thousands of damaged copies of a real index: a clear error or a whole commit, never a crash, never anything else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import usearch.index

from minirag import Index
from minirag.errors import IndexCorruptError, IndexFileError, IndexMissingError, IndexVersionError
from minirag.naming.names import normalise_name
from minirag.storage.finding import find_commits
from minirag.storage.layout import FORMAT, TRAILER_SIZE, checksum
from minirag.storage.salvaging import salvage
from minirag.storage.snapshot import open_snapshot
from minirag.storage.store import Mode
from minirag.storage.verifying import verify
from tests.stored import answers_of, contents_of, make_documents

Damage = Callable[[bytearray, random.Random], bytearray]


def _flip(data: bytearray, dice: random.Random) -> bytearray:
    data[dice.randrange(len(data))] ^= dice.randrange(1, 256)
    return data


def _flip_end(data: bytearray, dice: random.Random) -> bytearray:
    data[-dice.randrange(1, 12_000)] ^= dice.randrange(1, 256)
    return data


def _flip_some(data: bytearray, dice: random.Random) -> bytearray:
    for _ in range(dice.randrange(2, 30)):
        _flip(data, dice)
    return data


def _truncate(data: bytearray, dice: random.Random) -> bytearray:
    return data[: dice.randrange(len(data))]


def _truncate_end(data: bytearray, dice: random.Random) -> bytearray:
    return data[: -dice.randrange(1, 300)]


def _append_noise(data: bytearray, dice: random.Random) -> bytearray:
    return data + dice.randbytes(dice.randrange(1, 500))


def _append_own_end(data: bytearray, dice: random.Random) -> bytearray:
    return data + data[-dice.randrange(1, len(data)) :]


def _zero(data: bytearray, dice: random.Random) -> bytearray:
    start = dice.randrange(len(data))
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    return data


def _cut_out(data: bytearray, dice: random.Random) -> bytearray:
    start = dice.randrange(len(data))
    del data[start : start + dice.randrange(1, 64)]
    return data


def _insert(data: bytearray, dice: random.Random) -> bytearray:
    start = dice.randrange(len(data))
    data[start:start] = dice.randbytes(dice.randrange(1, 64))
    return data


DAMAGES: dict[str, Damage] = {
    "flip": _flip,
    "flip near the end": _flip_end,
    "flip some": _flip_some,
    "truncate": _truncate,
    "truncate the end": _truncate_end,
    "append noise": _append_noise,
    "append the file's own end": _append_own_end,
    "zero": _zero,
    "cut out": _cut_out,
    "insert": _insert,
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three commits: a base, an appended segment, and a deletion with bridging facts written afresh."""
    path = tmp_path_factory.mktemp("damage") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(make_documents(9), progress=False)
        index.add(make_documents(3, start=9), progress=False)
        index.delete(["doc1", "doc10"], progress=False)
        assert index.info().segments == 3
    return path


def _commits(path: Path, scratch: Path) -> list[str]:
    """What each whole commit of a file holds and answers, the newest first."""
    found = []
    with path.open("rb") as file:
        for commit in find_commits(path, file):
            scratch.write_bytes(path.read_bytes()[: commit.end])
            found.append(_view(scratch))
    return list(dict.fromkeys(found))


def _view(path: Path) -> str:
    snapshot = open_snapshot(path)
    return json.dumps([contents_of(snapshot), answers_of(snapshot)])


def _try(path: Path, commits: list[str]) -> str:
    """The outcome in a word; anything that must not happen is an AssertionError."""
    try:
        snapshot = open_snapshot(path)
        torn = snapshot.torn
        view = _view(path)
    except IndexCorruptError as error:
        return "error" if error.section and str(path) in str(error) else f"an error that says too little: {error}"
    except IndexVersionError:
        return "newer"
    assert view in commits, "answers that no commit gives"
    assert view == commits[0] or torn, "an older commit without a word"
    return "last commit" if view == commits[0] else "older commit"


def _check_tools(path: Path) -> None:
    """Verifying and salvaging end in a report as well, whatever they meet."""
    report = verify(path, normalise_name)
    assert str(report)
    if report.commit:
        saved = salvage(open_snapshot(path), normalise_name)
        assert len(saved.documents) <= 12


def run_cases(original: Path, folder: Path, *, seed: int, count: int) -> Counter[str]:
    """So many cases of each kind of damage, drawn from a seed."""
    dice = random.Random(seed)
    whole = original.read_bytes()
    victim = folder / f"damaged{seed}.usearch"
    commits = _commits(original, victim)
    assert len(commits) == 3
    outcomes: Counter[str] = Counter()
    for number in range(count):
        for name, damage in DAMAGES.items():
            victim.write_bytes(damage(bytearray(whole), dice))
            outcomes[f"{name}: {_try(victim, commits)}"] += 1
            if number % 10 == 0:
                _check_tools(victim)
    return outcomes


def _in_children(original: Path, folder: Path, *, seeds: range, count: int) -> Counter[str]:
    """In processes of their own: a crash is then an exit status, and not the end of the tests."""
    command = [sys.executable, "-m", "tests.test_damage", str(original), str(folder)]
    children = [
        subprocess.Popen([*command, str(seed), str(count)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in seeds
    ]
    outcomes: Counter[str] = Counter()
    for child in children:
        printed, complaint = child.communicate(timeout=600)
        assert (child.returncode, complaint) == (0, "")
        outcomes.update(json.loads(printed))
    return outcomes


@pytest.mark.slow
def test_three_thousand_damaged_files(original: Path, tmp_path: Path) -> None:
    outcomes = _in_children(original, tmp_path, seeds=range(3), count=100)
    assert sum(outcomes.values()) == 3_000
    assert outcomes["append noise: last commit"] == 300
    assert outcomes["append the file's own end: last commit"] == 300
    for name in DAMAGES:  # each of them is found out at least at times, and none makes anything up
        assert sum(n for outcome, n in outcomes.items() if outcome.startswith(f"{name}: ")) == 300
    assert outcomes["flip: error"] > 100
    assert outcomes["truncate: older commit"] > 100


def test_a_hundred_damaged_files(original: Path, tmp_path: Path) -> None:
    assert sum(_in_children(original, tmp_path, seeds=range(99, 100), count=10).values()) == 100


def test_every_byte_of_both_ends_counts(original: Path, tmp_path: Path) -> None:
    """One damaged byte of the last trailer or its table costs nothing: there is a copy."""
    victim = tmp_path / "notes.usearch"
    commits = _commits(original, victim)
    whole = original.read_bytes()
    for place in range(len(whole) - TRAILER_SIZE - 40, len(whole)):
        data = bytearray(whole)
        data[place] ^= 0x10
        victim.write_bytes(data)
        assert _view(victim) == commits[0]
        with pytest.warns(UserWarning, match=r"bytes are no whole commit .* Opened the commit before them"):
            Index(victim, mode="r").close()


def test_a_damaged_section_is_named(original: Path, tmp_path: Path) -> None:
    victim = tmp_path / "notes.usearch"
    data = bytearray(original.read_bytes())
    section = open_snapshot(original).contents.segments[0].sections["facts"]
    data[section.offset + 5] ^= 1
    victim.write_bytes(data)
    index = Index(victim, mode="r")
    with pytest.raises(IndexCorruptError, match=r"facts is damaged: .* minirag repair OLD NEW") as caught:
        index.search("harbour")
    assert (caught.value.section, caught.value.path.name) == ("facts", "notes.usearch")


def test_a_newer_format_is_refused(original: Path, tmp_path: Path) -> None:
    data = bytearray(original.read_bytes())
    trailer = len(data) - TRAILER_SIZE
    data[trailer + 8 : trailer + 12] = (FORMAT + 1).to_bytes(4, "little")
    data[-8:] = checksum(bytes(data[trailer:-8])).to_bytes(8, "little")
    victim = tmp_path / "newer.usearch"
    victim.write_bytes(data)
    with pytest.raises(IndexVersionError, match="pip install -U minirag") as caught:
        Index(victim)
    assert (caught.value.found, caught.value.supported) == (FORMAT + 1, FORMAT)


def _strangers() -> Iterator[tuple[str, bytes]]:
    graph = usearch.index.Index(ndim=8, dtype="f32")
    graph.add(1, np.ones(8, np.float32))
    yield "is no minirag index: the file is empty", b""
    yield "is no minirag index, or one that lost its end: a usearch index is in it", bytes(graph.save() or b"")
    yield "is no minirag index, but an SQLite database", b"SQLite format 3\x00" + bytes(4_000)
    yield "is no minirag index, but a PDF", b"%PDF-1.7\n" + bytes(3_000)
    yield "is no minirag index, but a zip archive", b"PK\x03\x04" + bytes(100)
    yield "is no minirag index, but a gzip archive", b"\x1f\x8b\x08" + bytes(100)
    yield "is no minirag index, but a web page", b"<!DOCTYPE html><p>Hello"
    yield r"is no minirag index, but a text\. To have it in one: minirag index FILE", b"Dear diary, today I met Ada."
    yield "is no minirag index, but a text", "é".encode() * 150  # the 256 bytes that are looked at end in a character
    yield "is no minirag index, but a text", ("x" + "é" * 150).encode()
    yield "trailer is damaged: no whole commit is in it", b"Dear diary, today I met minirag\x00 again."
    yield "is no minirag index, or one that lost its end", b"\x00m"
    yield "is no minirag index, or one that lost its end", b"\xff" * 100


def test_what_is_no_index_is_told_from_one(tmp_path: Path) -> None:
    for number, (message, content) in enumerate(_strangers()):
        path = tmp_path / f"stranger{number}"
        path.write_bytes(content)
        modes: tuple[Mode, ...] = ("a", "r")
        for mode in modes:
            with pytest.raises(IndexCorruptError, match=message):
                Index(path, mode=mode)
        report = Index.verify(path)
        assert (report.whole, report.saved, report.damaged[0].section) == (False, {}, "trailer")
        assert path.read_bytes() == content
        assert [file.name for file in tmp_path.glob(f"stranger{number}?*")] == []


def test_folders_pipes_and_nothing_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="is a folder"):
        Index(tmp_path)
    with pytest.raises(IndexMissingError, match="no such index"):
        Index(tmp_path / "nothing.usearch", mode="r")
    with pytest.raises(IndexMissingError, match="no such index"):
        Index.verify(tmp_path / "nothing.usearch")


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IndexFileError, match="is a device or a pipe"):
        Index(tmp_path / "pipe")


def main() -> None:
    """Run the cases that the command line names, and print the outcomes."""
    original, folder, seed, count = sys.argv[1:]
    warnings.simplefilter("ignore")
    print(json.dumps(run_cases(Path(original), Path(folder), seed=int(seed), count=int(count))))  # noqa: T201


if __name__ == "__main__":
    main()
