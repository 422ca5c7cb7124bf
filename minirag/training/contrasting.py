"""The contrastive loss of a batch: every query against one right text, hard negatives, and the rest of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Pairing:
    """What a batch holds.

    Attributes:
        queries: One per example.
        texts: All texts of the batch, each once.
        right: For each query the number of its right text.
        masked: For each query the numbers of texts that are right as well, and so no negatives.
    """

    queries: tuple[str, ...]
    texts: tuple[str, ...]
    right: tuple[int, ...]
    masked: tuple[tuple[int, ...], ...]


def pair(
    queries: Sequence[str], targets: Sequence[str], negatives: Sequence[Sequence[str]], gold: Sequence[frozenset[str]]
) -> Pairing:
    """Join examples to a batch, in which each is a negative to the others where it is not right for them too.

    Args:
        queries: One per example.
        targets: The right text of each.
        negatives: The hard negatives of each.
        gold: All texts that are right for the question of each.
    """
    texts = tuple(dict.fromkeys([*targets, *(text for each in negatives for text in each)]))
    places = {text: number for number, text in enumerate(texts)}
    masked = tuple(
        tuple(places[text] for text in texts if text in right and text != target)
        for right, target in zip(gold, targets, strict=True)
    )
    return Pairing(tuple(queries), texts, tuple(places[target] for target in targets), masked)


def contrastive_loss(queries: Tensor, texts: Tensor, pairing: Pairing, *, temperature: float) -> Tensor:
    """InfoNCE: the mean over queries of -log softmax(cosine / temperature) at the right text.

    Args:
        queries: `(queries, dim)`, unit vectors.
        texts: `(texts, dim)`, likewise.
        pairing: Which belong together.
        temperature: Above 0.
    """
    logits = queries @ texts.T / temperature
    rows = [row for row, masked in enumerate(pairing.masked) for _ in masked]
    columns = [column for masked in pairing.masked for column in masked]
    hidden = torch.zeros_like(logits, dtype=torch.bool)
    hidden[rows, columns] = True
    return functional.cross_entropy(
        logits.masked_fill(hidden, float("-inf")), torch.tensor(pairing.right, device=logits.device)
    )
