"""Places that cannot be written or read: said in one line, and before any work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import minirag
from minirag import Document, Index
from minirag.cli import program
from minirag.telling import FAILED, INTERRUPTED, WRONG_USAGE
from tests.interrupts import hear_interrupts
from tests.rights import MODES_HOLD

ROOT = Path(minirag.__file__).parent.parent
LONG = "x" * 300
NO_SUCH_FILES = pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder there in which nobody can write")
IMPOSSIBLE = [
    pytest.param("/proc/x", "could not be written: No such file or directory", marks=NO_SUCH_FILES),
    pytest.param(LONG, "could not be written: ", id="long"),
    pytest.param("notes.usearch/x", "", id="below a file"),
]
QUESTIONS = """[{"_id": "q", "question": "Who directed Aylwin?", "answer": "Henry Edwards",
"supporting_facts": [["Aylwin", 0]], "context": [["Aylwin", ["Aylwin is a film by Henry Edwards."]]]}]"""
WRITING = {
    "ask --html": ["ask", "x", "--index", "notes.usearch", "--html", "PLACE"],
    "bench --json": ["bench", "--json", "PLACE"],
    "bench --scaling": ["bench", "--scaling", "PLACE"],
    "demo --index": ["demo", "--index", "PLACE"],
    "eval --index": ["eval", "q.json", "--index", "PLACE"],
    "eval --json": ["eval", "q.json", "--index", "new.usearch", "--json", "PLACE"],
    "eval --report": ["eval", "q.json", "--index", "new.usearch", "--report", "PLACE"],
    "eval --runs": ["eval", "q.json", "--index", "new.usearch", "--runs", "PLACE"],
    "eval of several --index": ["eval", "q.json", "r.json", "--index", "PLACE"],
    "export --output": ["export", "notes.usearch", "-o", "PLACE"],
    "graph --output": ["graph", "notes.usearch", "-o", "PLACE"],
    "import INDEX": ["import", "notes.jsonl", "PLACE"],
    "index --index": ["index", "a.txt", "--index", "PLACE"],
    "repair NEW": ["repair", "notes.usearch", "PLACE"],
}


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(program, [str(a) for a in arguments], prog_name="minirag")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(result: Result) -> str:
    """Standard error, as one line where it was wrapped."""
    return re.sub(r"\s*\n\s*", " ", result.stderr)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("built") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(Document("aylwin", "Aylwin is a film by Henry Edwards.", "Aylwin"), progress=False)
    return path.read_bytes()


@pytest.fixture
def folder(built: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("MINIRAG_MODEL", "MINIRAG_INDEX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "notes.usearch").write_bytes(built)
    (tmp_path / "a.txt").write_text("Aylwin is a film by Henry Edwards.")
    for name in ("q.json", "r.json"):
        (tmp_path / name).write_text(QUESTIONS)
    return tmp_path


@pytest.mark.parametrize(("place", "reason"), IMPOSSIBLE)
@pytest.mark.parametrize("command", WRITING)
def test_what_cannot_be_written_is_told_before_the_work(command: str, place: str, reason: str, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    result = run(*(place if part == "PLACE" else part for part in WRITING[command]))
    assert result.exit_code == WRONG_USAGE
    assert f"Error: {command.split()[-1]} {place}: {reason}" in told(result)
    assert "Traceback" not in result.output
    assert "Errno" not in result.output
    assert result.stdout == ""
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("place", ["PLACE", "folder/folder/x"])
def test_looking_leaves_nothing_behind(place: str, folder: Path) -> None:
    """The folder of runs is looked at first; that there is no corpus is found out later."""
    before = {path.name for path in folder.iterdir()}
    (folder / "q.json").write_text('[{"question": "Who?", "answers": ["x"]}]')
    result = run("eval", "q.json", "--index", "gone.usearch", "--runs", place, "--json", "new.json")
    assert (result.exit_code, "there is no index gone.usearch" in told(result)) == (FAILED, True)
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("command", ["ask x --index", "search x --index", "compact --index", "info", "graph", "export"])
def test_an_index_with_an_impossible_name_is_told(command: str, folder: Path) -> None:
    result = run(*command.split(), folder / LONG)
    assert (result.exit_code, told(result).startswith("Error: ")) == (FAILED, True)
    assert "cannot be reached: " in told(result)
    assert "debug" not in result.stderr


def test_what_the_system_refuses_elsewhere_is_its_own_reason(folder: Path) -> None:
    result = run("index", "a.txt", "--index", "new.usearch", "--encoder", f"./{LONG}")
    assert (result.exit_code, "Errno" in result.output, "Traceback" in result.output) == (FAILED, False, False)
    assert not list(folder.glob("new*"))


@pytest.mark.parametrize(
    "command",
    [
        "ask x --index ADDRESS",
        "info ADDRESS",
        "export ADDRESS",
        "graph notes.usearch -o ADDRESS",
        "import ADDRESS new.usearch",
        "index a.txt --index ADDRESS",
        "index a.txt --index new.usearch --prompts ADDRESS",
        "eval ADDRESS --index notes.usearch",
        "bench ADDRESS",
        "train ADDRESS --out folder",
    ],
)
def test_an_address_in_a_files_place_is_told_to_be_one(command: str, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    result = run(*command.replace("ADDRESS", "https://example.com/x.json").split())
    assert result.exit_code == WRONG_USAGE
    assert "https://example.com/x.json is an address, and minirag fetches nothing. Download it" in told(result)
    assert {path.name for path in folder.iterdir()} == before


def test_an_address_among_files_is_named_and_the_others_are_indexed(folder: Path) -> None:
    result = run("index", "https://example.com/x.txt", "a.txt", "--index", "new.usearch")
    assert result.exit_code == FAILED
    assert result.stderr.endswith(
        "failed: https://example.com/x.txt: is an address, and minirag fetches nothing. Download it, and give the "
        "file\n"
    )
    assert Index(folder / "new.usearch", mode="r").document_ids() == ["a.txt"]


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("train gone.json --out folder", "gone.json"),
        ("train q.json --out folder --triples gone.json", "gone.json"),
        ("import gone.jsonl new.usearch", "gone.jsonl"),
    ],
)
def test_a_file_that_is_not_there_is_told_before_the_work(command: str, missing: str, folder: Path) -> None:
    result = run(*command.split())
    assert (result.exit_code, result.stdout) == (FAILED, "")
    assert told(result).strip() == f"Error: {missing}: cannot be read: No such file or directory"
    assert not (folder / "folder").exists()


ORDINARY = """
import sys
from click.testing import CliRunner
from minirag.cli import program
from tests.rights import ordinary_rights
with ordinary_rights():
    for command in sys.argv[1:]:
        done = CliRunner().invoke(program, [*command.split(), "-q"], prog_name="minirag")
        print(done.exit_code, " ".join(done.output.split()))
