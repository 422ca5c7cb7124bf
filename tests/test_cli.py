from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import minirag
from minirag import Document, Index
from minirag.cli import program
from minirag.demo import load_questions
from minirag.evaluation.results import read_runs
from minirag.records import Usage
from minirag.retrieving import SearchMode
from minirag.showing import find_path, path_lines
from minirag.storage.snapshot import open_snapshot
from minirag.telling import FAILED, INTERRUPTED, WRONG_USAGE
from minirag.wording import describe_usage, one_line, snippet
from tests.interrupts import hear_interrupts
from tests.loopback import Loopback, Request, Served, honest, status

ROOT = Path(minirag.__file__).parent.parent
AYLWIN = "# Aylwin\n\nAylwin is a film of 1920 by the director Henry Edwards.\n"
HENRY = "Henry Edwards was an actor. He was born in Weston-super-Mare in 1882.\n"
QUESTION = "Where was the director of the film Aylwin born?"
OFFLINE_NOTE = "offline, by rules that cost nothing and are weaker than an LLM; name one by --model or MINIRAG_MODEL\n"


EITHER_WAY = ["info", "compact", "export", "graph", "reembed"]


def run(*arguments: str | Path, env: dict[str, str] | None = None, colour: bool = False) -> Result:
    """The command in this process; an exception that is no `SystemExit` fails the test."""
    result = CliRunner().invoke(program, [str(a) for a in arguments], env=env, color=colour, prog_name="minirag")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIRAG_")}
    return kept | {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "no-key"} | more


def run_process(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The command as users run it."""
    command = [sys.executable, "-m", "minirag", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(**env), capture_output=True, check=False, timeout=120)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MINIRAG_MODEL", "MINIRAG_INDEX", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "no-key")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a folder of two documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "people").mkdir(parents=True)
    (tmp_path / "docs" / "aylwin.md").write_text(AYLWIN)
    (tmp_path / "docs" / "people" / "henry.txt").write_text(HENRY)
    return tmp_path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add([Document("aylwin", AYLWIN, "Aylwin"), Document("henry", HENRY, "Henry Edwards")], progress=False)
    return path


@pytest.fixture
def notes(built: Path, folder: Path) -> Path:
    """A copy of an index of the two documents, in the working directory."""
    return Path(shutil.copy(built, folder / "notes.usearch")).relative_to(folder)


# --- help ----------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, click.Command]]:
    yield from sorted(program.commands.items())


def test_there_are_these_commands() -> None:
    assert [name for name, _ in commands()] == [
        *(
            "ask",
            "bench",
            "compact",
            "completion",
            "delete",
            "demo",
            "eval",
            "export",
            "graph",
            "import",
            "index",
            "info",
            "mcp",
            "prompts",
            "reembed",
            "repair",
            "search",
            "train",
        ),
    ]


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_shows_an_example_of_itself(name: str) -> None:
    result = run(name, "--help")

    assert result.exit_code == 0
    assert re.search(rf"Example:\n  minirag {name}\b", re.sub(r"\n +", "\n  ", result.stdout))


def test_help_names_exit_codes_and_environment() -> None:
    shown = run("--help").stdout

    assert re.findall(r"^    (\d+) ", shown, re.MULTILINE) == ["0", "1", "2", "130"]
    assert all(name in shown for name in ("MINIRAG_MODEL", "MINIRAG_INDEX", "NO_COLOR", "minirag completion bash"))


README = ROOT / "README.md"
needs_readme = pytest.mark.skipif(not README.exists(), reason="an installed package has none")


def first_cells(head: str) -> list[str]:
    """The first column of the README's table with this head."""
    table = README.read_text(encoding="utf-8").partition(f"| {head} |")[2].partition("\n\n")[0]
    return [line.split("|")[1].strip() for line in table.splitlines()[2:]]


@needs_readme
def test_the_readme_has_the_exit_codes_that_the_program_uses() -> None:
    assert first_cells("exit code") == [str(code) for code in (0, FAILED, WRONG_USAGE, INTERRUPTED)]


@needs_readme
def test_the_readme_has_every_environment_variable_that_the_code_reads() -> None:
    reads = re.compile(r"""(?:environ(?:\.get\(|\[)|envvar=|(?:VARIABLE|variable) = )"([A-Z_]+)\"""")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "minirag").rglob("*.py")]
    read = {name for source in sources for name in reads.findall(source)} - {"PYTHONPATH"}
    listed = {name.strip("` ") for cell in first_cells("environment variable") for name in cell.split(",")}
    assert listed == read


@pytest.mark.parametrize(
    ("shell", "start"),
    [("bash", "_minirag_completion() {"), ("zsh", "#compdef minirag"), ("fish", "function _minirag")],
)
def test_completion_prints_what_a_shell_takes(shell: str, start: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stdout.lstrip().startswith(start)) == (0, True)
    assert f"_MINIRAG_COMPLETE={shell}_complete" in result.stdout


def test_completion_completes(folder: Path) -> None:
    asked = {"_MINIRAG_COMPLETE": "bash_complete", "COMP_WORDS": "minirag index --pru", "COMP_CWORD": "2"}
    code = "from minirag.cli import program; program(prog_name='minirag')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(**asked), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["plain,--prune"]


def test_help_fits_eighty_columns() -> None:
    for name in ("", *program.commands):
        shown = run(*name.split(), "--help").stdout
        assert max(len(line) for line in shown.splitlines()) <= 80, name


