"""Writes an encoder's folder (model.onnx, tokenizer.json, config.json) from a BertModel in safetensors.

    python -m minirag.training.export SAFETENSORS_FOLDER OUT_FOLDER [--float] [--name NAME]

Needs neither torch nor transformers: `pip install minirag[export]`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from minirag.encoder import FILES, replace_surrogates
from minirag.errors import InputError, OutputError
from minirag.training.calibrating import random_sequences, watch
from minirag.training.folders import written_whole
from minirag.training.graph import FloatForm, build_encoder
from minirag.training.quantising import Int8Form
from minirag.training.sources import POSITIONS, WORDS, read_bert, read_tokenizer
from minirag.wording import reason_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MAX_TOKENS = 256


def export_encoder(
    source: Path,
    target: Path,
    *,
    name: str,
    max_tokens: int = MAX_TOKENS,
    query_prefix: str = "",
    document_prefix: str = "",
    floats: bool = False,
    texts: Sequence[str] = (),
) -> None:
    """Write the folder that `minirag.encoder.OnnxEncoder` opens.

    Args:
        source: Holds model.safetensors with a BertModel's state, its config.json and tokenizer.json.
        target: Made if it is not there; its files of the same names are replaced once all are written.
        name: What the encoder calls itself.
        max_tokens: The longest input, special tokens included.
        query_prefix: Put before each question.
        document_prefix: Put before each text of a document.
        floats: Keep 32-bit floats instead of 8-bit integers.
        texts: Some hundred texts of the kind that the encoder is for: the weights are rounded so that the vectors of
            such texts change least. Random tokens serve where there are none.

    Raises:
        InputError: If the source is no such model, or max_tokens are more than it has positions for.
        OutputError: When the disk refuses.
        ValueError: If texts are a single one.
    """
    if isinstance(texts, str):
        raise ValueError("texts are several: give a list")
    weights, shape = read_bert(source)
    positions = len(weights[POSITIONS])
    if not 3 <= max_tokens <= positions:
        raise InputError(f"max_tokens is {max_tokens}, but {source} has {positions} positions. Give 3 to {positions}")
    tokenizer = read_tokenizer(source)
    form = FloatForm() if floats else Int8Form(watch(weights, shape, _sequences(texts, tokenizer, weights, max_tokens)))
    model = build_encoder(weights, shape, form)

    config: dict[str, Any] = {
        "name": name,
        "weights": "float32" if floats else "int8",
        "dimensions": shape.width,
        "max_tokens": max_tokens,
        "query_prefix": query_prefix,
        "document_prefix": document_prefix,
    }
    with written_whole(target, last="config.json") as fresh:
        (fresh / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        (fresh / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
        _write_config(fresh, config)
        _write_config(fresh, {**config, "fingerprint": take_fingerprint(fresh)})


def take_fingerprint(folder: Path) -> str:
    """What tells encoders apart: a hash over all that a vector depends on, which the name is not."""
    digest = hashlib.sha256()
    for name in FILES:
        content = (folder / name).read_bytes()
        if name == "config.json":
            values = {key: value for key, value in json.loads(content).items() if key not in ("name", "fingerprint")}
            content = json.dumps(values, sort_keys=True).encode()
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


def _sequences(
    texts: Sequence[str], tokenizer: Tokenizer, weights: Mapping[str, NDArray[np.float32]], max_tokens: int
) -> list[list[int]]:
    """Tokens of the texts, cut where the encoder will cut, or random ones."""
    ends = tokenizer.encode("").ids
    if texts:
        encoded = (
            encoding.ids for encoding in tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts])
        )
        return [ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]] for ids in encoded]
    words = len(weights[WORDS])
    return [*random_sequences(words, max_tokens, opening=ends[0], closing=ends[-1])]


def read_lines(path: Path) -> list[str]:
    """The lines of a file that hold something.

    Raises:
        InputError: If it cannot be read, or is not in UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # splitlines knows more ends than a file of lines has
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error
    return [line for line in lines if line.strip()]


def _write_config(folder: Path, config: dict[str, Any]) -> None:
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="SAFETENSORS_FOLDER")
@click.argument("target", type=click.Path(path_type=Path, file_okay=False), metavar="OUT_FOLDER")
@click.option("--float", "floats", is_flag=True, help="Keep 32-bit floats instead of 8-bit integers.")
@click.option(
    "--texts",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Some hundred texts, one a line, of the kind that the encoder is for: 8 bits change their vectors least. "
    "Random tokens by default.",
)
@click.option("--name", default=None, help="What the encoder calls itself; the target folder's name by default.")
@click.option("--max-tokens", default=MAX_TOKENS, show_default=True, help="The longest input.")
def main(source: Path, target: Path, floats: bool, texts: Path | None, name: str | None, max_tokens: int) -> None:
    """Write OUT_FOLDER with model.onnx, tokenizer.json and config.json."""
    try:
        lines = read_lines(texts) if texts and not floats else []
        export_encoder(source, target, name=name or target.name, max_tokens=max_tokens, floats=floats, texts=lines)
    except (InputError, OutputError) as error:
        raise click.ClickException(str(error)) from error
    size = sum((target / each).stat().st_size for each in FILES)
    click.echo(f"{target}: {size / 1e6:.1f} MB, fingerprint {take_fingerprint(target)}")


if __name__ == "__main__":
    main()
