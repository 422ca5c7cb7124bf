"""`--prompts`, `minirag prompts` and `minirag index --estimate`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag.cli import program
from minirag.reasoner.prompts import system_for
from minirag.reasoner.standard import STANDARD
from minirag.records import THINKING, Prompts, TaskPrompt
from tests.loopback import Loopback, honest


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(program, [str(argument) for argument in arguments], prog_name="minirag")
    return result.exit_code, result.output


def test_what_is_printed_is_what_can_be_given() -> None:
    code, printed = run("prompts")
    value = tomllib.loads(printed)
    assert code == 0
    assert tuple(value) == THINKING
    prompts = Prompts.from_dict(value)
    for task in THINKING:
        assert prompts.of(task).template == STANDARD[task].template
        assert system_for(task, prompts.of(task)) == system_for(task)
    assert tuple(tomllib.loads(run("prompts", "read")[1])) == ("read",)


def test_a_file_of_prompts_goes_to_the_model_and_stays_in_the_index(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Henry Edwards was an actor.", encoding="utf-8")
    toml, index = tmp_path / "prompts.toml", tmp_path / "a.usearch"
    toml.write_text('[extract]\ninstructions = "Ships only."\n[read]\nlanguage = "French"\n', encoding="utf-8")
    reading = tmp_path / "reading.json"
    reading.write_text('{"read": {"language": "Dutch"}}', encoding="utf-8")
    with Loopback(honest) as server:
        to = ("--index", index, "--model", "openai/any", "--api-base", server.api_base)
        assert run("index", tmp_path / "a.md", *to, "--prompts", toml)[0] == 0
        assert run("ask", "Who was an actor?", *to)[0] == 0
        assert run("ask", "Who was an actor?", *to, "--prompts", reading)[0] == 0
        extract, french, dutch = [request.system for request in server.requests]
    assert "Ships only." in extract
    assert french == system_for("read", TaskPrompt(language="French"))
    assert dutch == system_for("read", TaskPrompt(language="Dutch"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[reed]\n", "prompts has no 'reed'; it has extract, bridge, read, extend, think"),
        ("a.toml", '[read]\ntemplate = "Answer."\n', "prompts.read: template lacks {data}, {form}."),
        ("a.toml", "{", "a.toml: Invalid"),
        ("a.json", "{", "a.json: Expecting property name"),
        ("a.json", "[]", "prompts is an object with extract, bridge, read, extend, think, not []"),
    ],
)
def test_a_wrong_file_is_wrong_usage(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    code, output = run("ask", "?", "--index", tmp_path / "no.usearch", "--prompts", tmp_path / name)
    assert code == 2
    assert message in " ".join(output.split())


def test_estimating_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Aylwin\n\nAylwin was directed by Henry Edwards.", encoding="utf-8")
    (tmp_path / "docs" / "b.md").write_text("# Henry Edwards\n\nHenry Edwards was born in Weston.", encoding="utf-8")
    index = tmp_path / "a.usearch"
    told = ("index", tmp_path / "docs", "--index", index, "--estimate")
    code, output = run(*told, "--model", "openai/gpt-4o-mini")
    assert (code, output.splitlines()[0]) == (0, "2 documents to index, 2 passages")
    assert "3 calls: 2 for passages, 1 for 1 bridge entities" in output
    assert "about $0.00" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs"]
    code, output = run(*told)
    assert code == 2
    assert "--estimate needs a --model: offline indexing takes no calls" in output


def test_an_estimate_heeds_what_is_derived_afresh(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Aylwin was directed by Henry Edwards.", encoding="utf-8")
    told = ("index", tmp_path / "a.md", "--index", tmp_path / "a.usearch", "--model", "openai/gpt-4o-mini")
    with Loopback(honest) as server:
        named = ("--api-base", server.api_base, "--price", "1", "1")
        assert run(*told, *named)[0] == 0
        assert run(*told, *named, "--estimate")[1].splitlines()[0] == "0 documents to index, 0 passages"
        code, output = run(*told, *named, "--estimate", "--reextract")
        assert (code, output.splitlines()[:2]) == (
            0,
            ["1 document to index, 1 passage", "1 call: 1 for passages, 0 for 0 bridge entities"],
        )
        assert len(server.requests) == 1


def test_an_estimate_heeds_what_is_pruned(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"{name} met Otto Vane.", encoding="utf-8")
    told = ("index", folder, "--index", tmp_path / "a.usearch", "--model", "openai/any")
    with Loopback(honest) as server:
        named = ("--api-base", server.api_base, "--price", "1", "1")
        assert run(*told, *named)[0] == 0
        (folder / "c.md").unlink()
        assert "call" not in run(*told, *named, "--estimate")[1]
        assert "1 call: 0 for passages, 1 for 1 bridge entities" in run(*told, *named, "--estimate", "--prune")[1]
        asked = len(server.requests)
        assert run(*told, *named, "--prune")[0] == 0
        assert len(server.requests) == asked + 1