def test_version() -> None:
    assert run("--version").stdout == f"minirag, version {minirag.__version__}\n"


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README yet")
def test_the_readme_names_every_command_and_option() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names = {name for _, each in commands() for option in each.params for name in option.opts if name.startswith("--")}
    names |= {f"minirag {name}" for name, _ in commands()}

    assert sorted(name for name in names if name not in readme) == []


@pytest.mark.parametrize("arguments", [["--help"], ["info", "notes.usearch"]])
def test_starts_without_loading_what_is_heavy(arguments: list[str], notes: Path) -> None:
    code = (
        "import sys; from minirag.cli import program; program(sys.argv[1:], standalone_mode=False); "
        "print([m for m in ('onnxruntime', 'usearch', 'litellm', 'openai', 'pydantic', 'tqdm') if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True, check=True
    )

    assert notes.exists()
    assert done.stdout.splitlines()[-1] == "[]"


# --- index ---------------------------------------------------------------------------------------------------------


def test_index_sums_up_and_says_that_it_ran_offline(folder: Path) -> None:
    result = run("index", "docs", "--index", "notes.usearch")

    assert result.exit_code == 0
    assert re.sub(r"[\d.]+ s\n", "T s\n", result.stdout) == (
        "added 2, updated 0, unchanged 0, failed 0\n"
        "offline: 0 calls, $0, T s\n"
        "notes.usearch holds 2 documents, 3 facts, 1 bridging fact; 0.01 MB\n"
    )
    assert result.stderr == f"Note: indexing {OFFLINE_NOTE}"
    with Index(folder / "notes.usearch", mode="r") as index:
        assert "docs/aylwin.md" in index
        assert "docs/people/henry.txt" in index


def test_index_brings_up_to_date(folder: Path) -> None:
    run("index", "docs", "--index", "notes.usearch")
    (folder / "docs" / "aylwin.md").write_text("# Aylwin\n\nA novel of 1898.\n")
    (folder / "docs" / "new.txt").write_text("A third text.\n")

    result = run("index", "docs", "--index", "notes.usearch")

    assert result.stdout.splitlines()[0] == "added 1, updated 1, unchanged 1, failed 0"
    assert run("index", "docs", "--index", "notes.usearch", "--reextract").stdout.startswith("added 0, updated 3,")


def test_index_names_what_fails_and_does_the_rest(folder: Path) -> None:
    (folder / "docs" / "latin.txt").write_bytes(b"caf\xe9")
    (folder / "docs" / "empty.txt").touch()
    (folder / "docs" / "data.txt").write_bytes(b"\x00\x01")
    (folder / "docs" / ".hidden").touch()
    (folder / "docs" / "a.png").touch()
    (folder / "docs" / "b.PNG").touch()

    result = run("index", "docs", "gone.txt", "--index", "notes.usearch", "--model", "offline")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == [
        "added 2, updated 0, unchanged 0, failed 4",
        "skipped 3 (2 .png, 1 hidden)",
    ]
    assert result.stderr == (
        "failed: docs/data.txt: is a binary file: zero byte at offset 0\n"
        "failed: docs/empty.txt: is empty\n"
        "failed: docs/latin.txt: is not UTF-8: byte 0xE9 at offset 3. Convert it to UTF-8\n"
        "failed: gone.txt: no such file or folder\n"
    )


@pytest.mark.usefixtures("folder")
def test_quiet_index_prints_nothing_but_failures() -> None:
    result = run("index", "docs", "gone.txt", "--index", "notes.usearch", "--quiet")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "failed: gone.txt: no such file or folder\n"


def test_settings_are_fixed_at_creation(folder: Path) -> None:
    run("index", "docs", "--index", "notes.usearch", "--passage-tokens", "40", "--bridge-max-documents", "5")

    with Index(folder / "notes.usearch", mode="r") as index:
        assert (index.settings.passage_tokens, index.settings.bridge_max_documents) == (40, 5)
    assert run("index", "docs", "--index", "notes.usearch").exit_code == 0
    result = run("index", "docs", "--index", "notes.usearch", "--passage-tokens", "50", "--quiet")
    assert result.exit_code == 2
    assert "notes.usearch was built with passage_tokens=40, not 50, bridge_max_documents=5, not 10" in result.stderr


# --- ask -----------------------------------------------------------------------------------------------------------


def test_ask_prints_answer_citations_and_cost(notes: Path) -> None:
    result = run("ask", "When was Henry Edwards born?", "--index", notes, "--strategy", "indexrag")

    assert result.exit_code == 0
    assert re.sub(r"[\d.]+ s\n", "T s\n", result.stdout) == (
        "1882\n"
        "\n"
        "[1] Henry Edwards — henry\n"
        "    Henry Edwards was an actor. He was born in Weston-super-Mare in 1882.\n"
        "\n"
        "offline, indexrag: 0 calls, $0, T s\n"
    )
    assert result.stderr == f"Note: answered {OFFLINE_NOTE}"


def test_ask_shows_the_chain_where_there_is_one(notes: Path) -> None:
    result = run("ask", QUESTION, "--index", notes, "--strategy", "kirag", "--model", "offline")
    answer = minirag.ask(QUESTION, notes, strategy="kirag", model="offline")

    path = "".join(f"{line.text}\n" for line in path_lines(find_path(answer)))
    assert len(answer.chain) == 2
    assert result.stdout.startswith(f"{answer.text}\n\n{path}\n[1] ")


def test_quiet_ask_prints_the_answer_alone(notes: Path) -> None:
    result = run("ask", "When was Henry Edwards born?", "--index", notes, "--strategy", "indexrag", "--quiet")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "1882\n", "")


