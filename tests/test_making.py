"""What a training leaves is there whole or not at all, and what is damaged all the same is named."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from minirag.cli import program
from minirag.errors import OutputError
from minirag.training.export import main as export_command
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


# --- other files, settings, bases ----------------------------------------------------------------------------------


def run(sources: Command, out: Path, *more: str) -> Result:
    return CliRunner().invoke(program, [*sources, "--out", str(out), *more])


def stages(*names: str) -> list[str]:
    return [part for name in names for part in ("--stage", name)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--set", "epochs=50"],
            "of the step 'train' with others than are given now: epochs 2.0, now 50.0. Give another",
        ),
        (["--set", "passage_tokens=30"], "of the step 'negatives' with others than are given now: passage_tokens 40,"),
        (["--set", "max_tokens=30"], "of the step 'export' with others than are given now: max_tokens 40, now 30"),
        (["--base", "no/such"], "of the step 'negatives' with others than are given now: base '"),
        (
            ["--model", "openai/any"],
            "of the step 'chains' with others than are given now: model 'offline', now 'openai/",
        ),
    ],
)
def test_a_finished_training_is_not_taken_for_another(
    out: Path, sources: Command, more: list[str], message: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    result = run(sources, out, *more)
    assert result.exit_code == 1
    assert message in result.output
    assert "Give another --out, or have it done again: --stage" in result.output
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_other_files_are_told_and_the_same_elsewhere_are_not(out: Path, sources: Command, tmp_path: Path) -> None:
    moved = tmp_path / "moved.json"
    moved.write_bytes(Path(sources[1]).read_bytes())
    assert run(["train", str(moved), *sources[2:]], out).exit_code == 0
    moved.write_bytes(moved.read_bytes().replace(b"silent film", b"talking film"))
    result = run(["train", str(moved), *sources[2:]], out)
    assert result.exit_code == 1
    assert "of the step 'chains' with others than are given now: files hotpot.json (" in result.output
    assert "now moved.json (" in result.output
    assert "or have it done again: --stage chains --stage negatives --stage train" in result.output
    assert run(["train", str(moved), *sources[2:]], out, *stages("export")).exit_code == 1


def test_changed_texts_are_not_taken_for_learnt(out: Path, sources: Command, tmp_path: Path) -> None:
    changed = tmp_path / "hotpot.json"
    changed.write_bytes(Path(sources[1]).read_bytes().replace(b"worked in film", b"worked in town"))
    other = ["train", str(changed), *sources[2:]]
    result = run(other, out, *stages("chains", "train"))
    assert result.exit_code == 1
    assert "the step 'negatives' must be done again, too, as one before it. Add --stage negatives" in result.output
    result = run(other, out, *stages("chains", "negatives", "train"))
    assert result.exit_code == 1
    assert "checkpoint.pt is of a training with other settings, questions or base" in result.output
    (out / "checkpoint.pt").unlink()
    assert run(other, out).exit_code == 0  # what was made of the old texts is made anew
    fresh = tmp_path / "fresh"
    assert run(other, fresh).exit_code == 0
    assert files_of(out).keys() == files_of(fresh).keys()
    for name in ("chains.jsonl", "vectors.npy", "weights/model.safetensors", "float/model.onnx", "model/model.onnx"):
        assert (out / name).read_bytes() == (fresh / name).read_bytes(), name


def test_a_step_before_that_is_of_other_chains_is_told(out: Path, sources: Command) -> None:
    assert run(sources, out, *stages("chains")).exit_code == 0
    result = run(sources, out, *stages("train"))
    assert result.exit_code == 1
    assert "the step 'negatives' must be done again, too" in result.output


def test_a_refused_step_leaves_a_finished_training_finished(out: Path, sources: Command) -> None:
    assert run(sources, out, *stages("train"), "--set", "temperature=0.1").exit_code == 1
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert run(sources, out).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_a_folder_of_an_older_minirag_is_finished(out: Path, sources: Command) -> None:
    (out / "stages.json").unlink()
    assert run(sources, out, "--set", "epochs=50").exit_code == 0
    assert not (out / "stages.json").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("max_tokens=1000", "max_tokens is 1000, but"),
        ("passage_tokens=41", "has 40 positions. Give 40 at most"),
        ("query_tokens=41", "query_tokens is 41, but"),
        ("unit_tokens=64", "unit_tokens is 64, but"),
        ("frozen_layers=2", "has 2 layers: nothing would be left to train. Give 1 at most"),
        ("frozen_layers=9", "frozen_layers is 9, but"),
    ],
)
def test_settings_that_do_not_fit_the_base_are_told_before_any_work(
    sources: Command, tmp_path: Path, given: str, message: str
) -> None:
    result = run(sources, tmp_path / "none", "--set", given)
    assert result.exit_code == 1
    assert message in result.output
    assert not (tmp_path / "none").exists()


def without_key(name: str) -> Callable[[Path], None]:
    def spoil(base: Path) -> None:
        config = json.loads((base / "config.json").read_text(encoding="utf-8"))
        (base / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != name}), encoding="utf-8")

    return spoil


def with_content(name: str, content: bytes) -> Callable[[Path], None]:
    def spoil(base: Path) -> None:
        (base / name).write_bytes(content)

    return spoil


def with_weights(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(base: Path) -> None:
        from safetensors.numpy import load_file, save_file

        weights = load_file(base / "model.safetensors")
        change(weights)
        save_file(weights, base / "model.safetensors")

    return spoil


WORDS = "bert.embeddings.word_embeddings.weight"
QUERY = "bert.encoder.layer.1.attention.self.query.weight"
BROKEN = [
    pytest.param(without_key("hidden_size"), "config.json lacks 'hidden_size'", id="no key"),
    pytest.param(with_content("config.json", b"{"), "config.json cannot be used: ", id="no JSON"),
    pytest.param(with_content("config.json", b"[]"), "config.json cannot be used: ", id="no object"),
    pytest.param(with_content("config.json", b"\xff{"), "config.json cannot be used: ", id="no text"),
    pytest.param(with_content("model.safetensors", b"half"), "model.safetensors is damaged", id="no weights"),
    pytest.param(with_content("tokenizer.json", b"{}"), "tokenizer.json cannot be read as a tokenizer", id="no tokens"),
    pytest.param(with_weights(lambda w: w.pop(QUERY)), f"lacks {QUERY.removeprefix('bert.')}", id="one missing"),
    pytest.param(with_weights(lambda w: w.clear()), "lacks embeddings.word_embeddings.weight", id="all missing"),
    pytest.param(with_weights(lambda w: w.update({QUERY: w[QUERY][:5]})), "of shape (5, 32), not (32, 32)", id="shape"),
    pytest.param(with_weights(lambda w: w[QUERY].fill(np.nan)), "holds NaN or infinity in encoder.layer.1", id="nan"),
]


@pytest.mark.parametrize(("spoil", "message"), BROKEN)
def test_a_broken_base_is_named(sources: Command, tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    base = shutil.copytree(sources[3], tmp_path / "base")
    spoil(base)
    trained = CliRunner().invoke(program, [*sources, "--base", str(base), "--out", str(tmp_path / "none")])
    exported = CliRunner().invoke(export_command, [str(base), str(tmp_path / "none"), "--max-tokens", "40"])
    for result in (trained, exported):
        assert result.exit_code == 1, result.output
        assert message in result.output.replace("\n", " ")
        assert str(base) in result.output
    assert not (tmp_path / "none").exists()


def test_a_tokenizer_of_another_model_is_told(sources: Command, tmp_path: Path) -> None:
    base = shutil.copytree(sources[3], tmp_path / "base")
    with_weights(lambda w: w.update({WORDS: w[WORDS][:9]}))(base)
    result = CliRunner().invoke(program, [*sources, "--base", str(base), "--out", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert "but the weights beside it know 9: they are not of one model" in result.output


def test_half_a_character_in_a_question_spoils_nothing(sources: Command, tmp_path: Path) -> None:
    given = json.loads(Path(sources[1]).read_text(encoding="utf-8"))
    given[0]["question"] += " \ud83d?"
    given[1]["context"][0][1][0] += " \ud83d."
    path = tmp_path / "half.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    result = run(["train", str(path), *sources[2:]], tmp_path / "out")
    assert result.exit_code == 0, result.output
