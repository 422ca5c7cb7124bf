"""Peers in processes of their own, in an environment that borrows this one's packages instead of asking pip."""

import json
import sysconfig
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag.evaluation.datasets import load_dataset
from minirag.evaluation.peers.__main__ import main
from minirag.evaluation.peers.catalog import PEERS, Peer
from minirag.evaluation.peers.corpus import take_part
from minirag.evaluation.peers.environments import folder_name
from minirag.evaluation.peers.measuring import compare_peers
from tests.extras import need

pytestmark = pytest.mark.extra
need("bm25s")

DEMO = Path(__file__).parents[1] / "minirag" / "demo"
PART = take_part(load_dataset(DEMO), passages=20, limit=4)
BM25S, OFFLINE, THINKING = (
    next(peer for peer in PEERS if peer.name == n) for n in ("bm25s", "minirag", "minirag (LLM)")
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environments")
    for peer in (BM25S, OFFLINE):
        place = folder / folder_name(peer)
        venv.create(place, symlinks=True)
        packages = next(place.glob("lib/python*/site-packages"))
        # A .pth file inside a borrowed folder counts only if the folder is added as a site directory.
        borrowed = sysconfig.get_paths()["purelib"]
        (packages / "borrowed.pth").write_text(f"import site; site.addsitedir({borrowed!r})\n")
        (place / "peer.json").write_text(json.dumps({"install_bytes": 7, "version": "0"}))
    return folder


def test_word_search_and_minirag_side_by_side(cache: Path) -> None:
    broken = Peer("broken", "bm25s", ("./there-is-no-such-folder",))
    compared = compare_peers([BM25S, broken, OFFLINE, THINKING], [PART], cache, progress=False)
    words, failed, offline, thinking = compared.results
    assert (words.reason, words.install_bytes, words.cost.calls) == ("", 7, 0)
    assert words.indexing is not None
    assert words.indexing.encoding_seconds == 0.0
    assert words.indexing.bytes > 1000
    assert [way.way for way in words.retrieving] == [""]
    assert failed.reason.startswith("pip cannot install ./there-is-no-such-folder: ERROR:")
    assert [way.way for way in offline.retrieving] == ["naive", "indexrag", "kirag"]
    assert offline.retrieving[2].recall["10"] == 1.0
    assert (offline.reason, offline.cost.calls) == ("", 0)
    assert thinking.indexing is not None
    assert thinking.reason == ""
    assert thinking.indexing.cost.calls > 20
    assert [way.calls > 0 for way in thinking.retrieving] == [False, False, True]


def test_a_peer_that_fails_says_why(cache: Path) -> None:
    folder = cache / "chromadb"
    (cache / "bm25s+PyStemmer").rename(folder)
    try:
        chromadb = Peer("chromadb", "no_such_runner", ("chromadb",))
        (failed,) = compare_peers([chromadb], [PART], cache, progress=False).results
    finally:
        folder.rename(cache / "bm25s+PyStemmer")
    assert failed.reason.startswith("ended with status 1: ModuleNotFoundError: No module named 'minirag.evaluation")
    assert (failed.indexing, failed.retrieving) == (None, ())


def test_the_command_writes_and_prints(cache: Path, tmp_path: Path) -> None:
    given = [str(DEMO), "--peer", "bm25s", "--passages", "20", "--llm-passages", "15", "--limit", "3"]
    output = ["--environments", str(cache), "--json", str(tmp_path / "peers.json")]
    done = CliRunner().invoke(main, [*given, *output], catch_exceptions=False)
    assert done.exit_code == 0
    assert "20 passages, 3 questions:" in done.output
    assert "15 passages, 3 questions:" in done.output
    assert len(json.loads((tmp_path / "peers.json").read_text())["peers"]["results"]) == 2


def test_an_unknown_peer_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(DEMO), "--peer", "faiss", "--json", str(tmp_path / "peers.json")])
    assert (done.exit_code, done.output.startswith("Error: there is no peer 'faiss', only 'bm25s'")) == (1, True)


def test_what_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(DEMO), "--environments", str(tmp_path), "--json", str(tmp_path / "no" / "x")])
    assert (done.exit_code, f"there is no folder {tmp_path / 'no'}" in done.output) == (2, True)
    assert not list(tmp_path.iterdir())