def test_ask_as_json_is_the_whole_answer(notes: Path) -> None:
    options = ("--strategy", "indexrag", "-k", "3", "--k-b", "0")
    result = run("ask", QUESTION, "--index", notes, "--json", "--model", "offline", *options)

    answer = json.loads(result.stdout)
    expected = minirag.ask(QUESTION, notes, strategy="indexrag", k=3, k_b=0, model="offline").to_dict()
    assert list(answer["usage"]["tasks"]) == ["read"]
    expected |= {"usage": answer["usage"], "trace": answer["trace"]}  # but for the seconds
    assert answer == json.loads(json.dumps(expected))
    assert answer["question"] == QUESTION
    assert {hit["kind"] for hit in answer["evidence"]} == {"fact"}
    assert result.stderr == ""


def test_strategies_take_their_options(notes: Path) -> None:
    def asked(strategy: str, *options: str) -> dict[str, Any]:
        result = run(
            "ask", QUESTION, "--index", notes, "--strategy", strategy, *options, "--json", "--model", "offline"
        )
        return dict(json.loads(result.stdout))

    answer = asked("ircot", "--over", "naive", "--steps", "1")
    assert (len(answer["steps"]), {hit["kind"] for hit in answer["evidence"]}) == (1, {"passage"})
    answer = asked("kirag", "--units", "passage", "--steps", "1", "--pool", "1", "--candidates", "1", "--query", "last")
    assert [(len(step["retrieved"]), step["chosen"]["kind"]) for step in answer["steps"]] == [(1, "passage")]
    variants = [asked("kirag", *more)["ranking"] for more in ((), ("--no-bridges",), ("--no-constructor",))]
    assert variants[0] == variants[2] != variants[1]
    assert asked("naive", "--mode", "lexical")["ranking"] != asked("naive")["ranking"]


def test_an_answer_that_is_not_there_is_no_failure(folder: Path) -> None:
    Index(folder / "empty.usearch").close()

    result = run("ask", QUESTION, "--index", "empty.usearch", "--strategy", "naive", "--model", "offline")

    assert result.exit_code == 0
    assert result.stdout.startswith("The index holds nothing that answers this.\n(not found)\n\noffline, naive:")


def test_index_and_model_come_from_the_environment(notes: Path) -> None:
    result = run("ask", QUESTION, env={"MINIRAG_INDEX": str(notes), "MINIRAG_MODEL": "offline"})

    assert result.exit_code == 0
    assert result.stderr == ""


def test_text_of_documents_cannot_command_the_terminal(folder: Path) -> None:
    with Index(folder / "evil.usearch", model="offline") as index:
        index.add(
            Document("evil\x1b[2J", "The moon is made of\x1b[31m green cheese.", "Moon\x1b]0;x\x07"), progress=False
        )

    for arguments in (["ask", "What is the moon made of?", "--model", "offline"], ["search", "moon"]):
        result = run(*arguments, "--index", "evil.usearch", colour=False)
        assert "\x1b" not in result.stdout
        assert "cheese" in result.stdout


# --- search, info, delete, compact ---------------------------------------------------------------------------------


def test_search_shows_hits_best_first(notes: Path) -> None:
    result = run("search", "Henry Edwards was born", "--index", notes, "--kind", "passage", "-k", "2")

    assert result.exit_code == 0
    assert re.sub(r"0\.\d{3}", "S", result.stdout) == (
        " 1. S  passage  henry\n"
        "    Henry Edwards was an actor. He was born in Weston-super-Mare in 1882.\n"
        " 2. S  passage  aylwin\n"
        "    # Aylwin Aylwin is a film of 1920 by the director Henry Edwards.\n"
    )
    assert result.stderr == ""


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_search_by_meaning_by_words_or_both(notes: Path, mode: SearchMode) -> None:
    found = json.loads(run("search", "Weston", "--index", notes, "--mode", mode, "--json").stdout)["hits"]
    with Index(notes, mode="r") as index:
        assert [hit["id"] for hit in found] == [hit.id for hit in index.search("Weston", mode=mode)]


def test_search_as_json(notes: Path) -> None:
    result = run("search", "Weston", "--index", notes, "--kind", "bridge", "--kind", "triple", "--json")

    found = json.loads(result.stdout)
    assert found["query"] == "Weston"
    assert {hit["kind"] for hit in found["hits"]} == {"bridge", "triple"}
    with Index(notes, mode="r") as index:
        assert [hit["id"] for hit in found["hits"]] == [
            hit.id for hit in index.search("Weston", kinds=["bridge", "triple"])
        ]


def test_where_leaves_only_what_passes(notes: Path) -> None:
    with Index(notes, model="offline") as index:
        index.add(Document("henry", HENRY, "Henry Edwards", {"kind": "person"}), progress=False)
    where = json.dumps({"kind": {"$in": ["person"]}})

    result = run("search", "Henry Edwards", "--index", notes, "--where", where, "--json")
    hits = json.loads(result.stdout)["hits"]
    assert {hit["document_ids"][0] for hit in hits} == {"henry"}
    assert hits[0]["metadata"] == {"kind": "person"}
    result = run("search", "Henry Edwards", "--index", notes, "--where", '{"kind": "film"}')
    assert (result.exit_code, result.stdout) == (0, "Nothing found: no document passes --where.\n")
    result = run("ask", QUESTION, "--index", notes, "--model", "offline", "--where", '{"kind": "film"}', "--json")
    assert json.loads(result.stdout)["found"] is False


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("{kind: person}", "this is no JSON (Expecting property name enclosed in double quotes"),
        ("[]", "where must be a mapping such as {'year': {'$gte': 2000}}, not []"),
        ('{"year": {"$gtt": 1}}', "unknown operator '$gtt' in year. Did you mean '$gt'?"),
    ],
)
def test_a_malformed_filter_is_wrong_usage(notes: Path, where: str, message: str) -> None:
    for command in ("ask", "search"):
        result = run(command, "x", "--index", notes, "--where", where)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


