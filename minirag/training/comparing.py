"""How near an exported encoder is to its float export, how far its vectors depend on the batch, and how fast it is.

    python -m minirag.training.comparing FOLDER FLOAT_FOLDER CORPUS_JSON

CORPUS_JSON is a list of objects with `title` and `text`.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from minirag.encoder import OnnxEncoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_QUESTION = "Where was the director of the film Aylwin born?"
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found for one sample of texts.

    Attributes:
        tokens: Of a text, on average.
        nearness: Cosine of each text's vector to the reference's: mean and least.
        alone: Least cosine of a text's vector alone to the one in its batch.
        speed: Texts per second of CPU time on one thread, the best of three runs.
    """

    tokens: float
    nearness: tuple[float, float]
    alone: float
    speed: float


def compare(encoder: OnnxEncoder, reference: OnnxEncoder, texts: Sequence[str]) -> Comparison:
    """Encode the texts with both; each encoder should have one thread, as the CPU time of idle ones counts too."""
    vectors = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    nearness = _cosines(vectors, reference.encode(texts))
    return Comparison(
        tokens=statistics.fmean(len(each.ids) for each in encoder.tokenizer.encode_batch(list(texts))),
        nearness=(float(nearness.mean()), float(nearness.min())),
        alone=float(_cosines(vectors, alone).min()),
        speed=len(texts) / min(_time_encoding(encoder, texts) for _ in range(_REPEATS)),
    )


def read_samples(corpus: Path, *, sentences: int, passages: int, seed: int = 0) -> dict[str, list[str]]:
    """Random sentences of 60 to 200 characters, and random passages with their title, of a corpus."""
    entries = json.loads(corpus.read_text(encoding="utf-8"))
    split = [part for entry in entries for part in _SENTENCE_END.split(entry["text"]) if 60 <= len(part) <= 200]
    whole = [f"{entry['title']}. {entry['text']}" for entry in entries]
    chance = random.Random(seed)
    return {"sentences": chance.sample(split, sentences), "passages": chance.sample(whole, passages)}


def _time_encoding(encoder: OnnxEncoder, texts: Sequence[str]) -> float:
    began = time.process_time()
    encoder.encode(texts)
    return time.process_time() - began


def _cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of unit vectors, row by row."""
    return np.asarray((left * right).sum(axis=1), dtype=np.float32)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("reference", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FLOAT_FOLDER")
@click.argument("corpus", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="CORPUS_JSON")
@click.option("--sentences", default=256, show_default=True)
@click.option("--passages", default=64, show_default=True)
def main(folder: Path, reference: Path, corpus: Path, sentences: int, passages: int) -> None:
    """Compare the encoder in FOLDER with the one in FLOAT_FOLDER on texts of CORPUS_JSON."""
    encoder, floats = (OnnxEncoder(each, threads=1) for each in (folder, reference))
    for kind, texts in read_samples(corpus, sentences=sentences, passages=passages).items():
        found, other = compare(encoder, floats, texts), compare(floats, floats, texts)
        click.echo(f"{len(texts)} {kind} of {found.tokens:.0f} tokens:")
        click.echo(f"  cosine to the float encoder: mean {found.nearness[0]:.5f}, least {found.nearness[1]:.5f}")
        click.echo(f"  cosine of alone to batched: least {found.alone:.6f}")
        click.echo(f"  texts per CPU second: {found.speed:.0f}, float {other.speed:.0f}")
    for each in (encoder, floats):
        seconds = statistics.median(_time_encoding(each, [_QUESTION]) for _ in range(50))
        click.echo(f"one question: {1000 * seconds:.1f} ms of CPU ({each.config.weights})")


if __name__ == "__main__":
    main()
