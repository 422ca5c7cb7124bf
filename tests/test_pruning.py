from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.errors import BudgetExceededError, InputError
from minirag.importing import import_index
from minirag.records import Failure, Place
from tests.loopback import Loopback, honest
from tests.stored import open_offline

NAMES = ("a.txt", "b.txt", "sub/c.txt", "d.txt")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index of a folder with four texts, and of a document and a file that came from elsewhere."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        path = Path("docs", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"A text named {name}.")
    Path("docs2").mkdir()
    Path("docs2/x.txt").write_text("Beside it.")
    index = open_offline(tmp_path / "n.usearch")
    index.add(["docs", "docs2", Document("docs/gone.txt", "From a database.")], progress=False)
    return index


def ids(index: Index) -> list[str]:
    return sorted(index.document_ids())


def test_what_is_gone_from_the_folder_goes_and_nothing_else(index: Index) -> None:
    Path("docs/a.txt").unlink()
    Path("docs/d.txt").unlink()
    Path("docs2/x.txt").unlink()
    report = index.add("docs", prune=True, progress=False)
    assert (report.deleted, len(report.unchanged), report.failed) == (("docs/a.txt", "docs/d.txt"), 2, ())
    assert ids(index) == ["docs/b.txt", "docs/gone.txt", "docs/sub/c.txt", "docs2/x.txt"]
    assert index.prune("docs2", most=1.0, progress=False).deleted == ("docs2/x.txt",)
    assert index.prune("docs2", progress=False).deleted == ()


def test_pruning_bridges_afresh_within_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for n, name in enumerate(("Ada Holm", "Boris Lund", "Carla Wirth")):
        Path(f"docs/{n}.txt").write_text(f"{name} was born in Bergen. {name} wrote Grey Coast {n}.")
    with (
        Loopback(honest) as server,
        Index("n.usearch", model="openai/any", api_base=server.api_base, prices={"openai/any": (10, 30)}) as index,
    ):
        index.add("docs", progress=False)
        sent = len(server.requests)
        Path("docs/0.txt").unlink()
        with pytest.raises(BudgetExceededError, match="1 documents were deleted; what they left to be bridged"):
            index.prune("docs", progress=False, max_cost=1e-9)
        assert (len(index), len(server.requests), index.info().pending > 0) == (2, sent, True)


def test_without_prune_nothing_goes(index: Index) -> None:
    Path("docs/a.txt").unlink()
    assert index.add("docs", progress=False).deleted == ()
    assert "docs/a.txt" in index


@pytest.mark.parametrize("folder", ["docs", "./docs", ".", Path("docs/")])
def test_the_folder_may_be_spelled_otherwise(folder: str | Path, index: Index) -> None:
    Path("docs/a.txt").unlink()
    assert index.prune(folder, progress=False).deleted == ("docs/a.txt",)


def test_an_empty_folder_may_be_one_that_is_not_mounted(index: Index) -> None:
    for name in NAMES:
        Path("docs", name).unlink()
    told = "not pruned: 4 of the 4 documents that came from docs are gone from it, more than 50%"
    report = index.add("docs", prune=True, progress=False)
    assert [failure.reason.startswith(told) for failure in report.failed] == [True]
    with pytest.raises(InputError, match=told):
        index.prune("docs", progress=False)
    assert len(index) == 6
    assert len(index.add("docs", prune=True, prune_most=1.0, progress=False).deleted) == 4


def test_a_folder_that_is_gone_prunes_nothing(index: Index) -> None:
    Path("docs").rename("moved")
    with pytest.raises(InputError, match="not pruned: none of the documents is a folder that is there"):
        index.add("docs", prune=True, progress=False)
    report = index.add([Path("docs"), "docs2"], prune=True, progress=False)
    assert (report.deleted, report.failed) == ((), (Failure("docs", "no such file or folder"),))
    with pytest.raises(InputError, match=r"not pruned: docs is no folder that can be read: No such file"):
        index.prune("docs", most=1.0, progress=False)
    with pytest.raises(InputError, match=r"not pruned: moved/a.txt is no folder that can be read: Not a directory"):
        index.prune("moved/a.txt", progress=False)
    with pytest.raises(ValueError, match="must lie between 0 and 1, not 2"):
        index.prune("moved", most=2, progress=False)
    assert len(index) == 6


def test_a_file_that_fails_now_is_not_gone(index: Index) -> None:
    Path("docs/a.txt").write_bytes(b"caf\xe9")
    Path("docs/b.txt").unlink()
    report = index.add("docs", prune=True, progress=False)
    assert (report.deleted, [failure.id for failure in report.failed]) == (("docs/b.txt",), ["docs/a.txt"])
    assert "docs/a.txt" in index