"""


def run_ordinarily(*commands: str) -> list[str]:
    """What each ends with and says, in a process to which permissions are denied."""
    command = [sys.executable, "-c", ORDINARY, *commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=120)
    assert done.stderr == ""
    return done.stdout.splitlines()


@MODES_HOLD
def test_a_place_that_may_not_be_written_is_code_2_whether_the_index_is_there_or_not(folder: Path) -> None:
    (folder / "sealed").mkdir()
    (folder / "notes.usearch").rename(folder / "sealed" / "notes.usearch")
    (folder / "sealed").chmod(0o555)
    results = run_ordinarily(
        "index a.txt --index sealed/new.usearch",
        "index a.txt --index sealed/notes.usearch",
        "delete aylwin --index sealed/notes.usearch",
        "compact --index sealed/notes.usearch",
        "reembed sealed/notes.usearch",
    )
    (folder / "sealed").chmod(0o700)
    assert [result[:2] for result in results] == ["2 "] * 5
    assert ["Permission denied" in result for result in results] == [True] * 5
    assert [file.name for file in (folder / "sealed").iterdir()] == ["notes.usearch"]


@MODES_HOLD
def test_a_file_that_may_not_be_read_does_not_keep_the_others_out(folder: Path) -> None:
    (folder / "fine.txt").write_text("Oslo is a city.")
    (folder / "sealed.txt").write_text("Nobody reads this.")
    (folder / "sealed.txt").chmod(0)
    (folder / "closed").mkdir(mode=0)
    results = run_ordinarily("index sealed.txt fine.txt closed --index new.usearch")
    (folder / "closed").chmod(0o700)
    refused = "cannot be read: Permission denied"
    assert results == [f"1 failed: sealed.txt: {refused} failed: closed: {refused}"]
    assert Index(folder / "new.usearch", mode="r").document_ids() == ["fine.txt"]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIRAG_")}
    return kept | {"PYTHONPATH": str(ROOT)}


def test_an_index_that_nothing_came_into_is_not_said_to_hold_something(folder: Path) -> None:
    result = run("index", "gone.txt", "--index", "new.usearch")
    assert result.exit_code == FAILED
    assert result.stdout.splitlines()[::2] == [
        "added 0, updated 0, unchanged 0, failed 1",
        "new.usearch is not kept, as nothing came into it",
    ]
    assert not list(folder.glob("new*"))
    (folder / "empty").mkdir()
    assert "new.usearch holds 0 documents" in run("index", "empty", "--index", "new.usearch").stdout
    assert (folder / "new.usearch").exists()
    assert "new.usearch holds 0 documents" in run("index", "gone.txt", "--index", "new.usearch").stdout
    assert (folder / "new.usearch").exists()


def test_a_link_to_an_index_that_nothing_came_into_stays(folder: Path) -> None:
    (folder / "link.usearch").symlink_to("new.usearch")
    assert run("index", "gone.txt", "--index", "link.usearch").exit_code == FAILED
    (folder / "far.usearch").symlink_to("none/new.usearch")
    assert run("index", "a.txt", "--index", "far.usearch").exit_code == WRONG_USAGE
    assert sorted(path.name for path in folder.glob("*.usearch*")) == ["far.usearch", "link.usearch", "notes.usearch"]
    assert (folder / "link.usearch").is_symlink()


INTERRUPTING = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_while_the_command_line_is_imported_ends_it_quietly(folder: Path) -> None:
    """In the place of click stands a module in whose import Ctrl-C comes."""
    (folder / "first").mkdir()
    (folder / "first" / "click.py").write_text(INTERRUPTING)
    done = subprocess.run(
        [sys.executable, "-m", "minirag", "info", "notes.usearch"],
        env=environment() | {"PYTHONPATH": f"{folder / 'first'}{os.pathsep}{ROOT}"},
        capture_output=True,
        check=False,
        preexec_fn=hear_interrupts,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, b"", b"")


def test_the_command_starts_where_an_interrupt_is_heard() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'minirag = "minirag.__main__:main"' in project


# --- outputs over what must stay -----------------------------------------------------------------------------------


DEMO = ROOT / "minirag" / "demo"
OVERWRITING = {
    "eval D --index new.usearch --no-read --json new.usearch": "--json new.usearch is the index",
    "eval D --index notes.usearch --no-read --json ./notes.usearch": "--json notes.usearch is the index",
    "eval D --index notes.usearch --no-read --json link.json": "--json link.json is the index",
    "eval D --index notes.usearch --no-read --report notes.usearch": "--report notes.usearch is the index",
    "eval D --index n.usearch --json n.usearch.replies": "--json n.usearch.replies is a file of the index",
    "eval D --index n.usearch --json D/questions.json": "--json D/questions.json is a file of the data set",
    "eval D --index n.usearch --report D/triples.json": "--report D/triples.json is a file of the data set",
    "eval q.json --index n.usearch --json q.json": "--json q.json is a file of the data set",
    "eval q.json r.json --index I --json I/q.usearch": "--json I/q.usearch is the index",
    "eval D --index n.usearch --json X --report X": "--report X is also what --json writes",
    "eval D --index n.usearch --json X.md --report X.html": "--report X.md is also what --json writes",
    "eval D --index n.usearch --json X.html --report X.md": "--report X.html is also what --json writes",
    "eval D --index n.usearch --runs I --json I/log.jsonl": "--json I/log.jsonl is what a run left",
    "eval runs.json --json runs.json": "--json runs.json is what is read",
    "eval . --report runs.json": "--report runs.json is what is read",
    "bench D --quick --json D/corpus.jsonl": "--json D/corpus.jsonl is a file of the data set",
    "bench D --quick --scaling D/corpus.json": "--scaling D/corpus.json is a file of the data set",
    "bench D --scaling notes.usearch --index notes.usearch": "--scaling notes.usearch is the index",
    "bench D --scaling X --json X": "--scaling X is also what --json writes",
}


@pytest.mark.parametrize("command", OVERWRITING)
def test_what_must_stay_is_not_overwritten(command: str, folder: Path) -> None:
    (folder / "D").mkdir()
    (folder / "I").mkdir()
    for name in ("questions.json", "corpus.jsonl"):
        (folder / "D" / name).write_bytes((DEMO / name).read_bytes())
    (folder / "I" / "log.jsonl").write_text('{"conditions": {}}\n')
    (folder / "link.json").symlink_to("notes.usearch")
    (folder / "runs.json").write_text('{"runs": []}\n')
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    result = run(*command.split())
    assert (result.exit_code, result.stdout) == (WRONG_USAGE, "")
    assert f"Error: {OVERWRITING[command]}, and would overwrite it; give another file" in told(result)
    assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    "command",
    [
        "ask x --index notes.usearch --html -",
        "bench --scaling -",
        "demo --index -",
        "eval q.json --index -",
        "eval q.json --index n.usearch --report -",
        "import notes.jsonl -",
        "index a.txt --index -",
        "repair notes.usearch -",
    ],
)
def test_what_is_no_output_for_a_pipe_makes_no_file_of_a_dash(command: str, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    result = run(*command.split())
    assert (result.exit_code, result.stdout) == (WRONG_USAGE, "")
    assert " -: this is written to a file alone; name one" in told(result)
    assert {path.name for path in folder.iterdir()} == before


def test_figures_on_standard_output_leave_the_tables_to_standard_error(folder: Path) -> None:
    result = run("eval", "q.json", "--index", "notes.usearch", "--no-read", "--json", "-", "--strategy", "naive")
    assert result.exit_code == 0, result.stderr
    (measured,) = json.loads(result.stdout)["runs"]
    assert (measured["dataset"], measured["strategy"]) == ("q", "naive")
    assert "| q " in result.stderr
    again = run("eval", "minirag-runs", "--json", "-", "--quiet")
    assert json.loads(again.stdout)["runs"] == [measured]
    assert not (folder / "-").exists()


def test_scaling_has_a_file_of_its_own(folder: Path) -> None:
    result = run("bench", "--scaling", "growth.json", "--json", "bench.json")
    assert (result.exit_code, "leave --json out" in told(result)) == (WRONG_USAGE, True)
    assert not (folder / "bench.json").exists()
