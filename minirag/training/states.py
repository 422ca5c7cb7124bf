"""Texts through the encoder while it is trained: in batches of similar length, the frozen layers' output kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from minirag.encoder import replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from minirag.records import Kind
    from minirag.training.bert import BertEncoder
    from minirag.training.settings import TrainingSettings

_BATCH_TOKENS = 3_000  # padded; more only costs memory on a CPU
_BATCH_TOKENS_CUDA = 60_000


class States:
    """Encodes texts, and remembers what the frozen layers gave for each: later visits cost only the layers above.

    Memory: 2 bytes (bfloat16) times width for each token of each distinct text, about 0.1 MB for a passage of 384
    dimensions. Without frozen layers nothing is kept but the tokens.
    """

    def __init__(self, model: BertEncoder, tokenizer: Tokenizer, settings: TrainingSettings) -> None:
        """Start empty.

        Args:
            model: Its frozen layers must not change any more.
            tokenizer: Neither truncating nor padding.
            settings: Give windows, prefixes and precision.
        """
        self._model, self._tokenizer, self._settings = model, tokenizer, settings
        self._device = next(model.parameters()).device
        self._tokens: dict[tuple[str, int], list[int]] = {}
        self._kept: dict[tuple[str, int], Tensor] = {}

    def encode(self, texts: Sequence[str], kind: Kind | None, *, learn: bool = False) -> Tensor:
        """Unit vectors `(len(texts), width)`.

        Args:
            texts: Distinct or not; what lies beyond the window of their kind is cut.
            kind: None for questions.
            learn: Keep what the backward pass needs.
        """
        if not texts:
            return torch.empty((0, self._model.shape.width), device=self._device)
        prefix = self._settings.query_prefix if kind is None else self._settings.document_prefix
        limit = self._settings.window(kind)
        keys = [(prefix + text, limit) for text in texts]
        self._tokenise(keys)
        if self._model.frozen:
            self._fill(keys)
        order: list[int] = []
        parts: list[Tensor] = []
        for chunk in self._chunks(keys):
            with torch.set_grad_enabled(learn), self._precision():
                parts.append(self._run([keys[place] for place in chunk]))
            order.extend(chunk)
        places = torch.empty(len(order), dtype=torch.long, device=self._device)
        places[torch.tensor(order, device=self._device)] = torch.arange(len(order), device=self._device)
        return torch.cat(parts)[places]

    def _run(self, keys: Sequence[tuple[str, int]]) -> Tensor:
        if not self._model.frozen:
            return self._model(*self._pad_tokens(keys))
        states = [self._kept[key] for key in keys]
        shape = (len(states), max(len(state) for state in states))
        hidden = torch.zeros((*shape, self._model.shape.width), dtype=states[0].dtype)
        mask = torch.zeros(shape, dtype=torch.bool)
        for row, state in enumerate(states):
            hidden[row, : len(state)] = state
            mask[row, : len(state)] = True
        return self._model.upper(hidden.to(self._device), mask.to(self._device))

    def _fill(self, keys: Sequence[tuple[str, int]]) -> None:
        """Run the frozen layers where that was not done yet."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._kept]
        for chunk in self._chunks(missing):
            batch = [missing[place] for place in chunk]
            with torch.no_grad(), self._precision():
                hidden = self._model.lower(*self._pad_tokens(batch))
            hidden = hidden.to("cpu", torch.bfloat16 if self._settings.half else torch.float32)
            for row, key in enumerate(batch):
                self._kept[key] = hidden[row, : len(self._tokens[key])].clone()

    def _pad_tokens(self, keys: Sequence[tuple[str, int]]) -> tuple[Tensor, Tensor]:
        tokens = [self._tokens[key] for key in keys]
        shape = (len(tokens), max(len(ids) for ids in tokens))
        padded, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.bool)
        for row, ids in enumerate(tokens):
            padded[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = True
        return padded.to(self._device), mask.to(self._device)

    def _tokenise(self, keys: Sequence[tuple[str, int]]) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self._tokens]
        encodings = self._tokenizer.encode_batch_fast([replace_surrogates(text) for text, _ in missing])
        for (text, limit), encoding in zip(missing, encodings, strict=True):
            ids = encoding.ids
            self._tokens[text, limit] = ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]

    def _chunks(self, keys: Sequence[tuple[str, int]]) -> Iterator[list[int]]:
        """Places of keys, the longest first, so many together that they have few tokens when padded."""
        budget = _BATCH_TOKENS if self._device.type == "cpu" else _BATCH_TOKENS_CUDA
        lengths = [len(self._tokens[key]) for key in keys]
        order = sorted(range(len(keys)), key=lambda place: (-lengths[place], place))
        start = 0
        while start < len(order):
            size = max(1, budget // lengths[order[start]])
            yield order[start : start + size]
            start += size

    def _precision(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._settings.half)