def test_records_that_vanish_from_a_file_are_gone(index: Index) -> None:
    lines = [json.dumps({"id": f"r{number}", "text": f"Record {number}."}) for number in range(4)]
    file = Path("docs/r.jsonl")
    file.write_text("\n".join(lines))
    index.add("docs", progress=False)
    file.write_text("\n".join(lines[1:]))
    assert index.prune("docs", progress=False).deleted == ()
    assert index.add("docs", prune=True, progress=False).deleted == ("r0",)
    file.write_text("\n".join([*lines[2:], "{broken"]))
    assert index.add("docs", prune=True, progress=False).deleted == ()
    file.rename("docs/s.jsonl")
    Path("docs/s.jsonl").write_text("\n".join(lines[2:]))
    report = index.add("docs", prune=True, progress=False)
    assert (report.updated, report.deleted) == (("r2", "r3"), ("r1",))
    assert index.document("r3").source == "docs/s.jsonl"


def test_a_document_that_is_given_anew_is_no_file_any_more(index: Index) -> None:
    index.add(Document("docs/a.txt", "By hand."), progress=False)
    Path("docs/a.txt").unlink()
    assert index.prune("docs", progress=False).deleted == ()


@pytest.mark.skipif(os.name == "nt", reason="needs names of any bytes")
def test_names_that_are_no_unicode_are_not_gone(index: Index) -> None:
    name = os.fsdecode(b"docs/caf\xe9.txt")
    Path(name).write_text("A text.")
    index.add("docs", progress=False)
    assert index.prune("docs", progress=False).deleted == ()
    Path(name).unlink()
    assert index.prune("docs", progress=False).deleted == ("docs/caf\\udce9.txt",)


def test_where_a_document_came_from_outlives_an_export(index: Index, tmp_path: Path) -> None:
    Path("docs/e.md").write_text("# E\n\nIntro.\n\n## Part\n\nText.")
    index.add("docs", progress=False)
    index.export(tmp_path / "all.jsonl")
    index.close()
    import_index(tmp_path / "all.jsonl", tmp_path / "m.usearch", progress=False)
    with open_offline(tmp_path / "m.usearch") as copy:
        assert copy.document("docs/e.md").places == (Place(13, headings=("Part",)),)
        assert copy.document("docs/e.md").source == "docs/e.md"


# --- with a model --------------------------------------------------------------------------------------------------


def open_paid(path: Path, server: Loopback) -> Index:
    prices = {"openai/any": (10.0, 30.0)}
    return Index(path, model="openai/any", prices=prices, api_base=server.api_base, api_key="secret")


def write_people() -> None:
    Path("people").mkdir()
    for n, (name, friend) in enumerate(
        [("Ada Holm", "Eva Quist"), ("Boris Lund", "Ada Holm"), ("Eva Quist", "Ada Holm")]
    ):
        Path(f"people/{n}.txt").write_text(f"{name} was born in Bergen. {name} met {friend} in 19{n}1.")
    Path("people/3.txt").write_text("Carla Wirth wrote Grey Coast.")


def test_what_adding_and_pruning_took_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_people()
    with Loopback(honest) as server, open_paid(tmp_path / "n.usearch", server) as index:
        index.add("people", progress=False)
        before = index.info().usage
        Path("people/0.txt").unlink()
        Path("people/4.txt").write_text("Dario Neri met Eva Quist in Bergen.")
        report = index.add("people", prune=True, progress=False)
        assert (report.added, report.deleted) == (("people/4.txt",), ("people/0.txt",))
        assert report.usage.calls == 3
        kept, both = index.info().usage, before + report.usage
        assert replace(kept, seconds=0.0, cost=None) == replace(both, seconds=0.0, cost=None)
        assert kept.cost == pytest.approx(both.cost)
        assert index.info().usage.calls == len(server.requests)


def test_pruning_that_cannot_be_paid_for_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_people()
    with Loopback(honest) as server, open_paid(tmp_path / "n.usearch", server) as index:
        index.add("people", progress=False)
        Path("people/0.txt").unlink()
        with pytest.raises(BudgetExceededError, match="0 documents were added or updated") as caught:
            index.add("people", prune=True, progress=False, max_cost=0.0001)
        assert caught.value.report.deleted == ("people/0.txt",)
        assert len(caught.value.report.unchanged) == 3
        assert index.info().pending > 0  # names that the others share, to be bridged by the next add
        index.add("people", prune=True, progress=False)
        assert index.info().pending == 0
