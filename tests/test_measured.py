"""The README's results: written from what was measured, and from nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag.encoder import SHIPPED
from minirag.errors import InputError
from minirag.evaluation import measuring, readme
from minirag.evaluation.encoders import find_runs
from minirag.evaluation.measured_files import read_measured
from minirag.evaluation.readme import BEGIN, END, SUMMARY, render, replace_section, summarise

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DEMO = ROOT / "minirag" / "demo"


@pytest.mark.skipif(not README.exists(), reason="an installed package has no README")
def test_the_readme_says_what_was_measured() -> None:
    text = README.read_text(encoding="utf-8")
    assert replace_section(text, render(json.loads(SUMMARY.read_text(encoding="utf-8")))) == text


def test_a_section_needs_its_marks() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter"
    assert replace_section(text, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter"
    for broken in ("before", f"{BEGIN}{BEGIN}{END}", BEGIN):
        with pytest.raises(InputError, match="needs the lines '<!-- measured: begin"):
            replace_section(broken, "new")


@pytest.mark.slow
def test_measured_by_one_command_and_written_by_another(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "data" / "2wiki")
    folder, page = tmp_path / "runs", tmp_path / "README.md"
    page.write_text(f"# x\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    command = [str(tmp_path / "data"), str(folder), "--part", "quality", "--limit", "1"]
    assert CliRunner().invoke(measuring.main, command).exit_code == 0
    files = sorted(folder.glob("*.json"))
    runs, _ = read_measured(files)
    assert len(files) == len(runs) == 7 + 12 + 4 + 3 + 3
    assert {run.dataset for run in runs} == {"2wiki"}
    again = CliRunner().invoke(measuring.main, command)
    assert (again.exit_code, sorted(folder.glob("*.json"))) == (0, files)
    assert read_measured(files)[0] == runs

    other = shutil.copytree(SHIPPED, tmp_path / "other")
    config = json.loads((other / "config.json").read_text(encoding="utf-8"))
    (other / "config.json").write_text(json.dumps({**config, "name": "other/one"}), encoding="utf-8")
    beside = [*command[:2], "--part", "encoders", "--limit", "1", "--encoder", str(other)]
    for _ in range(2):
        assert CliRunner().invoke(measuring.main, beside).exit_code == 0
    assert {path.relative_to(folder).as_posix() for path in (folder / "encoders").glob("*/*")} == {
        f"encoders/other-one/2wiki-{strategy}-1q.json" for strategy in ("naive", "indexrag", "kirag")
    }

    done = CliRunner().invoke(readme.main, [str(page), str(folder), "--summary", str(tmp_path / "measured.json")])
    assert done.exit_code == 0, done.output
    written = page.read_text(encoding="utf-8")
    assert f"Questions: 2Wiki 1 over {runs[0].passages} passages." in written
    assert "| `naive`: passages " in written
    assert "`kirag` above `indexrag`" in written
    assert json.loads((tmp_path / "measured.json").read_text(encoding="utf-8"))["bench"] is None
    assert "| `indexrag`, other/one " in written
    assert written == replace_section(written, render(summarise(files, find_runs(folder))))


def test_data_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(measuring.main, [str(tmp_path), str(tmp_path / "runs"), "--part", "growth"])
    assert done.exit_code == 2
    assert "holds none of the data sets 2wiki, hotpotqa, musique" in done.output


def test_other_encoders_must_be_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(measuring.main, [str(tmp_path), str(tmp_path / "runs"), "--part", "encoders"])
    assert done.exit_code == 2
    assert "--part encoders needs the --encoder folders" in done.output


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "2wiki").mkdir()
    (tmp_path / "file").touch()
    done = CliRunner().invoke(measuring.main, [str(tmp_path), str(tmp_path / "file" / "runs")])
    assert (done.exit_code, "FOLDER" in done.output, "could not be written" in done.output) == (2, True, True)


def test_encoders_are_compared_by_copies_alike() -> None:
    """Also the shipped one, where its copy was measured."""
    summary = json.loads(SUMMARY.read_text(encoding="utf-8"))
    shipped = next(run for run in summary["runs"] if run["strategy"] == "naive" and not run["options"])
    copy = {**shipped, "recall": dict.fromkeys(shipped["recall"], 0.125)}
    section = render({**summary, "encoders": [*summary["encoders"], copy]})
    row = next(line for line in section.splitlines() if line.startswith(f"| `naive`, {shipped['encoder']}"))
    assert "12.5 / 12.5 / 12.5 / 12.5" in row
