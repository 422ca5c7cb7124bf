"""What another encoder changes: the same questions over copies of the same indexes, each with vectors of its own."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from minirag.encoder import OnnxEncoder
from minirag.evaluation.datasets import Dataset
from minirag.evaluation.results import write_runs
from minirag.evaluation.runs import evaluate
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.reembedding import reembed

STRATEGIES = ("naive", "indexrag", "kirag")
FOLDER = "encoders"  # inside that of the other runs
_UNFIT = re.compile(r"[^\w.-]+")


def measure_encoder(
    dataset: Dataset, index: Path, encoder: Path, folder: Path, *, limit: int | None = None, progress: bool = True
) -> None:
    """Retrieve with an encoder; nothing happens where its runs are there.

    Args:
        dataset: The questions.
        index: Of its corpus, with any encoder; stays as it is.
        encoder: The encoder's folder.
        folder: Gets the runs, in a folder of the encoder's name.
        limit: How many questions.
        progress: Show bars.
    """
    runs = folder / FOLDER / _UNFIT.sub("-", OnnxEncoder(encoder).name).strip("-")
    drawn = "" if limit is None else f"-{limit}q"
    files = {name: runs / f"{dataset.name}-{name}{drawn}.json" for name in STRATEGIES}
    missing = [name for name, file in files.items() if not file.exists()]
    if not missing:
        return
    runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=runs) as scratch:
        copy = Path(shutil.copyfile(index, Path(scratch) / index.name))
        reembed(copy, encoder, progress=progress)
        with Index(copy, mode="r", model=OFFLINE, encoder=encoder) as opened:
            for name in missing:
                run = evaluate(dataset, opened, strategy=name, limit=limit, read=False, progress=progress)
                write_runs([run], files[name])


def find_runs(folder: Path) -> Sequence[Path]:
    """The files of all encoders' runs in a folder."""
    return sorted((folder / FOLDER).glob("*/*.json"))
