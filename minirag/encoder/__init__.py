"""Texts to vectors: the ONNX bi-encoder that ships with minirag, another one of its form, or a hosted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirag.encoder.checking import encode_texts
from minirag.encoder.hosted_encoder import HostedEncoder
from minirag.encoder.loading import FILES, SHIPPED, EncoderConfig, import_onnxruntime, is_folder, read_config
from minirag.encoder.onnx_encoder import OnnxEncoder
from minirag.encoder.protocol import Encoder, Role, replace_surrogates
from minirag.encoder.query import Query
from minirag.records import Ledger

if TYPE_CHECKING:
    from minirag.llm import Price

__all__ = [
    "FILES",
    "SHIPPED",
    "Encoder",
    "EncoderConfig",
    "HostedEncoder",
    "OnnxEncoder",
    "Query",
    "Role",
    "aligner_of",
    "check_budget",
    "close_encoder",
    "describe_aligner",
    "describe_encoders",
    "encode_texts",
    "import_onnxruntime",
    "is_hosted",
    "open_encoder",
    "price_of",
    "read_config",
    "replace_surrogates",
]


def open_encoder(
    encoder: str | Path | Encoder | None, *, prices: Mapping[str, Sequence[float]] | None = None
) -> Encoder:
    """The encoder that a user means.

    Args:
        encoder: None for the one that ships with minirag, a folder with an ONNX encoder, the LiteLLM name of a hosted
            embedding model, or an encoder, which is given back. A string is a folder if there is one of that name, or
            if it begins as a path does (`.`, `~`, `/`, a drive).
        prices: Dollars per million tokens by the names of models, for a hosted one that is given by its name; as for
            `minirag.llm.LLM`.

    Raises:
        EncoderError: If the folder is not an encoder's.
        ValueError: If the name is blank.
    """
    if encoder is None:
        return OnnxEncoder()
    if isinstance(encoder, Path):
        return OnnxEncoder(encoder)
    if not isinstance(encoder, str):
        return encoder
    path = Path(encoder).expanduser()
    if encoder.strip() and (is_folder(path) or encoder.startswith((".", "~")) or path.is_absolute()):
        return OnnxEncoder(path)
    return HostedEncoder(encoder, prices=prices)


def aligner_of(encoder: Encoder) -> Encoder:
    """KiRAG's Aligner in an index with this encoder: what encodes triples, and the chains that they are compared with.

    It is the encoder itself, but beside a hosted model the one that ships with minirag.
    """
    return OnnxEncoder() if isinstance(encoder, HostedEncoder) else encoder


def describe_encoders(encoder: Encoder, given: str | Path | Encoder | None) -> dict[str, Any]:
    """What the header remembers of an index's encoder, as it was given, and of the aligner beside it."""
    source = str(given) if isinstance(given, str | Path) else None
    return {
        "encoder": {**describe_aligner(encoder), "source": source},
        "aligner": describe_aligner(aligner_of(encoder)),
    }


def describe_aligner(encoder: Encoder) -> dict[str, Any]:
    """What the header remembers of an index's aligner."""
    return {"name": encoder.name, "fingerprint": encoder.fingerprint, "dimensions": encoder.dimensions}


def check_budget(encoder: Encoder, ledger: Ledger) -> None:
    """See whether a run's budget can be kept with an encoder.

    Raises:
        InputError: If there is a budget, and the encoder's price is unknown.
    """
    if isinstance(encoder, HostedEncoder):
        encoder.check_budget(ledger)


def price_of(encoder: Encoder) -> Price | None:
    """Dollars per token that an encoder reads: 0 for one that runs here, None where a hosted one's is unknown."""
    from minirag.llm import Price

    return encoder.price if isinstance(encoder, HostedEncoder) else Price(0.0, 0.0, 0.0)


def is_hosted(encoder: Encoder) -> bool:
    """Whether each text that is encoded is sent to a provider."""
    return isinstance(encoder, HostedEncoder)


def close_encoder(encoder: Encoder) -> None:
    """Let go of the connections that it may have. Not to be called on minirag's own loop."""
    if isinstance(encoder, HostedEncoder):
        encoder.close()