def test_search_that_finds_nothing_says_so(notes: Path) -> None:
    assert run("search", " ", "--index", notes).stdout == "Nothing found.\n"


def test_info_as_text_and_as_json(notes: Path) -> None:
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in run("info", notes).stdout.splitlines())
    with Index(notes, mode="r") as index:
        info = index.info()

    assert shown["file"] == "notes.usearch"
    assert shown["documents"] == "2"
    assert shown["bridging facts"] == "1, of 1 name"
    assert (shown["passage tokens"], shown["bridge within"]) == ("the encoder's", "none")
    assert shown["encoder"] == f"{info.encoder}, 384 dimensions"
    assert (shown["model"], shown["passage tokens"]) == ("offline", "the encoder's")
    found = json.loads(run("info", "--index", notes, "--json").stdout)
    assert (found["documents"], found["bytes"], found["failed"]) == (2, notes.stat().st_size, [])


def test_delete_takes_out_and_names_what_was_not_there(notes: Path) -> None:
    result = run("delete", "aylwin", "nobody", "--index", notes, "--model", "offline")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "deleted 1, missing 1"
    assert result.stderr == "failed: nobody: the index has no such document\n"
    assert run("delete", "henry", "--index", notes, "--quiet").stdout == ""
    with Index(notes, mode="r") as index:
        assert len(index) == 0


def test_compact_keeps_the_content(notes: Path) -> None:
    run("delete", "aylwin", "--index", notes)

    result = run("compact", "--index", notes)

    assert re.fullmatch(r"notes\.usearch: 0\.\d\d MB before, 0\.\d\d MB now\n", result.stdout)
    with Index(notes, mode="r") as index:
        assert (len(index), index.info().segments) == (1, 1)


def damage(notes: Path) -> Path:
    content = bytearray(notes.read_bytes())
    content[open_snapshot(notes).contents.segments[0].sections["passages"].offset + 20] ^= 1
    notes.write_bytes(content)
    return notes


def test_info_verifies_the_last_commit(notes: Path) -> None:
    whole = run("info", "--verify", notes)

    assert (whole.exit_code, whole.stdout.splitlines()[1]) == (
        0,
        "Everything holds: every checksum, every record, every vector.",
    )
    damaged = run("info", "--verify", damage(notes))
    assert damaged.exit_code == 1
    assert "\n  passages (segment 0): its checksum does not hold" in damaged.stdout
    found = json.loads(run("info", "--verify", notes, "--json").stdout)
    assert (found["whole"], [part["section"] for part in found["damaged"]]) == (False, ["passages (segment 0)"])


def test_repair_saves_into_a_new_file(notes: Path) -> None:
    before = damage(notes).read_bytes()

    result = run("repair", notes, "mended.usearch")

    assert result.exit_code == 0
    assert re.match(r"mended\.usearch: saved \d documents? with", result.stdout)
    assert notes.read_bytes() == before
    assert run("info", "--verify", "mended.usearch").exit_code == 0
    again = run("repair", notes, "mended.usearch")
    assert again.exit_code == 1
    assert "exists already" in again.stderr


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", QUESTION], "Missing option '--index'"),
        (["ask", " ", "--index", "notes.usearch"], "Error: the question is blank\n"),
        (["ask", "x", "--index", "notes.usearch", "--strategy", "best"], "'best' is not one of 'naive', 'indexrag'"),
        (["ask", "x", "--index", "notes.usearch", "-k", "0"], "0 is not in the range x>=1"),
        (["ask", "x", "--index", "notes.usearch", "--strategy", "naive", "--k-b", "1"], "--k-b is no option of"),
        (
            ["ask", "x", "--index", "notes.usearch", "--k-b", "2"],
            "--k-b is no option of the strategy kirag",
        ),
        (["ask", "x", "--index", "notes.usearch", "--strategy", "ircot", "--over", "x"], "'x' is not one of 'naive', "),
        (["ask", "x", "--index", "notes.usearch", "--api-base", "http://x"], "--api-base needs a --model"),
        (["ask", "x", "--index", "docs"], "File 'docs' is a directory"),
        (["search", "x", "--index", "notes.usearch", "--kind", "poem"], "'poem' is not one of"),
        (["index", "--index", "notes.usearch"], "Missing argument 'PATHS...'"),
        (["index", "docs", "--index", "new.usearch", "--passage-tokens", "3"], "passage_tokens must be at least 16"),
        *(([name], f"name the index: minirag {name} FILE") for name in EITHER_WAY),
        (
            ["info", "notes.usearch", "--index", "docs.usearch"],
            "is named twice: notes.usearch and docs.usearch",
        ),
        (["eval", "docs"], "Missing option '--index'"),
        (["eval", "docs", "--index", "docs", "--json", "gone/x.json"], "there is no folder gone"),
        (["sing"], "No such command 'sing'"),
        (["ask", "x", "--index", "notes.usearch", "--strategy", "indexrg"], "'ircot'. Did you mean 'indexrag'?"),
        (["search", "x", "--index", "notes.usearch", "--kind", "Pasage"], "Did you mean 'passage'?"),
        (["search", "x", "--index", "notes.usearch", "--mode", "hybird"], "Did you mean 'hybrid'?"),
        (["search", "x", "--index", "notes.usearch", "--mode", "lexical", "--kind", "fact"], "finds passages only"),
        (["export", "notes.usearch", "-o", "notes.csv"], "Name it .jsonl or .ndjson or .graphml, or give the format"),
    ],
)
def test_wrong_usage_exits_with_two(arguments: list[str], message: str, notes: Path) -> None:
    result = run(*arguments)

    assert notes.exists()
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", EITHER_WAY)
def test_the_index_is_an_argument_or_an_option(name: str, notes: Path) -> None:
    output = ["-o", "out.graphml"] if name == "export" else []
    results = [
        run(name, notes, *output),
        run(name, "--index", notes, *output),
        run(name, *output, env={"MINIRAG_INDEX": str(notes)}),
        run(name, notes, *output, env={"MINIRAG_INDEX": "gone.usearch"}),
    ]
    assert [result.exit_code for result in results] == [0] * 4


