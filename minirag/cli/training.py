"""`minirag train`: an encoder of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from minirag.cli.choices import Choice, Place
from minirag.cli.options import FILE, model_arguments, model_options, quiet_option, shows_bars
from minirag.cli.places import require_folder, require_readable
from minirag.cli.printing import echo_note
from minirag.cli.running import command
from minirag.loop import run
from minirag.models import Models
from minirag.progress import Progress
from minirag.records import Ledger
from minirag.storage.lock import only_writer
from minirag.telling import FailedError
from minirag.training.settings import PRESETS, TrainingSettings
from minirag.wording import did_you_mean

if TYPE_CHECKING:
    from minirag.training.making import Making, Stage
    from minirag.training.origins import Inputs

SETTINGS = tuple(field.name for field in fields(TrainingSettings) if field.name != "base")
_STAGES = ("chains", "negatives", "train", "export", "evaluate")  # as in minirag.training.making, which needs torch
_NEEDED = 'training needs torch and more: pip install "minirag[train]"'


@command(
    "train",
    epilog="\b\nExample:\n  minirag train hotpot_train.json musique_train.jsonl --out encoder\n"
    "  minirag index docs/ --index notes.usearch --encoder encoder/model\n\n\b\n"
    "Settings for --set:\n  " + "\n  ".join(wrap(", ".join(sorted(SETTINGS)), 70)),
)
@click.argument("files", nargs=-1, required=True, metavar="FILES...", type=FILE)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="FOLDER",
    type=Place(file_okay=False, path_type=Path),
    help="Gets chains, log, checkpoint, weights, and the encoder in FOLDER/model; a stopped training goes on there.",
)
@click.option("--preset", type=Choice(list(PRESETS)), default="small", show_default=True, help="Settings.")
@click.option("--base", help="A folder with a BertModel, or a name on the Hugging Face hub [the preset's].")
@click.option("--name", help="What the encoder calls itself [the folder's name].")
@click.option(
    "--stage", "stages", multiple=True, type=Choice(_STAGES), help="Only this step; may be given several times."
)
@click.option("--triples", metavar="FILE", type=FILE, help="JSON list of {title, text, triples} by another extractor.")
@click.option("--threads", type=click.IntRange(min=1), help="Of torch [one for each core].")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Another setting, as epochs=3; see below.")
@model_options
@quiet_option
def train(
    files: tuple[Path, ...],
    *,
    out: Path,
    preset: str,
    base: str | None,
    name: str | None,
    stages: tuple[Stage, ...],
    triples: Path | None,
    threads: int | None,
    given: tuple[str, ...],
    model: str | None,
    api_base: str | None,
    quiet: bool,
) -> None:
    """Train an encoder on question sets with gold passages.

    FILES are data sets as published: HotpotQA, 2WikiMultiHopQA, MuSiQue, or your own. Steps: find the silver chain of
    each question (chains), mine hard negatives, train, export, evaluate. A step whose result is there is not repeated
    unless --stage names it. With --model, facts, triples, and chains that the sets do not give are the model's.
    """
    for path in (*files, *([triples] if triples else [])):
        require_readable(path)
    try:
        import torch

        from minirag.training.making import Making
        from minirag.training.origins import Inputs
    except ImportError as error:
        raise FailedError(f"{_NEEDED} ({error})") from error
    if threads:
        torch.set_num_threads(threads)
    require_folder(out, "--out")
    settings = change(PRESETS[preset], [*given, *([f"base={base}"] if base else [])])  # type: ignore[index]  # click checked it
    making = Making(out, settings, name or out.name, Progress(shows_bars(quiet=quiet)))
    arguments = model_arguments(model, api_base)
    models = Models(arguments.pop("model"), arguments, arguments.pop("models", None))
    try:
        _run(making, Inputs(files, triples, models.name(None, task="extract")), stages, models)
    finally:
        models.close()
    if not quiet:
        click.echo(f"{out / 'model'}: open it with Index(..., encoder={str(out / 'model')!r})")


def _run(making: Making, inputs: Inputs, wanted: Sequence[Stage], models: Models) -> None:
    from minirag.training.bases import check_base
    from minirag.training.making import REPORT, STAGES
    from minirag.training.origins import Origins

    origins = Origins(making, inputs)
    origins.check(wanted)
    if {"negatives", "train", "evaluate"} & {*wanted} or not (wanted or all(map(origins.is_done, STAGES))):
        check_base(making.settings)
    making.folder.mkdir(parents=True, exist_ok=True)
    with only_writer(making.folder / REPORT, otherwise="or give another folder: --out"):
        for stage in STAGES:
            if stage in wanted if wanted else not origins.is_done(stage):
                _do(making, stage, inputs, models)
                origins.note(stage)


def _do(making: Making, stage: Stage, inputs: Inputs, models: Models) -> None:
    from minirag.training import finishing, stages
    from minirag.training.llm_triples import read_triples

    if stage == "chains":
        read = read_triples(inputs.triples) if inputs.triples else None
        reasoner = models.reasoner(None, Ledger())
        for failure in run(stages.make_chains(making, inputs.files, reasoner=reasoner, triples=read)):
            echo_note(f"left out: {failure.id}: {failure.reason}")
    elif stage == "negatives":
        stages.mine(making)
    elif stage == "train":
        stages.learn(making)
    elif stage == "export":
        finishing.export(making)
    else:
        for name, score in finishing.evaluate(making)["scores"].items():
            click.echo(f"{name}: {score}")


def change(settings: TrainingSettings, given: Sequence[str]) -> TrainingSettings:
    """Settings with others, each as "name=value".

    Raises:
        ValueError: On an unknown name, or a value that is none.
    """
    kinds = {field.name: field.type for field in fields(TrainingSettings)}
    changed: dict[str, Any] = {}
    for each in given:
        name, _, value = each.partition("=")
        if name not in kinds:
            near = did_you_mean(name, kinds)
            raise ValueError(f"there is no setting {name!r}; there are {', '.join(sorted(kinds))}.{near}")
        changed[name] = _parse(name, str(kinds[name]), value)
    return replace(settings, **changed)


def _parse(name: str, kind: str, value: str) -> Any:  # noqa: ANN401
    if kind == "bool":
        if value.casefold() not in ("true", "false"):
            raise ValueError(f"{name} is true or false, not {value!r}")
        return value.casefold() == "true"
    try:
        return {"int": int, "float": float, "str": str}[kind](value)
    except ValueError as error:
        raise ValueError(f"{name} is a number, not {value!r}") from error
