"""The README's results: written from what was measured, and from nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag.encoder import SHIPPED
from minirag.errors import InputError
from minirag.evaluation import measuring, readme
from minirag.evaluation.encoders import find_runs
from minirag.evaluation.measured_files import read_measured
from minirag.evaluation.measuring import BUILDING, read_building
from minirag.evaluation.readme import BEGIN, END, SUMMARY, render, replace_section
from minirag.evaluation.results import QuestionResult, Run, write_runs
from minirag.evaluation.summaries import find_building, find_missing, summarise

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
    for broken in ("before", f"{BEGIN}{BEGIN}{END}", BEGIN, f"{END}{BEGIN}"):
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
    assert len(files) - 1 == len(runs) == 7 + 12 + 4 + 3 + 3
    (took,) = read_building(folder / BUILDING).items()
    assert (took[0], 0 < took[1] < 600) == ("2wiki", True)
    assert {run.dataset for run in runs} == {"2wiki"}
    again = CliRunner().invoke(measuring.main, command)
    assert (again.exit_code, sorted(folder.glob("*.json"))) == (0, files)
    assert read_measured(files)[0] == runs
    assert dict([took]) == read_building(folder / BUILDING)

    other = shutil.copytree(SHIPPED, tmp_path / "other")
    config = json.loads((other / "config.json").read_text(encoding="utf-8"))
    (other / "config.json").write_text(json.dumps({**config, "name": "other/one"}), encoding="utf-8")
    beside = [*command[:2], "--part", "encoders", "--limit", "1", "--encoder", str(other)]
    for _ in range(2):
        assert CliRunner().invoke(measuring.main, beside).exit_code == 0
    assert {path.relative_to(folder).as_posix() for path in (folder / "encoders").glob("*/*")} == {
        f"encoders/other-one/2wiki-{strategy}-1q.json" for strategy in ("naive", "indexrag", "kirag")
    }

    arguments = [str(page), str(folder), "--summary", str(tmp_path / "measured.json")]
    refused = CliRunner().invoke(readme.main, arguments)
    assert refused.exit_code == 1
    assert "hotpotqa (all of it); musique (all of it); 2wiki_llm_triples (all of it); the bench; the growth" in (
        refused.output
    )
    done = CliRunner().invoke(readme.main, [*arguments, "--partial"])
    assert done.exit_code == 0, done.output
    written = page.read_text(encoding="utf-8")
    assert f"Questions: 2Wiki 1 over {runs[0].passages} passages." in written
    assert "| `naive`: passages " in written
    assert "`kirag` above `indexrag`" in written
    assert json.loads((tmp_path / "measured.json").read_text(encoding="utf-8"))["bench"] is None
    assert "| `indexrag`, other/one " in written
    assert written == replace_section(written, render(summarise(files, find_runs(folder))))


def test_goals_that_are_missed_are_named() -> None:
    summary = json.loads(SUMMARY.read_text(encoding="utf-8"))

    fitting = [{**run, "retrieval_seconds": 0.015, "index_bytes": 4417 * run["passages"]} for run in summary["runs"]]
    reached = render({**summary, "runs": fitting})
    assert reached.count("It is reached everywhere.") == 2
    slow, large = {"retrieval_seconds": 0.0151}, {"index_bytes": 4419 * 7104}
    runs = [
        run
        | (slow if (run["dataset"], run["strategy"], run["options"]) == ("hotpotqa", "kirag", {}) else {})
        | (large if run["dataset"] == "musique" else {})
        for run in fitting
    ]
    missed = render({**summary, "runs": runs})
    assert "15 ms, a twentieth of the 0.30 s" in missed
    assert "It is missed on HotpotQA by `kirag`; all else reaches it." in missed
    assert "| **`kirag`**                            | 15.0  | 15.1     | 15.0    |" in missed
    assert "It is missed on MuSiQue." in missed
    untimed = render({**summary, "runs": [{**run, "retrieval_seconds": None} for run in summary["runs"]]})
    assert "Retrieval alone" not in untimed


def test_building_times_are_those_that_were_measured_and_not_those_in_files_of_runs(tmp_path: Path) -> None:
    settings = {"index": {"facts": 20, "seconds": 1.5}, "options": {}, "encoder": "e"}
    run = Run("2wiki", "naive", "offline", (QuestionResult("q1", ranks=(1,)),), 50_000, 10, settings)
    write_runs([run], tmp_path / "run.json")
    row = "| 2Wiki |       10 |             2.0 |       0.1 |           5,000 | "
    unknown = render(summarise([tmp_path / "run.json"]))
    assert f"{row}          – |" in unknown
    (tmp_path / BUILDING).write_text('{"building": {"2wiki": 1234.5}}', encoding="utf-8")
    summary = summarise([tmp_path / "run.json", tmp_path / BUILDING])
    assert f"{row}      1,234 |" in render(summary)
    kept = json.loads(SUMMARY.read_text(encoding="utf-8"))
    assert find_building({**kept, "building": {}}, "2wiki") == kept["bench"]["measurements"][1]["details"]["seconds"]
    assert find_building({**kept, "building": {}}, "hotpotqa") is None
    assert find_building({**kept, "building": {"2wiki": 2.0}}, "2wiki") == 2.0
    (tmp_path / BUILDING).write_text('{"building": []}', encoding="utf-8")
    with pytest.raises(InputError, match=r"building\.json: is no building\.json: building: "):
        summarise([tmp_path / BUILDING])


def test_no_hits_are_kept() -> None:
    assert "hit" not in SUMMARY.read_text(encoding="utf-8")


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


def test_what_the_section_needs_is_asked_for_before_anything_is_written(tmp_path: Path) -> None:
    page, kept = tmp_path / "README.md", tmp_path / "measured.json"
    (tmp_path / "runs").mkdir()
    page.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    kept.write_text("{}", encoding="utf-8")
    before = page.read_bytes(), kept.read_bytes()
    command = [str(page), str(tmp_path / "runs"), "--summary", str(kept)]
    done = CliRunner().invoke(readme.main, command)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: {tmp_path / 'runs'}: lacks what the section needs: 2wiki (all of it); hotpotqa (all of it); musique "
        "(all of it); 2wiki_llm_triples (all of it); the bench; the growth; other encoders. Measure it (python -m "
        "minirag.evaluation.measuring), or leave its places empty by --partial\n"
    )
    assert (page.read_bytes(), kept.read_bytes()) == before
    page.write_text("no marks", encoding="utf-8")
    done = CliRunner().invoke(readme.main, [*command, "--partial"])
    assert (done.exit_code, done.stderr.startswith("Error: the README needs the lines")) == (1, True)
    assert (page.read_text(encoding="utf-8"), kept.read_bytes()) == ("no marks", before[1])


def test_what_is_kept_lacks_nothing_and_single_runs_are_named() -> None:
    summary = json.loads(SUMMARY.read_text(encoding="utf-8"))
    assert find_missing(summary) == []
    gone = ("musique", "kirag", {"steps": 1})
    runs = [run for run in summary["runs"] if (run["dataset"], run["strategy"], run["options"]) != gone]
    unread = [{**run, "em": None} if run["strategy"] == "ircot" else run for run in runs]
    assert find_missing({**summary, "runs": unread}) == [
        "2wiki (ircot (over=naive), ircot)",
        "hotpotqa (ircot (over=naive), ircot)",
        "musique (ircot (over=naive), ircot, kirag (steps=1))",
    ]


def test_what_two_files_hold_counts_once(tmp_path: Path) -> None:
    """As by `--json` in the folder of runs; what differs in anything but its place stays."""
    run = Run("2wiki", "naive", "offline", (QuestionResult("q1", ranks=(1,), retrieval_seconds=0.25),), 1, 1)
    others = [
        replace(run, results=(replace(run.results[0], retrieval_seconds=0.5),)),
        replace(run, settings={"scoring": "kirag"}),
        replace(run, settings={"index": {"content": "another"}}),
        replace(run, dataset="musique"),
    ]
    write_runs([run], tmp_path / "run.json")
    write_runs([run, *others], tmp_path / "all.json")
    found, _ = read_measured([tmp_path / "run.json", tmp_path / "all.json", tmp_path / "run.json"])
    assert len(found) == 5
    assert found.count(run) == 1


def test_of_two_runs_none_is_shown(tmp_path: Path) -> None:
    run = Run("2wiki", "naive", "offline", (QuestionResult("q1", ranks=(1,)),), 1, 1, {"options": {}})
    write_runs([run], tmp_path / "a.json")
    write_runs([run], tmp_path / "b.json")
    assert len(summarise([tmp_path / "a.json", tmp_path / "b.json"])["runs"]) == 1
    write_runs([replace(run, results=(QuestionResult("q1", ranks=(2,)),))], tmp_path / "b.json")
    with pytest.raises(InputError, match="2wiki: there are 2 runs of naive; leave the one"):
        summarise([tmp_path / "a.json", tmp_path / "b.json"])


@pytest.mark.parametrize(
    ("summary", "reason"), [("{", "is no summary that this command wrote"), ("{}", "is no summary that this command")]
)
def test_a_damaged_summary_is_told_in_a_line(summary: str, reason: str, tmp_path: Path) -> None:
    page, kept = tmp_path / "README.md", tmp_path / "measured.json"
    page.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    kept.write_text(summary, encoding="utf-8")
    done = CliRunner().invoke(readme.main, [str(page), "--summary", str(kept)])
    assert (done.exit_code, done.stderr.startswith(f"Error: {kept}: {reason}")) == (1, True)
    assert done.stderr.count("\n") == 1


def test_wrong_data_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "2wiki").mkdir()
    command = [sys.executable, "-m", "minirag.evaluation.measuring", str(tmp_path), str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        f"Error: {tmp_path / '2wiki'}: holds neither questions.json nor questions.jsonl\n",
    )