@pytest.mark.parametrize(
    "arguments",
    [["ask", "x"], ["search", "x"], ["info"], ["delete", "x"], ["compact"]],
    ids=lambda arguments: arguments[0],
)
def test_a_missing_index_is_told_in_one_line_and_not_created(arguments: list[str], folder: Path) -> None:
    result = run(*arguments, "--index", "none.usearch")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: none.usearch: there is no such file. Build it: minirag index PATHS --index none.usearch\n"
    )
    assert not (folder / "none.usearch").exists()


def test_a_file_that_is_no_index_is_told_in_one_line(folder: Path) -> None:
    result = run("info", folder / "docs" / "aylwin.md")

    assert result.exit_code == 1
    assert re.fullmatch(r"Error: \S+aylwin\.md: .+\n", result.stderr)


def test_debug_brings_the_traceback(folder: Path) -> None:
    for arguments in (["--debug", "info", "docs/aylwin.md"], ["info", "docs/aylwin.md", "--debug"]):
        done = run_process(*arguments, cwd=folder)
        assert done.returncode == 1
        assert done.stderr.startswith(b"Traceback (most recent call last):")
        assert b"minirag.errors.NotAnIndexError" in done.stderr


# --- with a model --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_indexes_and_answers_by_a_model() -> None:
    with Loopback(honest) as server:
        model = ("--model", "openai/any", "--api-base", server.api_base)
        built = run("index", "docs", "--index", "notes.usearch", *model)
        answered = run("ask", QUESTION, "--index", "notes.usearch", *model)
        tasks = server.tasks()

    assert (built.exit_code, built.stderr) == (0, "")
    assert re.search(r"^openai/any: 3 calls, price unknown, [\d.]+ s$", built.stdout, re.MULTILINE)
    assert (answered.exit_code, answered.stderr) == (0, "")
    assert answered.stdout.splitlines()[-1].startswith("openai/any, indexrag: 1 call, price unknown, ")
    assert sorted(tasks) == ["bridge", "extract", "extract", "read"]


@pytest.mark.usefixtures("folder")
def test_a_model_that_refuses_the_key_ends_in_one_line() -> None:
    with Loopback(lambda _: status(401, "Incorrect API key", code="invalid_api_key")) as server:
        result = run("index", "docs", "--index", "n.usearch", "--model", "openai/any", "--api-base", server.api_base)

    assert result.exit_code == 1
    assert re.fullmatch(r"Error: openai/any: .+\n", result.stderr)


def test_a_first_index_that_fails_leaves_no_empty_file(folder: Path) -> None:
    with Loopback(lambda _: status(401, "Incorrect API key", code="invalid_api_key")) as server:
        named = ("--index", "n.usearch", "--model", "openai/any", "--api-base", server.api_base)
        assert run("index", "docs", *named).exit_code == 1
    assert not (folder / "n.usearch").exists()
    assert run("index", "gone.txt", "--index", "n.usearch").exit_code == 1
    assert not (folder / "n.usearch").exists()
    run("index", "docs", "gone.txt", "--index", "n.usearch")
    assert len(Index(folder / "n.usearch", mode="r")) == 2
    Index(folder / "mine.usearch").close()
    before = (folder / "mine.usearch").read_bytes()
    assert run("index", "gone.txt", "--index", "mine.usearch").exit_code == 1
    assert (folder / "mine.usearch").read_bytes() == before


def test_ctrl_c_keeps_what_was_done_and_says_how_to_go_on(folder: Path) -> None:
    arrived = itertools.count()
    kept = folder / "n.usearch.replies"

    def one_reply_then_slow(request: Request) -> Served:
        if next(arrived):
            time.sleep(20)
        return honest(request)

    with Loopback(one_reply_then_slow) as server:
        arguments = ["index", "docs", "--index", "n.usearch", "--model", "openai/any", "--api-base", server.api_base]
        process = subprocess.Popen(
            [sys.executable, "-m", "minirag", *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_interrupts,
        )
        until = time.monotonic() + 60
        while not (kept.exists() and kept.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=10)

    assert (process.returncode, printed) == (130, b"")
    assert told.decode() == (
        "Interrupted. n.usearch holds 0 documents, and replies that were paid for are kept beside it. "
        "Run the same command again to go on: what is there is not done again.\n"
    )
    with Loopback(honest) as server:
        again = run("index", "docs", "--index", "n.usearch", "--model", "openai/any", "--api-base", server.api_base)
        assert sorted(server.tasks()) == ["bridge", "extract"]
    assert again.stdout.startswith("added 2, updated 0, unchanged 0, failed 0\n")


# --- output --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_no_terminal_is_too_poor(encoding: str, folder: Path) -> None:
    with Index(folder / "wide.usearch", model="offline") as index:
        index.add(Document("tōkyō", "東京 is the capital of Japan.", "東京"), progress=False)

    shown = run_process("search", "capital", "--index", "wide.usearch", cwd=folder, PYTHONIOENCODING=encoding)
    read = run_process("search", "capital", "--json", "--index", "wide.usearch", cwd=folder, PYTHONIOENCODING=encoding)

    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"capital of Japan" in shown.stdout
    hits = json.loads(read.stdout.decode(encoding))["hits"]
    assert hits[0]["document_ids"] == ["tōkyō"]


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    command = f"'{sys.executable}' -m minirag --help | true"
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment(), capture_output=True, check=True)

    assert (done.stdout, done.stderr) == (b"", b"")


