"""What a training leaves is there whole or not at all, and what is damaged all the same is named."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag.cli import program
from minirag.errors import OutputError
from minirag.training.folders import written_whole
from tests.extras import need
from tests.tiny_questions import write_base, write_questions

pytestmark = pytest.mark.extra
need("torch")
need("safetensors")

SETTINGS = ["epochs=2", "batch=8", "learning_rate=0.01", "frozen_layers=1", "dev_share=0.3"]
WINDOWS = [f"{name}=40" for name in ("max_tokens", "passage_tokens", "query_tokens", "unit_tokens")]
GIVEN = [part for each in (*SETTINGS, *WINDOWS) for part in ("--set", each)]

Command = list[str]

_LIMITED = """
import resource, sys
from minirag.__main__ import main
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
main()
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("sources")
    base = write_base(folder / "base")
    return ["train", str(write_questions(folder)), "--base", str(base), "--threads", "1", *GIVEN]


@pytest.fixture(scope="module")
def finished(sources: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "films"
    result = CliRunner().invoke(program, [*sources, "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "films")


def without(out: Path, *gone: str) -> None:
    for name in gone:
        place = out / name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


def files_of(folder: Path) -> dict[str, bytes]:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if name not in ("log.jsonl", "report.json")}


# What is gone, and the most bytes of a file that are written then: fewer than the step's largest file has.
STEPS = [
    pytest.param(("chains.jsonl",), 3_000, id="chains"),
    pytest.param(("vectors.npy",), 1_000, id="negatives"),
    pytest.param(("weights",), 20_000, id="train"),
    pytest.param(("float", "model"), 20_000, id="export"),
    pytest.param(("untrained", "model/README.md"), 20_000, id="untrained"),
    pytest.param(("model/README.md",), 1_400, id="card"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("gone", "most"), STEPS)
def test_a_step_that_stops_while_it_writes_is_done_again(
    finished: Path, out: Path, sources: Command, gone: tuple[str, ...], most: int
) -> None:
    without(out, *gone)
    stopped = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(most), *sources, "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert stopped.returncode == 2, stopped.stderr
    assert "could not be written: File too large" in stopped.stderr
    again = CliRunner().invoke(program, [*sources, "--out", str(out)], catch_exceptions=False)
    assert again.exit_code == 0, again.output
    assert files_of(out) == files_of(finished)


def test_what_a_killed_process_left_is_no_result(finished: Path, out: Path, sources: Command) -> None:
    without(out, "weights", "untrained", "model/README.md")
    for name in ("weights", "untrained"):
        (out / name / ".new").mkdir(parents=True)
        (out / name / ".new" / "model.safetensors").write_bytes(b"half")
    (out / "untrained" / "model.onnx").write_bytes(b"half")  # as an older minirag left it
    result = CliRunner().invoke(program, [*sources, "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert files_of(out) == files_of(finished)


@pytest.mark.parametrize(
    ("damaged", "gone", "message"),
    [
        ("chains.jsonl", ["vectors.npy"], "chains.jsonl, line 7 is no question with its chain"),
        ("vectors.npy", ["weights"], "vectors.npy is damaged: "),
        ("checkpoint.pt", ["weights"], "checkpoint.pt is damaged: "),
        ("weights/model.safetensors", ["float"], "model.safetensors is damaged, or no safetensors that can be read"),
        ("weights/tokenizer.json", ["float"], "tokenizer.json cannot be read as a tokenizer: "),
        ("weights/config.json", ["float"], "config.json cannot be used: "),
        ("report.json", ["weights"], "report.json is damaged: "),
        ("float/model.onnx", ["model/README.md"], "model.onnx"),
    ],
)
def test_a_damaged_result_is_named(out: Path, sources: Command, damaged: str, gone: list[str], message: str) -> None:
    without(out, *gone)
    content = (out / damaged).read_bytes()
    (out / damaged).write_bytes(content[: len(content) // 2])
    result = CliRunner().invoke(program, [*sources, "--out", str(out)])
    assert result.exit_code == 1
    assert str(out / damaged) in result.output
    assert message in result.output


def test_half_a_line_of_the_log_is_passed_over(out: Path, sources: Command) -> None:
    without(out, "weights")
    whole = (out / "log.jsonl").read_text(encoding="utf-8")
    (out / "log.jsonl").write_text(whole + '{"step": 1', encoding="utf-8")
    assert CliRunner().invoke(program, [*sources, "--out", str(out)]).exit_code == 0
    assert (out / "log.jsonl").read_text(encoding="utf-8") == whole


def test_files_take_their_places_when_all_are_written(tmp_path: Path) -> None:
    for name in ("a", "last", "other"):
        (tmp_path / name).write_text("old", encoding="utf-8")

    def write(*names: str, more: str = "") -> None:
        with written_whole(tmp_path, last="last") as fresh:
            for name in names:
                (fresh / name).write_text("new" + more, encoding="utf-8")
            if more:
                raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="could not be written: No space left on device"):
        write("a", more="er")
    assert [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())] == ["old", "old", "old"]
    write("a", "last")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "a": "new",
        "last": "new",
        "other": "old",
    }
