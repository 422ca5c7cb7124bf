"""The steps from question sets to an encoder's folder: chains, negatives, train, export, evaluate.

Each step leaves its result in the output folder, and is skipped when that is there; delete a file to have it made anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

import numpy as np

from minirag.datasets import Example, read_examples
from minirag.encoder import OnnxEncoder
from minirag.errors import InputError, LLMSetupError, MiniragError
from minirag.progress import Progress
from minirag.records import Failure
from minirag.training.bases import blend, find_base, write_weights
from minirag.training.card import write_card
from minirag.training.export import export_encoder, read_bert, read_tokenizer
from minirag.training.lessons import ChainedQuestion, cut_chains
from minirag.training.negatives import Candidates, texts_to_encode
from minirag.training.passages import Triples, read_passages
from minirag.training.picking import pick_chain
from minirag.training.settings import TrainingSettings
from minirag.training.silver import build_chain, supports_of
from minirag.training.silver_files import read_questions, write_questions
from minirag.training.validating import Validation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.reasoner import Reasoner
    from minirag.records import Kind
    from minirag.training.bert import BertEncoder

Stage = Literal["chains", "negatives", "train", "export", "evaluate"]
STAGES: tuple[Stage, ...] = ("chains", "negatives", "train", "export", "evaluate")
CHAINS, VECTORS, REPORT = "chains.jsonl", "vectors.npy", "report.json"
WEIGHTS, FLOAT, MODEL = "weights", "float", "model"
SHARES = (1.0, 0.8, 0.6, 0.4)  # of the trained weights, tried on the dev questions
LEAST_PARITY = 0.9999
_PARITY = 64  # questions
_SHARD = 1000


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


# --- chains --------------------------------------------------------------------------------------------------------


async def make_chains(
    making: Making, files: Sequence[Path], *, reasoner: Reasoner, triples: Triples | None = None
) -> list[Failure]:
    """Read question sets, extract from their passages, and find each question's silver chain.

    Args:
        making: Where.
        files: Of data sets, as published; see `minirag.datasets.read_examples`.
        reasoner: Extracts, and picks the chain where a set has only gold passages and it is a model.
        triples: Of passages, by title and text, that somebody else extracted.

    Returns:
        The questions without a chain, with the reason.

    Raises:
        InputError: If a file cannot be read, or no question has a chain.
        LLMSetupError: When the model cannot be called at all.
    """
    examples = [(path.stem, example) for path in files for example in read_examples(path)]
    distinct = {(p.title, p.text) for _, example in examples for p in example.passages}
    with making.progress.stage("reading passages", len(distinct)) as count:
        read = await read_passages(
            [example for _, example in examples], reasoner=reasoner, triples=triples, progress=count
        )
    questions: list[ChainedQuestion] = []
    failed: list[Failure] = []
    for (source, example), passages in zip(examples, read, strict=True):
        question = ChainedQuestion(example.id, source, example.question, passages, ())
        try:
            steps = await _find_steps(example, question, reasoner)
        except LLMSetupError:
            raise
        except MiniragError as error:
            failed.append(Failure(example.id, str(error)))
            continue
        if steps.steps:
            questions.append(steps)
        else:
            failed.append(Failure(example.id, "nothing says what supports its answer"))
    if not questions:
        raise InputError("none of the questions has a chain: the files name no triples, hops or gold passages")
    making.folder.mkdir(parents=True, exist_ok=True)
    write_questions(questions, making.folder / CHAINS)
    _report(making, {"sources": [path.name for path in files]})
    return failed


async def _find_steps(example: Example, question: ChainedQuestion, reasoner: Reasoner) -> ChainedQuestion:
    is_said = example.triples or example.sub_questions or any(p.supporting_sentences for p in example.passages)
    if not is_said and reasoner.model != "offline":
        return replace(question, steps=await pick_chain(example, question.passages, reasoner))
    return replace(question, steps=build_chain(supports_of(example, question.passages), question.passages))


def split_dev(
    questions: Sequence[ChainedQuestion], share: float
) -> tuple[list[ChainedQuestion], list[ChainedQuestion]]:
    """Questions to learn from, and those that only choose: by a hash of their ids, so that a set may grow."""
    train: list[ChainedQuestion] = []
    dev: list[ChainedQuestion] = []
    for question in questions:
        held = crc32(f"{question.source} {question.id}".encode()) / 2**32 < share
        (dev if held else train).append(question)
    return train, dev


# --- negatives, train ----------------------------------------------------------------------------------------------


def mine(making: Making) -> None:
    """Encode questions, passages and loose triples with the base, for the search of hard negatives.

    Raises:
        InputError: If the chains are missing, or there is no such base.
    """
    from minirag.training.states import States

    train, _ = _questions(making)
    base = find_base(making.settings.base)
    states = States(_model(base, frozen=0), read_tokenizer(base), making.settings)
    texts = texts_to_encode(train)
    rows: dict[int, NDArray[np.float32]] = {}
    with making.progress.stage("encoding", len(texts)) as count:
        for kind in dict.fromkeys(kind for _, kind in texts):
            places = [place for place, (_, own) in enumerate(texts) if own == kind]
            for start in range(0, len(places), _SHARD):
                shard = places[start : start + _SHARD]
                vectors = states.encode([texts[place][0] for place in shard], kind).cpu().numpy()
                rows.update(zip(shard, vectors, strict=True))
                count(len(shard))
    np.save(making.folder / VECTORS, np.stack([rows[place] for place in range(len(texts))]).astype(np.float16))


def learn(making: Making) -> None:
    """Train, and write the weights that do best on the dev questions.

    Raises:
        InputError: If chains or vectors are missing, or a checkpoint is of another training.
    """
    from minirag.training.learning import Learning

    settings, folder = making.settings, making.folder
    train, dev = _questions(making)
    base = find_base(settings.base)
    lessons = cut_chains(train, chain_queries=settings.chain_queries, seed=settings.seed)
    candidates = Candidates(train, _read_vectors(folder / VECTORS, [text for text, _ in texts_to_encode(train)]))
    model = _model(base, frozen=settings.frozen_layers)
    learning = Learning(model, read_tokenizer(base), lessons, candidates, settings, folder=folder)
    validation = Validation(dev, seed=settings.seed) if dev else None
    with making.progress.stage("training", learning.steps - learning.step) as count:
        learning.run(validation, progress=count)
    original, trained = read_bert(base)[0], model.arrays()
    scores = {}
    if validation is not None:
        for share in SHARES:
            model.take(blend(original, trained, share))
            scores[share] = validation.score(learning.encode)
    best = max(scores, key=lambda share: scores[share].mean, default=1.0)
    write_weights(blend(original, trained, best), base, folder / WEIGHTS)
    told = {str(share): score.as_dict() for share, score in scores.items()}
    _report(making, {"shares": told, "share": best, "lessons": len(lessons), "questions": [len(train), len(dev)]})


# --- export, evaluate ----------------------------------------------------------------------------------------------


def export(making: Making) -> None:
    """Write the encoder twice: with 8-bit integers to `model`, with 32-bit floats (for GPUs) to `float`.

    Raises:
        InputError: If there are no weights yet.
    """
    source = making.folder / WEIGHTS
    if not source.is_dir():
        raise InputError(f"{source} is missing: it is what the step 'train' leaves. Run that step first")
    settings = making.settings
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
            )
            count(1)


def evaluate(making: Making) -> dict[str, Any]:
    """Try base and exports on the dev questions, check the float export against torch, and write the model card.

    Returns:
        What the report holds now.

    Raises:
        InputError: If an export is missing, or its vectors are not torch's.
    """
    folder = making.folder
    train, dev = _questions(making)
    base = find_base(making.settings.base)
    untrained = folder / "untrained"
    if not (untrained / "model.onnx").exists():
        export_encoder(base, untrained, name="untrained", max_tokens=making.settings.max_tokens, floats=True)
    encoders = {"untrained": untrained, "float32": folder / FLOAT, "int8": folder / MODEL}
    validation = Validation(dev or train, seed=making.settings.seed)
    scores = {}
    with making.progress.stage("evaluating", len(encoders)) as count:
        for name, place in encoders.items():
            scores[name] = validation.score(_by_onnx(OnnxEncoder(place))).as_dict()
            count(1)
    parity = _parity(making, [question.text for question in (dev or train)[:_PARITY]])
    report = _report(making, {"scores": scores, "parity": parity})
    write_card(folder, making.name, asdict(making.settings), report)
    return report


def _by_onnx(encoder: OnnxEncoder) -> Any:  # noqa: ANN401  an Encode
    def encode(texts: Sequence[str], kind: Kind | None) -> NDArray[np.float32]:
        return encoder.encode(texts, role="query" if kind is None else "document")

    return encode


def _parity(making: Making, texts: Sequence[str]) -> float:
    """The least cosine between torch's vectors in 32 bits and the float export's.

    Raises:
        InputError: If it is below 0.9999.
    """
    from minirag.training.states import States

    settings = replace(making.settings, half=False, query_tokens=making.settings.max_tokens)
    weights = making.folder / WEIGHTS
    states = States(_model(weights, frozen=0), read_tokenizer(weights), settings)
    here = states.encode(texts, None).cpu().numpy()
    there = OnnxEncoder(making.folder / FLOAT).encode(texts, role="query")
    least = float((here * there).sum(axis=1).min())
    if least < LEAST_PARITY:
        raise InputError(f"{making.folder / FLOAT} gives other vectors than torch: least cosine {least:.5f}")
    return round(least, 6)


def is_done(making: Making, stage: Stage) -> bool:
    """Whether a step's result is there."""
    left = {
        "chains": CHAINS,
        "negatives": VECTORS,
        "train": f"{WEIGHTS}/model.safetensors",
        "export": f"{FLOAT}/config.json",
        "evaluate": f"{MODEL}/README.md",
    }
    return (making.folder / left[stage]).exists()


# --- what the steps share ------------------------------------------------------------------------------------------


def _questions(making: Making) -> tuple[list[ChainedQuestion], list[ChainedQuestion]]:
    return split_dev(read_questions(making.folder / CHAINS), making.settings.dev_share)


def _model(folder: Path, *, frozen: int) -> BertEncoder:
    import torch

    from minirag.training.bert import BertEncoder

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: BertEncoder = BertEncoder(*read_bert(folder), frozen=frozen).to(device)
    return model


def _read_vectors(path: Path, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    if not path.exists():
        raise InputError(f"{path} is missing: it is what the step 'negatives' leaves. Run that step first")
    rows = np.load(path).astype(np.float32)
    if len(rows) != len(texts):
        raise InputError(f"{path} has {len(rows)} vectors for {len(texts)} texts: it is of other chains. Delete it")
    return dict(zip(texts, rows, strict=True))


def _report(making: Making, more: dict[str, Any]) -> dict[str, Any]:
    """Add to the report."""
    path = making.folder / REPORT
    report = {**(json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}), **more}
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return report