def test_colours_only_where_they_are_wanted(notes: Path) -> None:
    arguments = ("ask", QUESTION, "--index", notes, "--model", "offline")

    assert "\x1b" not in run(*arguments).stdout
    assert "\x1b[1m" in run(*arguments, colour=True).stdout
    assert "\x1b" not in run(*arguments, colour=True, env={"NO_COLOR": "1"}).stdout


def test_snippet_begins_at_the_beginning_unless_what_matters_lies_further_on() -> None:
    long = "word " * 100

    assert snippet("A short\n text.", about=["text"]) == "A short text."
    assert snippet(f"Alpha {long}", about=["", "nothing", "alpha"]).startswith("Alpha word ")
    shown = snippet(f"{long}Omega {long}", about=["nothing", "OMEGA", "word"])
    assert shown.startswith("… word ")
    assert " Omega word" in shown
    assert shown.endswith("word …")
    assert len(shown) <= 204
    assert snippet(f"{long}End. Omega {long}", about=["omega"]).startswith("… Omega word")


def test_one_line_has_no_breaks_and_no_control_characters() -> None:
    assert one_line(" a\r\n\tb\x1b[0m \x00c ") == "a b[0m c"


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), "0 calls, $0, 0.00 s"),
        (Usage(calls=1, cost=0.00123, seconds=1.236), "1 call, $0.0012, 1.24 s"),
        (Usage(calls=1, cost=0.00001), "1 call, $0.00001, 0.00 s"),
        (Usage(calls=1, cost=4.2e-7), "1 call, $0.00000042, 0.00 s"),
        (Usage(calls=1, cost=3e-17), "1 call, $3.0e-17, 0.00 s"),
        (Usage(calls=1200, cost=1234.5, seconds=60), "1,200 calls, $1,234.50, 60.00 s"),
        (Usage(calls=2, cost=None), "2 calls, price unknown, 0.00 s"),
        (Usage(calls=2, cost=None, uncounted=2), "2 calls, tokens and cost unknown, 0.00 s"),
        (Usage(calls=2, cost=None, uncounted=1), "2 calls, tokens of 1 of them and cost unknown, 0.00 s"),
        (Usage(calls=2, cost=0.25, uncounted=1), "2 calls, at least $0.2500 (tokens of 1 of them unknown), 0.00 s"),
    ],
)
def test_usage_in_a_few_words(usage: Usage, text: str) -> None:
    assert describe_usage(usage) == text


# --- demo, eval, bench ---------------------------------------------------------------------------------------------


def test_demo_asks_all_its_questions_and_keeps_its_index_on_request(folder: Path) -> None:
    done = run_process("demo", "--index", "demo.usearch", cwd=folder, COLUMNS="80")

    shown = done.stdout.decode()
    lines = shown.splitlines()
    assert done.returncode == 0
    assert all(question.text in " ".join(shown.split()) for question in load_questions())
    assert max(len(line) for line in lines) <= 80
    assert "\x1b" not in shown
    verdicts = re.findall(r"^      (right|wrong)\b", shown, re.MULTILINE)
    assert len(verdicts) == len(load_questions())
    assert any(line.startswith("    - bridging fact: ") for line in lines)
    assert any(line.startswith("    - fact: ") for line in lines)
    assert "    [1] " in shown
    assert lines[-2].startswith(f"{verdicts.count('right')} of {len(verdicts)} right. 0 calls, $0, ")
    with Index(folder / "demo.usearch", mode="r") as index:
        assert len(index) == 24


