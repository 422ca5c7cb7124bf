"""The last steps of making an encoder: export, evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.encoder import OnnxEncoder, read_config, replace_surrogates
from minirag.errors import EncoderError, InputError
from minirag.output import write_text
from minirag.training.bases import find_base
from minirag.training.card import write_card
from minirag.training.export import export_encoder
from minirag.training.lessons import cut_chains
from minirag.training.making import FLOAT, MODEL, TEXTS, WEIGHTS, Making, has_result, load_model, questions_of, report
from minirag.training.sources import read_tokenizer
from minirag.training.validating import Validation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.records import Kind
    from minirag.training.validating import Encode

LEAST_PARITY = 0.9999
_PARITY = 64  # questions
# Lessons by whose texts the weights are rounded; with a third of them 1 - cosine to the floats is a sixteenth more.
_ROUNDED = 480


def export(making: Making) -> None:
    """Write the encoder twice: with 8-bit integers to `model`, with 32-bit floats (for GPUs) to `float`.

    The texts by which the weights are rounded are left beside them, a line each, for other exports to be like this one.

    Raises:
        InputError: If there are no weights yet, or no chains.
    """
    source = making.folder / WEIGHTS
    if not has_result(making, "train"):
        raise InputError(f"{source} is missing: it is what the step 'train' leaves. Run that step first")
    settings = making.settings
    texts = _typical_texts(making)
    write_text(making.folder / TEXTS, "".join(f"{text}\n" for text in texts))
    for name, floats in ((MODEL, False), (FLOAT, True)):
        with making.progress.stage(f"exporting {name}", 1) as count:
            export_encoder(
                source,
                making.folder / name,
                name=f"{making.name} ({'float32' if floats else 'int8'})",
                max_tokens=settings.max_tokens,
                query_prefix=settings.query_prefix,
                document_prefix=settings.document_prefix,
                floats=floats,
                texts=texts,
            )
            count(1)


def _typical_texts(making: Making) -> list[str]:
    """Questions, with and without a chain, and what they are to find, as the encoder meets them: one line each."""
    settings = making.settings
    train, _ = questions_of(making)
    lessons = cut_chains(train, seed=settings.seed)
    chosen = lessons[:: max(1, len(lessons) // _ROUNDED)][:_ROUNDED]
    texts = [settings.query_prefix + lesson.query for lesson in chosen]
    texts += [settings.document_prefix + lesson.target for lesson in chosen]
    return [replace_surrogates(" ".join(text.split())) for text in texts]


def evaluate(making: Making) -> dict[str, Any]:
    """Try base and exports on the dev questions, check the float export against torch, and write the model card.

    Returns:
        What the report holds now.

    Raises:
        InputError: If an export is missing, or its vectors are not torch's.
    """
    folder = making.folder
    train, dev = questions_of(making)
    base = find_base(making.settings.base)
    untrained = folder / "untrained"
    name, window = f"untrained {making.settings.base}", making.settings.max_tokens
    if not _is_encoder(untrained, name, window):
        export_encoder(base, untrained, name=name, max_tokens=window, floats=True)
    encoders = {"untrained": untrained, "float32": folder / FLOAT, "int8": folder / MODEL}
    validation = Validation(dev or train, seed=making.settings.seed)
    scores = {}
    with making.progress.stage("evaluating", len(encoders)) as count:
        for name, place in encoders.items():
            scores[name] = validation.score(_by_onnx(OnnxEncoder(place))).as_dict()
            count(1)
    parity = _parity(making, [question.text for question in (dev or train)[:_PARITY]])
    told = report(making, {"scores": scores, "parity": parity})
    write_card(folder, making.name, asdict(making.settings), told)
    return told


def _is_encoder(folder: Path, name: str, max_tokens: int) -> bool:
    """Whether a folder holds an encoder of that name and window already."""
    try:
        config = read_config(folder)
    except EncoderError:
        return False
    return (config.name, config.max_tokens) == (name, max_tokens)


def _by_onnx(encoder: OnnxEncoder) -> Encode:
    def encode(texts: Sequence[str], kind: Kind | None) -> NDArray[np.float32]:
        return encoder.encode(texts, role="query" if kind is None else "document")

    return encode


def _parity(making: Making, texts: Sequence[str]) -> float:
    """The least cosine between torch's vectors in 32 bits and the float export's.

    Raises:
        InputError: If it is below 0.9999, or no number.
    """
    from minirag.training.states import States

    settings = replace(making.settings, half=False, query_tokens=making.settings.max_tokens)
    weights = making.folder / WEIGHTS
    states = States(load_model(weights, frozen=0), read_tokenizer(weights), settings)
    here = states.encode(texts, None).cpu().numpy()
    there = OnnxEncoder(making.folder / FLOAT).encode(texts, role="query")
    least = float((here * there).sum(axis=1).min())
    if not least >= LEAST_PARITY:  # NaN is no parity either
        raise InputError(f"{making.folder / FLOAT} gives other vectors than torch: least cosine {least:.5f}")
    return round(least, 6)
