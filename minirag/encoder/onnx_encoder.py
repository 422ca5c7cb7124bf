"""The ONNX bi-encoder: a folder's model, run by onnxruntime in batches of similar length."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minirag import telemetry
from minirag.encoder.loading import SHIPPED, keep_for_ever, load_session, load_tokenizer, read_config
from minirag.encoder.protocol import Role, replace_surrogates
from minirag.errors import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# Tokenised and sorted by length together: bounds memory, and is enough for batches without much padding.
WINDOW = 4096
# Bounds of one batch. What flows through 512 tokens stays in the cache; with 2048 passages take half as long again.
BATCH_TEXTS = 64
BATCH_TOKENS = 512
# What lies beyond this many characters for each token of the window is not even tokenised.
CHARACTERS_PER_TOKEN = 100


class OnnxEncoder:
    """A bi-encoder that onnxruntime runs. Opening reads config.json only; the model is loaded by the first `encode`.

    Safe to use from several threads; a forked child loads the model anew.

    Attributes:
        folder: Where it lies.
        config: What its config.json says.
        name: For people.
        fingerprint: Two encoders with the same one give the same vectors.
        dimensions: Length of a vector.
        max_tokens: What lies beyond this many tokens of a text is not seen.
        inference_seconds: Spent inside onnxruntime so far, summed over all threads.
    """

    def __init__(
        self, folder: Path | None = None, *, providers: Sequence[str] | None = None, threads: int | None = None
    ) -> None:
        """Read the folder's configuration.

        Args:
            folder: What `minirag.training.export` wrote; None is the encoder that ships with minirag.
            providers: onnxruntime's execution providers, first choice first. None is CUDA, where onnxruntime offers
                it and the weights are floats (products of int8 weights exist for the CPU only), then the CPU.
            threads: For one batch; None is one for each core, up to 8.

        Raises:
            EncoderError: If the folder is not an encoder's.
            ValueError: If threads < 1.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.folder = SHIPPED if folder is None else Path(folder)
        self.config = read_config(self.folder)
        self.name = self.config.name
        self.fingerprint = self.config.fingerprint
        self.dimensions = self.config.dimensions
        self.max_tokens = self.config.max_tokens
        self.inference_seconds = 0.0
        self._asked = None if providers is None else tuple(providers)
        self._threads = threads
        self._lock = threading.Lock()
        self._session: InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_start_anew, weakref.ref(self)))

    def __repr__(self) -> str:
        """Name and folder."""
        return f"OnnxEncoder({self.name!r}, {str(self.folder)!r})"

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer, neither truncating nor padding; not to be changed."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(self.folder)
            return self._tokenizer

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers in use; loads the model."""
        return tuple(self._open_session().get_providers())

    def encode(
        self, texts: Sequence[str], *, role: Role = "document", progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Vectors of unit length, `(len(texts), dimensions)`, in the order of the texts. See `Encoder.encode`.

        A text's vector is the same alone and in any batch, but for the rounding of float sums.
        """
        with telemetry.span("embeddings", self.name, {"gen_ai.embeddings.dimension.count": self.dimensions}):
            return self._encode(texts, role, progress)

    def _encode(self, texts: Sequence[str], role: Role, progress: Callable[[int], None] | None) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        prefix = self.config.query_prefix if role == "query" else self.config.document_prefix
        for start in range(0, len(texts), WINDOW):
            tokens = self._tokenise([prefix + text for text in texts[start : start + WINDOW]])
            for batch in make_batches([len(ids) for ids in tokens]):
                vectors[[start + position for position in batch]] = self._run([tokens[position] for position in batch])
                if progress is not None:
                    progress(len(batch))
        return vectors

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the special ones, cut to `max_tokens` so that the closing one stays."""
        limit = self.max_tokens * CHARACTERS_PER_TOKEN
        encodings = self.tokenizer.encode_batch_fast([replace_surrogates(text[:limit]) for text in texts])
        kept = self.max_tokens - 1
        return [ids if len(ids) <= kept + 1 else [*ids[:kept], ids[-1]] for ids in (each.ids for each in encodings)]

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """One call of the model, padded to the longest of the batch."""
        shape = (len(batch), max(len(ids) for ids in batch))
        tokens, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        session = self._open_session()
        began = time.perf_counter()
        try:
            (vectors,) = session.run(None, {"input_ids": tokens, "attention_mask": mask})
        except Exception as error:  # onnxruntime's errors have no common ancestor
            raise EncoderError(f"{self.folder / 'model.onnx'} failed on a batch of shape {shape}: {error}") from error
        with self._lock:
            self.inference_seconds += time.perf_counter() - began
        if vectors.shape != (len(batch), self.dimensions):
            raise EncoderError(f"{self.folder} gives {vectors.shape[1]} dimensions, but says {self.dimensions}")
        return np.asarray(vectors, dtype=np.float32)

    def _open_session(self) -> InferenceSession:
        with self._lock:
            if self._session is None:
                prefer_cuda = self.config.weights == "float32"
                self._session = load_session(
                    self.folder, providers=self._asked, threads=self._threads, prefer_cuda=prefer_cuda
                )
            return self._session

    def _start_anew(self) -> None:
        """What a forked child does: threads do not carry over, so neither does the session, nor who holds the lock."""
        if self._session is not None:
            keep_for_ever(self._session)
        self._session = None
        self._lock = threading.Lock()


def _start_anew(reference: weakref.ref[OnnxEncoder]) -> None:
    if (encoder := reference()) is not None:
        encoder._start_anew()


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
