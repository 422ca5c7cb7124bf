"""`minirag train` from question files to an encoder that an index opens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from minirag import Index
from minirag.cli import program
from minirag.encoder import OnnxEncoder
from minirag.training.export import export_encoder, read_lines
from tests.extras import need
from tests.tiny_questions import questions, write_base, write_questions

pytestmark = pytest.mark.extra
need("torch")
load_file = need("safetensors.numpy").load_file

SETTINGS = {
    "epochs": "6",
    "batch": "8",
    "learning_rate": "0.01",
    "frozen_layers": "1",
    "dev_share": "0.3",
    "max_tokens": "40",
    "passage_tokens": "40",
    "query_tokens": "40",
    "unit_tokens": "40",
}


def arguments(files: Path, base: Path, out: Path, **changed: str) -> list[str]:
    given = [part for name, value in {**SETTINGS, **changed}.items() for part in ("--set", f"{name}={value}")]
    return ["train", str(files), "--base", str(base), "--out", str(out), "--threads", "1", *given]


def train(files: Path, base: Path, out: Path, *more: str, **changed: str) -> Result:
    return CliRunner().invoke(program, [*arguments(files, base, out, **changed), *more], catch_exceptions=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_questions(tmp_path_factory.mktemp("questions"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def made(files: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "films"
    result = train(files, base, out)
    assert result.exit_code == 0, result.output
    return out


def log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def test_it_learns(made: Path) -> None:
    losses = [entry["loss"] for entry in log(made) if "loss" in entry]
    assert np.mean(losses[-3:]) < 0.5 * np.mean(losses[:3])


def test_an_epoch_has_only_so_many_lessons_of_a_kind(made: Path, base: Path, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "few"
    out.mkdir()
    for name in ("chains.jsonl", "vectors.npy"):
        shutil.copyfile(made / name, out / name)
    few = {"passages": "8", "facts": "12", "batch": "4", "epochs": "1"}  # of triples there are none
    assert train(files, base, out, "--stage", "train", **few).exit_code == 0
    assert max(entry["step"] for entry in log(out)) == (8 + 12) / 4


def test_the_best_checkpoint_and_share_are_kept(made: Path) -> None:
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    by_share = {share: score["dev"] for share, score in report["shares"].items()}
    assert by_share[str(report["share"])] == max(by_share.values())
    best = max(entry["dev"] for entry in log(made) if entry.get("dev") and entry["step"])
    assert by_share["1.0"] == pytest.approx(best, abs=2e-4)
    assert report["scores"]["float32"]["dev"] == pytest.approx(max(by_share.values()), abs=0.03)


def test_an_index_opens_what_was_made(made: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "films.usearch", encoder=made / "model", model="offline") as index:
        index.add([{"id": str(n), "text": "".join(text), "title": title} for n, (title, text) in enumerate(passages())])
        assert index.search("Where was the director of the film Comet born?", k=1)


def passages() -> list[tuple[str, list[str]]]:
    found = {title: text for entry in questions() for title, text in entry["context"]}
    return list(found.items())


def test_the_report_and_the_card_say_what_was_done(made: Path) -> None:
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    assert sum(report["questions"]) == 12
    assert report["sources"] == ["hotpot.json"]
    assert report["parity"] >= 0.9999
    assert list(report["scores"]) == ["untrained", "float32", "int8"]
    card = (made / "model" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# films\n")
    assert "learning_rate = 0.01" in card
    assert f"| mean | {report['scores']['untrained']['dev']:.3f} |" in card


def test_floats_and_integers_are_the_same_encoder(made: Path) -> None:
    texts = [entry["question"] for entry in questions()]
    floats, integers = (OnnxEncoder(made / name, threads=1).encode(texts) for name in ("float", "model"))
    assert float((floats * integers).sum(axis=1).min()) > 0.98


def test_other_exports_can_be_rounded_by_the_same_texts(made: Path, tmp_path: Path) -> None:
    texts = read_lines(made / "texts.txt")
    assert {entry["question"] for entry in questions()} & {*texts}
    export_encoder(made / "weights", tmp_path, name="again", max_tokens=int(SETTINGS["max_tokens"]), texts=texts)
    assert OnnxEncoder(tmp_path).fingerprint == OnnxEncoder(made / "model").fingerprint


def test_done_steps_are_not_repeated(made: Path, files: Path, base: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*") if path.is_file()}
    assert train(files, base, made).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*") if path.is_file()} == before


def test_a_killed_training_goes_on_and_ends_the_same(made: Path, files: Path, base: Path, tmp_path: Path) -> None:
    out = tmp_path / "films"
    process = subprocess.Popen([sys.executable, "-m", "minirag", *arguments(files, base, out)])
    deadline = time.monotonic() + 120
    while not (out / "checkpoint.pt").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (out / "checkpoint.pt").exists()
    assert train(files, base, out).exit_code == 0
    ours, theirs = (load_file(folder / "weights" / "model.safetensors") for folder in (out, made))
    for name, value in theirs.items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)
    untimed = [{key: value for key, value in entry.items() if key != "seconds"} for entry in log(out)]
    assert untimed == [{key: value for key, value in entry.items() if key != "seconds"} for entry in log(made)]


def test_a_folder_that_somebody_trains_in_is_left_alone(files: Path, base: Path, tmp_path: Path) -> None:
    out = tmp_path / "films"
    process = subprocess.Popen([sys.executable, "-m", "minirag", *arguments(files, base, out)])
    deadline = time.monotonic() + 120
    while not (out / "chains.jsonl").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    second = train(files, base, out)
    assert process.wait() == 0
    assert second.exit_code == 1
    assert f"process {process.pid} is writing its results there" in second.output
    assert "give another folder: --out" in " ".join(second.output.split())
    assert not list(out.glob("*.lock"))
    assert train(files, base, out).exit_code == 0


def test_a_checkpoint_of_other_settings_is_refused(made: Path, files: Path, base: Path) -> None:
    result = train(files, base, made, "--stage", "train", temperature="0.1")
    assert result.exit_code == 1
    assert "checkpoint.pt is of a training with other settings, questions or base" in result.output


@pytest.mark.parametrize("changed", [{"learning_rate": "1e30"}, {"temperature": "1e-44"}])
def test_a_training_that_diverges_ends_and_says_what_to_change(
    files: Path, base: Path, tmp_path: Path, changed: dict[str, str]
) -> None:
    out = tmp_path / "diverging"
    result = train(files, base, out, **changed)
    assert result.exit_code == 1
    step = max([0, *(int(entry["step"]) for entry in log(out))]) + 1
    assert f"the training diverged at step {step} of" in result.output
    assert "Train again with a lower learning_rate" in result.output
    assert not (out / "weights").exists()
    assert "NaN" not in (out / "log.jsonl").read_text(encoding="utf-8")


def test_a_share_that_leaves_nothing_to_learn_from_is_named(files: Path, base: Path, tmp_path: Path) -> None:
    result = train(files, base, tmp_path / "none", dev_share="0.9999")
    assert result.exit_code == 1
    assert "dev_share=0.9999 leaves none of 12 questions to learn from" in result.output


def test_a_step_without_what_it_needs_names_the_step_before(files: Path, base: Path, tmp_path: Path) -> None:
    result = train(files, base, tmp_path / "new", "--stage", "export")
    assert result.exit_code == 1
    assert "weights is missing: it is what the step 'train' leaves. Run that step first" in result.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("lr=1", "there is no setting 'lr'; there are base, batch, chain_queries"),
        ("epochs=many", "epochs is a number, not 'many'"),
        ("half=perhaps", "half is true or false, not 'perhaps'"),
        ("batch=0", "batch must be above 0, not 0"),
        ("frozen_layers=-1", "frozen_layers must be at least 0, not -1"),
        ("unit_tokens=2", "unit_tokens must be at least 3, not 2"),
        ("warmup=1", "warmup must be at least 0 and below 1, not 1"),
        ("temperature=nan", "temperature must be a finite number, not nan"),
        ("weight_decay=nan", "weight_decay must be a finite number, not nan"),
        ("learning_rate=inf", "learning_rate must be a finite number, not inf"),
        ("epochs=inf", "epochs must be a finite number, not inf"),
        ("dev_share=nan", "dev_share must be a finite number, not nan"),
    ],
)
def test_wrong_settings_are_named(files: Path, tmp_path: Path, given: str, message: str) -> None:
    result = CliRunner().invoke(program, ["train", str(files), "--out", str(tmp_path), "--set", given])
    assert result.exit_code == 2
    assert message in result.output


def test_a_base_that_is_nowhere_is_named(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    result = CliRunner().invoke(program, ["train", str(files), "--out", str(tmp_path / "o"), "--base", "no/such"])
    assert result.exit_code == 1
    assert "'no/such' is no folder here, and the Hugging Face hub does not give it" in result.output


def test_questions_that_say_nothing_cannot_be_learnt_from(base: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"question": "Why?", "answers": ["so"]}\n', encoding="utf-8")
    result = train(path, base, tmp_path / "out")
    assert result.exit_code == 1
    assert "none of the questions has a chain" in result.output
