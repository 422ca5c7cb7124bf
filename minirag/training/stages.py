"""The first steps of making an encoder: chains, negatives, train."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from minirag.datasets import Example, read_examples
from minirag.errors import InputError, LLMReplyError
from minirag.models import OFFLINE
from minirag.output import write_whole
from minirag.records import Failure
from minirag.training.bases import blend, find_base, write_weights
from minirag.training.borrowing import Sourced, borrow_passages
from minirag.training.keeping import kept_replies
from minirag.training.lessons import ChainedQuestion, cut_chains
from minirag.training.making import CHAINS, VECTORS, WEIGHTS, Making, load_model, questions_of, report
from minirag.training.negatives import Candidates, texts_to_encode
from minirag.training.origins import digest
from minirag.training.passages import Triples, read_passages
from minirag.training.picking import pick_chain
from minirag.training.silver import build_chain, supports_of
from minirag.training.silver_files import write_questions
from minirag.training.sources import read_bert, read_tokenizer
from minirag.training.validating import Validation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.reasoner import Reasoner
    from minirag.storage.journal import Journal

SHARES = (1.0, 0.8, 0.6, 0.4)  # of the trained weights, tried on the dev questions
_SHARD = 1000


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
        LLMError: When the model cannot be called, or does not answer. What it answered is kept, and not asked again.
            Questions for which a reply cannot be used are left out.
    """
    given = [(path.stem, example) for path in files for example in read_examples(path)]
    examples = [*given, *borrow_passages(given)]
    path = making.folder / CHAINS
    with nullcontext() if reasoner.model == OFFLINE else kept_replies(path) as journal:
        questions, failed = await _find_chains(making, examples, reasoner, triples, journal)
        if not questions:
            raise InputError("none of the questions has a chain: the files name no triples, hops or gold passages")
        making.folder.mkdir(parents=True, exist_ok=True)
        write_questions(questions, path)
        if journal is not None:
            journal.settle(())
    report(making, {"sources": [each.name for each in files]})
    return failed


async def _find_chains(
    making: Making, examples: Sequence[Sourced], reasoner: Reasoner, triples: Triples | None, journal: Journal | None
) -> tuple[list[ChainedQuestion], list[Failure]]:
    """The questions that have chains, and why the others have none."""
    distinct = {(p.title, p.text) for _, example in examples for p in example.passages}
    with making.progress.stage("reading passages", len(distinct)) as count:
        read = await read_passages(
            [example for _, example in examples],
            reasoner=reasoner,
            triples=triples,
            journal=journal,
            progress=count,
        )
    questions: list[ChainedQuestion] = []
    failed: list[Failure] = []
    for (source, example), passages in zip(examples, read, strict=True):
        if isinstance(passages, LLMReplyError):
            failed.append(Failure(example.id, str(passages)))
            continue
        question = ChainedQuestion(example.id, source, example.question, passages, ())
        try:
            steps = await _find_steps(example, question, reasoner, journal)
        except LLMReplyError as error:
            failed.append(Failure(example.id, str(error)))
            continue
        if steps.steps:
            questions.append(steps)
        else:
            failed.append(Failure(example.id, "nothing says what supports its answer"))
    return questions, failed


async def _find_steps(
    example: Example, question: ChainedQuestion, reasoner: Reasoner, journal: Journal | None
) -> ChainedQuestion:
    is_said = example.triples or example.sub_questions or any(p.supporting_sentences for p in example.passages)
    if not is_said and reasoner.model != OFFLINE:
        return replace(question, steps=await pick_chain(example, question.passages, reasoner, journal=journal))
    return replace(question, steps=build_chain(supports_of(example, question.passages), question.passages))


def mine(making: Making) -> None:
    """Encode questions, passages and loose triples with the base, for the search of hard negatives.

    Raises:
        InputError: If the chains are missing, or there is no such base.
    """
    from minirag.training.states import States

    train, _ = questions_of(making)
    base = find_base(making.settings.base)
    states = States(load_model(base, frozen=0), read_tokenizer(base), making.settings)
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
    found = np.stack([rows[place] for place in range(len(texts))]).astype(np.float16)
    write_whole(making.folder / VECTORS, partial(_write_array, found))


def _write_array(array: NDArray[np.float16], file: IO[bytes]) -> None:
    content = BytesIO()  # numpy's own writing of a file passes over a full disk
    np.save(content, array)
    file.write(content.getbuffer())


def learn(making: Making) -> None:
    """Train, and write the weights that do best on the dev questions.

    Raises:
        InputError: If chains or vectors are missing, or a checkpoint is of another training.
    """
    from minirag.training.learning import Learning

    settings, folder = making.settings, making.folder
    train, dev = questions_of(making)
    base = find_base(settings.base)
    lessons = cut_chains(train, chain_queries=settings.chain_queries, stand_ins=settings.stand_ins, seed=settings.seed)
    if not lessons:
        raise InputError(f"{folder / CHAINS} gives nothing to learn: its questions have neither passages nor triples")
    candidates = Candidates(train, _read_vectors(folder / VECTORS, [text for text, _ in texts_to_encode(train)]))
    model = load_model(base, frozen=settings.frozen_layers)
    data = f"{digest(folder / CHAINS)} {digest(base / 'model.safetensors')}"
    learning = Learning(model, read_tokenizer(base), lessons, candidates, settings, folder=folder, data=data)
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
    report(making, {"shares": told, "share": best, "lessons": len(lessons), "questions": [len(train), len(dev)]})


def _read_vectors(path: Path, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    if not path.exists():
        raise InputError(f"{path} is missing: it is what the step 'negatives' leaves. Run that step first")
    try:
        rows = np.asarray(np.load(path), dtype=np.float32)
    except (ValueError, EOFError, OSError) as error:  # what numpy raises is not said
        raise InputError(f"{path} is damaged: {error}. Make it anew: --stage negatives") from error
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"{path} is damaged: it holds no vectors. Make it anew: --stage negatives")
    if len(rows) != len(texts):
        raise InputError(
            f"{path} has {len(rows)} vectors for {len(texts)} texts: it is of other chains. "
            "Make it anew: --stage negatives"
        )
    return dict(zip(texts, rows, strict=True))