def test_eval_builds_scores_and_writes(folder: Path) -> None:
    shutil.copytree(ROOT / "minirag" / "demo", folder / "small", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    strategies = ("--strategy", "naive", "--strategy", "indexrag")
    output = ("--json", "runs.json", "--resume", "log")

    result = run("eval", "small", "--index", "s.usearch", "--limit", "3", *strategies, *output, "--model", "offline")

    assert (result.exit_code, result.stderr) == (0, "")
    runs = read_runs("runs.json")
    assert [(each.dataset, each.strategy, each.model, len(each.results)) for each in runs] == [
        ("small", "naive", "offline", 3),
        ("small", "indexrag", "offline", 3),
    ]
    shown = result.stdout.splitlines()
    assert [line.split("|")[1:3] for line in shown[2:4]] == [[" small    ", " naive    "], [" small    ", " indexrag "]]
    assert [re.split(r" *\| *", line)[2:5] for line in shown[7:9]] == [
        ["indexrag", "naive", "recall@5"],
        ["indexrag", "naive", "f1"],
    ]
    assert shown[9:] == ["", "–: fewer than 20 questions, of which no p says anything."]
    assert len(list(Path("log").glob("small-*-3q-*.json"))) == len(list(Path("log").glob("small-*.jsonl"))) == 2
    assert run("eval", "log").stdout == run("eval", "runs.json").stdout
    shutil.copy("runs.json", "log/all.json")  # as by --json log/all.json: each run is in two files
    assert run("eval", "log").stdout == run("eval", "log", "runs.json", "log").stdout == run("eval", "runs.json").stdout
    (kept,) = Path("log").glob("small-naive-*-3q-*.json")
    over = run("eval", "small", "--index", "s.usearch", "--resume", "log", "--json", kept)
    assert (over.exit_code, "is what a run left, and would overwrite it" in over.stderr) == (2, True)
    asked = ("eval", "small", "--index", "s.usearch", "--limit", "1", "--no-read", "--quiet", *strategies)
    assert run(*asked, "--k-b", "1").exit_code == 0
    again = run(*asked, "--no-bridges")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "--no-bridges is no option of the strategy naive or indexrag" in again.stderr


def test_eval_of_several_sets_keeps_their_indexes_apart(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "corpus.json").write_text(json.dumps([{"id": "p1", "text": f"{name.title()} is a number."}]))
        question = {"question": f"What is {name}?", "answers": ["a number"], "gold_passage_ids": ["p1"]}
        (folder / name / "questions.json").write_text(json.dumps([question]))

    result = run("eval", "one", "two", "--index", "built", "--quiet")

    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(path.name for path in Path("built").glob("*.usearch")) == ["one.usearch", "two.usearch"]
    assert run("eval", "one", "one", "--index", "built").exit_code == 2
    assert run("eval", "one", "--index", "built").exit_code == 2
    assert run("eval", "one", "two", "--index", "built/one.usearch").exit_code == 2


def write_questions(folder: Path, text: str, *, question: str = "Who directed Aylwin?") -> Path:
    """A data set of one document and one question about it."""
    folder.mkdir(parents=True)
    entry = {"id": "5", "question": question, "answers": ["Henry Edwards"], "gold_ids": ["a"]}
    (folder / "corpus.json").write_text(json.dumps([{"id": "a", "title": "Aylwin", "text": text}]))
    (folder / "questions.json").write_text(json.dumps([entry]))
    return folder.relative_to(Path.cwd())


def test_eval_says_why_a_document_that_a_question_needs_is_not_there(folder: Path) -> None:
    people = write_questions(folder / "people", f"{AYLWIN} \ud83d")
    result = run("eval", people, "--index", "p.usearch", "--no-read", "--quiet")
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    reason = r"text has a lone surrogate, U\+D83D, at character \d+: replace it"
    assert re.match(rf"failed: a: {reason}", lines[0])
    needed = r"document 'a', which question '5' \(\"Who directed Aylwin\?\"\) needs, could not be indexed"
    assert re.match(rf"Error: people: {needed}: {reason}", lines[-1])


def test_eval_goes_on_where_what_could_not_be_indexed_is_there_from_before(folder: Path) -> None:
    people = write_questions(folder / "people", AYLWIN)
    asked = ("eval", people, "--index", "p.usearch", "--no-read", "--quiet")
    assert run(*asked).exit_code == 0
    shutil.rmtree(folder / "people")
    write_questions(folder / "people", f"{AYLWIN} \ud83d")
    result = run(*asked)
    assert (result.exit_code, result.stdout.count("| people ")) == (1, 1)
    assert result.stderr.startswith("failed: a: text has a lone surrogate")


def test_eval_takes_long_names_and_any_question(folder: Path) -> None:
    long = write_questions(folder / ("数" * 80), AYLWIN, question="Who directed \ud83d Aylwin?")
    small = write_questions(folder / "small", AYLWIN)
    result = run("eval", long, small, "--index", "built", "--limit", "1", "--json", "runs.json")
    assert result.exit_code == 0, result.stderr
    assert [each.dataset for each in read_runs("runs.json")] == ["数" * 80, "small"]
    assert run("eval", "minirag-runs", "--report", "report.html").exit_code == 0


@pytest.mark.slow
def test_bench_measures(folder: Path) -> None:
    result = run("bench", "--quick", "--json", "bench.json")

    assert result.exit_code == 0
    assert result.stderr.startswith("Note: a quick run shows that all of it runs; its figures are too few")
    assert json.loads((folder / "bench.json").read_text(encoding="utf-8"))["quick"] is True
    assert "| what " in result.stdout


def test_info_lists_documents(notes: Path) -> None:
    assert run("info", notes, "--documents").stdout.splitlines() == minirag.Index(notes, mode="r").document_ids()
    assert json.loads(run("info", notes, "--documents", "--json").stdout) == ["aylwin", "henry"]


def test_offline_the_default_strategy_is_the_best_one(notes: Path) -> None:
    assert json.loads(run("ask", QUESTION, "--index", notes, "--json").stdout)["strategy"] == "kirag"


def test_eval_asks_by_the_strategies_that_ask_asks_by(notes: Path, folder: Path) -> None:
    (folder / "q.json").write_text('[{"question": "Who directed Aylwin?", "answers": ["Henry Edwards"]}]')
    asked = ("eval", "q.json", "--index", notes, "--quiet", "--yes")
    with Loopback(honest) as server:
        called = ("--model", "openai/any", "--api-base", server.api_base)
        reading = ("--model-for", "read=openai/any", "--api-base", server.api_base)
        for named, strategy in (
            ((), "kirag"),
            (called, "indexrag"),
            (reading, "indexrag"),
            (("--model-for", "think=openai/any", *called[2:]), "indexrag"),
            ((*called, "--model-for", "read=offline"), "kirag"),
        ):
            result = run(*asked, *named)
            assert result.exit_code == 0, result.stderr
            assert re.split(r" *\| *", result.stdout.splitlines()[2])[2] == strategy
    assert "[indexrag with a model, kirag offline]" in " ".join(run("eval", "--help").stdout.split())


@pytest.mark.usefixtures("folder")
def test_eval_takes_published_files_and_sweeps() -> None:
    context = [["Aylwin", ["Aylwin is a film.", " It was directed by Henry Edwards."]], ["Karsund", ["A town."]]]
    entry = {"_id": "a", "question": "Who directed Aylwin?", "answer": "Henry Edwards", "context": context}
    facts = {"supporting_facts": [["Aylwin", 1], ["Henry Edwards", 0]]}
    Path("hotpot_dev_fullwiki_v1.json").write_text(json.dumps([{**entry, **facts}]))
    asked = ("eval", "hotpot_dev_fullwiki_v1.json", "--index", "h.usearch", "--no-read", "--model", "offline")

    result = run(*asked, "--strategy", "indexrag", "--sweep", "k-b=default,0,0")

    assert result.exit_code == 0
    assert "1 gold articles are in no context; they count as not found" in " ".join(result.stderr.split())
    rows = [re.split(r" *\| *", line)[2:9] for line in result.stdout.splitlines()[2:4]]
    assert rows == [[name, "offline", "1", *["50.0"] * 4] for name in ("indexrag", "indexrag (k_b=0)")]
    assert len(list(Path("minirag-runs").glob("*.json"))) == 2


@pytest.mark.parametrize("spelled", ["no-constructor=yes,no", "--no-constructor=yes,no", "constructor=no,yes"])
def test_a_switch_is_swept_by_either_of_its_names(spelled: str, notes: Path, folder: Path) -> None:
    (folder / "q.json").write_text('[{"question": "Who directed Aylwin?", "answers": ["Henry Edwards"]}]')
    result = run("eval", "q.json", "--index", notes, "--no-read", "--strategy", "kirag", "--sweep", spelled)
    assert result.exit_code == 0, result.stderr
    rows = [re.split(r" *\| *", line)[2] for line in result.stdout.splitlines()[2:4]]
    assert rows == ["kirag (constructor=no)", "kirag"]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("k-b", "give it as OPTION=VALUE,VALUE"),
        ("best=1", "there is no option --best"),
        ("k-b=0,x", "'x' is not a valid integer"),
        ("k-b=0+1", "k_b takes one value at a time"),
        ("limit=1,2", "there is no option --limit of a strategy."),
        ("no-constructr=yes", "Did you mean '--no-constructor'?"),
        ("no-constructor=maybe", "constructor is a switch, yes or no"),
        ("constructor=maybe", "constructor is a switch, yes or no"),
        ("over=naive", "over is no option of the strategy kirag"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_eval_names_what_is_wrong_with_a_sweep(sweep: str, message: str) -> None:
    result = run("eval", "docs", "--index", "s.usearch", "--sweep", sweep)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_eval_says_the_cost_first_and_asks(folder: Path) -> None:
    (folder / "q.json").write_text('[{"question": "Where was Aylwin\'s director born?", "answers": ["Weston"]}]')
    (folder / "small").mkdir()
    shutil.copy(folder / "q.json", folder / "small" / "questions.json")
    (folder / "small" / "corpus.json").write_text(json.dumps([{"id": "a", "text": AYLWIN}, {"id": "h", "text": HENRY}]))
    with Loopback(honest) as server:
        named = ("--model", "openai/honest", "--api-base", server.api_base)
        asked = ("eval", "small", "--index", "s.usearch", *named)
        refused = run(*asked)
        assert (refused.exit_code, server.requests, Path("s.usearch").exists()) == (1, [], False)
        assert refused.stderr.startswith("indexing 2 documents of small: at most ")
        assert "1 questions by indexrag: at most 1 calls, some " in refused.stderr
        assert "The price is unknown. Go on? [y/N]" in refused.stderr
        done = run(*asked, "--yes", "--concurrency", "2")
    assert (done.exit_code, server.tasks()[-1]) == (0, "read")


def test_bench_scaling_keeps_what_it_measured(notes: Path, folder: Path) -> None:
    asked = ("bench", "--quick", "--scaling", "growth.json", "--index", notes)
    result = run(*asked, "--sizes", "20")
    assert result.exit_code == 0
    assert "graph recall@10" in result.stdout
    assert [point["asked"] for point in json.loads((folder / "growth.json").read_text())["scaling"]["points"]] == [20]
    assert "give whole numbers above 0" in run(*asked, "--sizes", "20,x").stderr
    assert "go with --scaling FILE" in " ".join(run("bench", "--sizes", "20").stderr.split())


def test_index_prunes_what_is_gone_and_asks_for_much(folder: Path) -> None:
    run("index", "docs", "--index", "notes.usearch")
    (folder / "docs" / "aylwin.md").unlink()

    pruned = run("index", "docs", "--index", "notes.usearch", "--prune")
    assert (pruned.exit_code, pruned.stdout.splitlines()[0]) == (
        0,
        "added 0, updated 0, unchanged 1, deleted 1, failed 0",
    )
    (folder / "docs" / "people" / "henry.txt").unlink()
    refused = run("index", "docs", "--index", "notes.usearch", "--prune", "--quiet")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("failed: docs: not pruned: 1 of the 1 documents that came from docs are gone")
    allowed = run("index", "docs", "--index", "notes.usearch", "--prune", "--yes")
    assert (allowed.exit_code, len(Index(folder / "notes.usearch", mode="r"))) == (0, 0)
