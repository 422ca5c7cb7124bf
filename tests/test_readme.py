"""What the README shows runs as it stands."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import minirag
from minirag import Answer, Citation, Document, Index
from minirag.cli import program
from tests.loopback import Loopback, honest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_block_stands_early() -> None:
    assert README[: README.index("```python")].count("\n") < 30


def test_the_first_block_prints_the_answer(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", BLOCKS[0]]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines()[0] == "Weston-super-Mare"
    assert "Henry Edwards - Henry Edwards was an English actor." in done.stdout
    assert [file.name for file in tmp_path.glob("*.usearch")] == ["notes.usearch"]


def test_the_serverless_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Index(tmp_path / "source.usearch", model="offline") as index:
        index.add(Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano"), progress=False)
    code = next(block for block in BLOCKS if "def handler" in block)
    code = code.replace("tempfile.gettempdir()", repr(str(tmp_path))).replace("openai/gpt-4o-mini", "offline")

    class Store:
        def download_file(self, bucket: str, key: str, target: str) -> None:
            assert (bucket, key) == ("bucket", "notes.usearch")
            Path(target).write_bytes((tmp_path / "source.usearch").read_bytes())

    names: dict[str, object] = {"s3": Store()}
    exec(compile(code, "README.md", "exec"), names)
    handler = names["handler"]
    assert callable(handler)
    result = handler({"question": "Where does Lake Lugano lie?"}, None)
    assert result["sources"] == ["lake"]
    assert "Switzerland" in result["answer"]
    assert handler({"question": "Where does Lake Lugano lie?"}, None) == result


def test_the_filters(tmp_path: Path) -> None:
    code = next(block for block in BLOCKS if "where=where" in block)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "MINIRAG_MODEL": "offline"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True)
    first, second, third = done.stdout.splitlines()
    assert (first, sorted(re.findall("p[12]", second)), third) == ("{'p1'}", ["p1", "p2"], "['p1'] Ada Brell")


def test_own_prompts(tmp_path: Path) -> None:
    code = next(block for block in BLOCKS if "TaskPrompt" in block)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    with Index(tmp_path / "logs.usearch", mode="r", model="offline") as index:
        assert index.prompts.own == ("extract", "read")


def test_names_are_found_after_importing_minirag_alone() -> None:
    named = sorted(set(re.findall(r"\bminirag(?:\.\w+)*\.(?:[A-Z]\w*|\w+(?=\())", README)))
    assert "minirag.llm.Retries" in named
    assert "minirag.datasets.read_examples" in named
    code = f"""
import sys, minirag
loaded = lambda names: [name for name in names.split() if name in sys.modules]
print(loaded("litellm openai pydantic minirag.llm"), minirag.errors.__name__)
print([eval(name) for name in {named}] and loaded("litellm openai"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] minirag.errors", "[]"]


def test_there_are_no_other_blocks_that_nobody_runs() -> None:
    assert len(BLOCKS) == 6  # the one about LangChain is run by test_adapters_langchain.py


def test_the_set_up_commands_are_two() -> None:
    commands = re.findall(r"^pip install .*$", README, flags=re.MULTILINE)
    own = [command for command in commands if "minirag[" not in command]  # the others are of extras
    assert own == ["pip install . && minirag demo", "pip install -e '.[test]' && python -m pytest -q"]


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the first table that begins with this row."""
    table = README.partition(f"{heading}\n")[2].split("\n\n")[0].splitlines()[1:]
    return [re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |")) for line in table]


def test_the_table_of_options_names_each_option_and_all_commands_that_take_it() -> None:
    taken: dict[str, set[str]] = {}
    for name, command in program.commands.items():
        for parameter in command.params:
            for option in parameter.opts:
                taken.setdefault(option, set()).add(name)
    written: dict[str, set[str]] = {}
    for options, commands, _ in rows_of("| options | of | |"):
        named = set(program.commands) if commands == "all" else set(re.findall(r"`([a-z]+)`", commands))
        for option in re.findall(r"`(--?[a-z-]+)", options):
            assert option not in written
            written[option] = named
    short = {"-q", "-v", "-y", "-o"}
    assert written == {name: of for name, of in taken.items() if name.startswith("-") and name not in short}


def test_the_commands_that_read_minirag_index() -> None:
    (row,) = (cells for cells in rows_of("| options | of | |") if cells[0] == "`--index FILE`")
    ignore = set(re.findall(r"`([a-z]+)`", row[2].partition("except for ")[2]))
    options = {name: [p for p in command.params if "--index" in p.opts] for name, command in program.commands.items()}
    assert {name for name, found in options.items() if found and found[0].envvar != "MINIRAG_INDEX"} == ignore


def test_signatures_are_the_codes_own() -> None:
    shown = [call for cells in rows_of("| call | what it does |") for call in re.findall(r"`([^`]*\*[^`]*)`", cells[0])]
    assert [call.partition("(")[0] for call in shown] == ["Index", "index.search", "index.estimate", "ask"]
    for call in shown:
        name, _, parameters = call.removesuffix(")").partition("(")
        function = getattr(Index if name.startswith("index.") else minirag, name.removeprefix("index."))
        own = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
        own = own[1:] if name.startswith("index.") else own
        stripped = str(inspect.Signature(own)).replace("'", '"').removeprefix("(").removesuffix(")")
        assert parameters == stripped


def test_costs_and_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in BLOCKS if "max_cost=" in block)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "aylwin.md").write_text("# Aylwin\n\nAylwin was directed by Henry Edwards.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Loopback(honest) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
        code = code.replace('gpt-4o-mini"', 'gpt-4o-mini", prices={"openai/gpt-4o-mini": (0.15, 0.6)}')
        names: dict[str, object] = {}
        exec(compile(code, "README.md", "exec"), names)
    index = names["index"]
    assert isinstance(index, Index)
    with index:
        usage = index.info().usage
    assert usage.cost == usage.tasks["extract"].cost
    assert "Citation(number=1" in capsys.readouterr().out


def test_the_attributes_of_answers_and_citations_are_all_named() -> None:
    told = README[README.index("An `Answer` has ") : README.index("`str(answer)` is the text")]
    named = re.findall(r"`(\w+)`", told)
    assert sorted(named) == sorted(["Answer", *(field.name for kind in (Answer, Citation) for field in fields(kind))])
