"""Texts to vectors: the ONNX bi-encoder that ships with minirag, another one of its form, or a hosted model."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from minirag.errors import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

Role = Literal["document", "query"]

SHIPPED = Path(__file__).parent / "model"
FILES = ("config.json", "model.onnx", "tokenizer.json")

# Tokenised and sorted by length together: bounds memory, and is enough for batches without much padding.
WINDOW = 4096
# Bounds of one batch. What flows through 512 tokens stays in the cache: four times as many take half as long again.
BATCH_TEXTS = 64
BATCH_TOKENS = 512
# No text needs more characters than this to fill a token of the window; what lies beyond is not even tokenised.
CHARACTERS_PER_TOKEN = 100


class Encoder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Attributes:
        name: For people.
        fingerprint: Two encoders with the same one give the same vectors; files remember it.
        dimensions: Length of a vector.
        max_tokens: What lies beyond this many tokens of a text is not seen.
    """

    name: str
    fingerprint: str
    max_tokens: int

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts tokens as `max_tokens` means them; not to be changed."""
        ...

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Vectors of unit length, `(len(texts), dimensions)`, in the order of the texts.

        Args:
            texts: Of any length and script; may be empty, and so may each text.
            role: Some models read questions in another way than documents.
            progress: Called after each batch with the number of texts in it.

        Raises:
            EncoderError: If the model cannot be loaded or run.
        """
        ...


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What config.json of an encoder's folder says.

    Attributes:
        name: For people.
        fingerprint: Of the model, the tokenizer and this very configuration; the export computes it.
        dimensions: Length of a vector.
        max_tokens: The longest input, special tokens included.
        weights: "float32", or "int8", whose products onnxruntime has for the CPU only.
        query_prefix: Put before each question.
        document_prefix: Put before each text of a document.
    """

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    weights: str = "float32"
    query_prefix: str = ""
    document_prefix: str = ""


def read_config(folder: Path) -> EncoderConfig:
    """Read config.json of an encoder's folder.

    Raises:
        EncoderError: If one of the folder's three files is missing, or config.json is not what the export writes.
    """
    how = "An encoder is a folder with config.json, model.onnx and tokenizer.json as minirag.training.export writes it"
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise EncoderError(f"{folder} lacks {', '.join(missing)}. {how}")
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return EncoderConfig(
            name=str(values["name"]),
            fingerprint=str(values["fingerprint"]),
            dimensions=int(values["dimensions"]),
            max_tokens=int(values["max_tokens"]),
            weights=str(values.get("weights", "float32")),
            query_prefix=str(values.get("query_prefix", "")),
            document_prefix=str(values.get("document_prefix", "")),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(f"{folder / 'config.json'} cannot be used ({error!r}). {how}") from error


class OnnxEncoder:
    """A bi-encoder that onnxruntime runs. Opening reads config.json only; the model is loaded by the first `encode`.

    Safe to use from several threads; a forked child loads the model anew.

    Attributes:
        inference_seconds: Spent inside onnxruntime so far, over all threads.
    """

    def __init__(
        self, folder: Path | None = None, *, providers: Sequence[str] | None = None, threads: int | None = None
    ) -> None:
        """Read the folder's configuration.

        Args:
            folder: What `minirag.training.export` wrote; None is the encoder that ships with minirag.
            providers: onnxruntime's execution providers, first choice first; None is CUDA where onnxruntime offers
                it, then the CPU.
            threads: For one batch; None is one for each core.

        Raises:
            EncoderError: If the folder is not an encoder's.
            ValueError: If threads < 1.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}, it must be at least 1")
        self.folder = SHIPPED if folder is None else Path(folder)
        self.config = read_config(self.folder)
        self.name = self.config.name
        self.fingerprint = self.config.fingerprint
        self.dimensions = self.config.dimensions
        self.max_tokens = self.config.max_tokens
        self.inference_seconds = 0.0
        self._providers = None if providers is None else tuple(providers)
        self._threads = threads
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._session: InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer, neither truncating nor padding; not to be changed."""
        with self._own_lock():
            if self._tokenizer is None:
                self._tokenizer = _load_tokenizer(self.folder / "tokenizer.json")
            return self._tokenizer

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers in use; loads the model."""
        return tuple(self._open_session().get_providers())

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Vectors of unit length, `(len(texts), dimensions)`, in the order of the texts. See `Encoder.encode`.

        A text's vector is the same alone and in any batch, but for rounding (cosine above 0.9999).
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        prefix = self.config.query_prefix if role == "query" else self.config.document_prefix
        for start in range(0, len(texts), WINDOW):
            tokens = self._tokenise([prefix + text for text in texts[start : start + WINDOW]])
            for batch in make_batches([len(ids) for ids in tokens]):
                rows = [start + position for position in batch]
                vectors[rows] = self._run([tokens[position] for position in batch])
                if progress is not None:
                    progress(len(batch))
        return vectors

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the special ones, cut to `max_tokens` in a way that keeps the closing one."""
        limit = self.max_tokens * CHARACTERS_PER_TOKEN
        encodings = self.tokenizer.encode_batch_fast([_without_surrogates(text[:limit]) for text in texts])
        kept = self.max_tokens - 1
        return [ids if len(ids) <= kept + 1 else [*ids[:kept], ids[-1]] for ids in (each.ids for each in encodings)]

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """One call of the model, padded to the longest of the batch."""
        shape = (len(batch), max(len(ids) for ids in batch))
        inputs = {"input_ids": np.zeros(shape, dtype=np.int64), "attention_mask": np.zeros(shape, dtype=np.int64)}
        for row, ids in enumerate(batch):
            inputs["input_ids"][row, : len(ids)] = ids
            inputs["attention_mask"][row, : len(ids)] = 1
        session = self._open_session()
        began = time.perf_counter()
        try:
            (vectors,) = session.run(None, inputs)
        except Exception as error:  # onnxruntime's errors have no common ancestor
            raise EncoderError(f"{self.folder / 'model.onnx'} failed on a batch of shape {shape}: {error}") from error
        with self._own_lock():
            self.inference_seconds += time.perf_counter() - began
        return np.asarray(vectors, dtype=np.float32)

    def _open_session(self) -> InferenceSession:
        with self._own_lock():
            if self._session is None:
                self._session = _load_session(self.folder / "model.onnx", self._providers, self._threads)
            return self._session

    def _own_lock(self) -> threading.Lock:
        """The lock; in a forked child a fresh one, and nothing loaded, as threads and their locks are not copied."""
        if self._process != os.getpid():
            self._lock = threading.Lock()
            self._session = None
            self._process = os.getpid()
        return self._lock


def make_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of texts, shortest first, in groups of at most `BATCH_TEXTS` texts and `BATCH_TOKENS` padded tokens.

    A text longer than that makes a batch of its own. Texts of the same length keep their order.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == BATCH_TEXTS or (len(batch) + 1) * lengths[position] > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _without_surrogates(text: str) -> str:
    """The text as it is, or with lone surrogates, which are no characters, replaced by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _load_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise EncoderError(f"{path} is not a tokenizer that `tokenizers` can read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _load_session(path: Path, providers: Sequence[str] | None, threads: int | None) -> InferenceSession:
    """Load the model for the providers asked for, or for the best that work here.

    Raises:
        EncoderError: If onnxruntime does not have a provider that was asked for, or cannot load the model.
    """
    import onnxruntime

    offered = onnxruntime.get_available_providers()
    unknown = [name for name in providers or () if name not in offered]
    if unknown:
        raise EncoderError(f"onnxruntime does not offer {', '.join(unknown)} here, only {', '.join(offered)}")
    wanted = list(providers or (name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in offered))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.inter_op_num_threads = 1
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=wanted)
    except Exception as error:  # onnxruntime's errors have no common ancestor
        raise EncoderError(f"{path} cannot be loaded by onnxruntime: {error}") from error
    if session.get_providers()[0] != wanted[0]:
        warnings.warn(f"{wanted[0]} does not start here; encoding on {session.get_providers()[0]}", stacklevel=2)
    return session


def open_encoder(encoder: str | Path | Encoder | None) -> Encoder:
    """The encoder that a user means.

    Args:
        encoder: None for the one that ships with minirag, a folder with an ONNX encoder, the LiteLLM name of a hosted
            embedding model, or an encoder, which is given back.

    Raises:
        EncoderError: If the folder is not an encoder's.
    """
    if encoder is None:
        return OnnxEncoder()
    if isinstance(encoder, Path):
        return OnnxEncoder(encoder)
    if isinstance(encoder, str):
        path = Path(encoder).expanduser()
        if path.is_dir() or encoder.startswith((".", "~")) or path.is_absolute():
            return OnnxEncoder(path)
        raise EncoderError("hosted encoders are not there yet")
    return encoder
