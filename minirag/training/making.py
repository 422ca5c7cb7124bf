"""Where an encoder is made: a folder in which each step leaves its result for the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from minirag.errors import InputError
from minirag.output import write_text
from minirag.progress import Progress
from minirag.training.lessons import ChainedQuestion
from minirag.training.settings import TrainingSettings
from minirag.training.silver_files import read_questions
from minirag.training.sources import read_bert

if TYPE_CHECKING:
    from minirag.training.bert import BertEncoder

Stage = Literal["chains", "negatives", "train", "export", "evaluate"]
STAGES: tuple[Stage, ...] = ("chains", "negatives", "train", "export", "evaluate")
CHAINS, VECTORS, REPORT = "chains.jsonl", "vectors.npy", "report.json"
WEIGHTS, FLOAT, MODEL, TEXTS = "weights", "float", "model", "texts.txt"


@dataclass(frozen=True, slots=True)
class Making:
    """Where an encoder is made, and how.

    Attributes:
        folder: Gets everything that is made.
        settings: Of the training.
        name: The encoder's.
        progress: Bars or none.
    """

    folder: Path
    settings: TrainingSettings
    name: str
    progress: Progress


def has_result(making: Making, stage: Stage) -> bool:
    """Whether a step's result is there."""
    left = {
        "chains": CHAINS,
        "negatives": VECTORS,
        "train": f"{WEIGHTS}/model.safetensors",
        "export": f"{FLOAT}/config.json",
        "evaluate": f"{MODEL}/README.md",
    }
    return (making.folder / left[stage]).exists()


def questions_of(making: Making) -> tuple[list[ChainedQuestion], list[ChainedQuestion]]:
    """The questions to learn from, and those that only choose.

    Raises:
        InputError: If the chains are missing or damaged, or all questions only choose.
    """
    questions, share = read_questions(making.folder / CHAINS), making.settings.dev_share
    train, dev = split_dev(questions, share)
    if not train:
        raise InputError(
            f"dev_share={share:g} leaves none of {len(questions)} questions to learn from: they all only choose. "
            "Give a smaller share, or more questions"
        )
    return train, dev


def split_dev(
    questions: Sequence[ChainedQuestion], share: float
) -> tuple[list[ChainedQuestion], list[ChainedQuestion]]:
    """Questions to learn from, and those that only choose: by a hash of their texts.

    So a set may grow, and a question that is there twice is on one side.
    """
    train: list[ChainedQuestion] = []
    dev: list[ChainedQuestion] = []
    for question in questions:
        held = crc32(question.text.encode("utf-8", "surrogatepass")) / 2**32 < share
        (dev if held else train).append(question)
    return train, dev


def load_model(folder: Path, *, frozen: int) -> BertEncoder:
    """The model of a folder, on a GPU where there is one."""
    import torch

    from minirag.training.bert import BertEncoder

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: BertEncoder = BertEncoder(*read_bert(folder), frozen=frozen).to(device)
    return model


def report(making: Making, more: dict[str, Any]) -> dict[str, Any]:
    """Add to the report; gives all of it.

    Raises:
        InputError: If what is there is no report.
        OutputError: When the disk refuses.
    """
    path = making.folder / REPORT
    known = {**read_object(path), **more}
    write_text(path, json.dumps(known, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return known


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object, or none where there is no file.

    Raises:
        InputError: If the file holds something else.
    """
    try:
        found = json.loads(path.read_bytes()) if path.exists() else {}
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}. Delete it, and run the same command again") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged: it holds no JSON object. Delete it, and run the same command again")
    return found
