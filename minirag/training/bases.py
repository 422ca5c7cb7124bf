"""Where a training starts from, and where its weights go: folders in Hugging Face's form."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minirag.errors import InputError
from minirag.training.folders import written_whole
from minirag.training.sources import FILES, POSITIONS, WORDS, read_bert, read_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.training.settings import TrainingSettings

    Arrays = Mapping[str, NDArray[np.float32]]


def find_base(base: str) -> Path:
    """The folder of a base: itself, or what the Hugging Face hub has under that name, downloaded once.

    Raises:
        InputError: If it is neither.
    """
    folder = Path(base)
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(base, allow_patterns=list(FILES)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{base!r} is no folder here, and the Hugging Face hub does not give it: {reason}. "
            f"Give a folder with {', '.join(FILES)} as --base"
        ) from error


def check_base(settings: TrainingSettings) -> None:
    """See that a training's base is one, and that its settings fit it, before any work is done.

    Raises:
        InputError: If not.
    """
    folder = find_base(settings.base)
    weights, shape = read_bert(folder)
    positions = len(weights[POSITIONS])
    for name in ("query_tokens", "unit_tokens", "passage_tokens", "max_tokens"):
        if (tokens := getattr(settings, name)) > positions:
            raise InputError(f"{name} is {tokens}, but {folder} has {positions} positions. Give {positions} at most")
    if settings.frozen_layers >= shape.layers:
        raise InputError(
            f"frozen_layers is {settings.frozen_layers}, but {folder} has {shape.layers} layers: nothing would be left "
            f"to train. Give {shape.layers - 1} at most"
        )
    most = max(read_tokenizer(folder).get_vocab().values(), default=0)
    if most >= len(weights[WORDS]):
        raise InputError(
            f"{folder / 'tokenizer.json'} has a token {most}, but the weights beside it know {len(weights[WORDS])}: "
            "they are not of one model"
        )


def blend(base: Arrays, trained: Arrays, share: float) -> dict[str, NDArray[np.float32]]:
    """Weights between two models: base + share * (trained - base); what was never trained stays as it is.

    A share below 1 keeps more of what the base knows of other texts (WiSE-FT, arXiv 2109.01903, section 3).
    """
    return {
        name: np.asarray(value + share * (trained.get(name, value) - value), dtype=np.float32)
        for name, value in base.items()
    }


def write_weights(weights: Arrays, base: Path, folder: Path) -> None:
    """Write a folder like the base's, with other weights.

    Raises:
        OutputError: When the disk refuses.
    """
    from safetensors.numpy import save

    with written_whole(folder, last="model.safetensors") as fresh:
        for name in ("config.json", "tokenizer.json"):
            shutil.copyfile(base / name, fresh / name)
        content = save({name: np.ascontiguousarray(value) for name, value in weights.items()})
        (fresh / "model.safetensors").write_bytes(content)
