"""What an encoder gives, looked at before anything is made of it: an own encoder may give anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minirag.encoder.protocol import Role
from minirag.ending import check_wanted
from minirag.errors import EncoderError
from minirag.wording import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.encoder.protocol import Encoder

_OFF_UNIT = 1e-5  # a length that is further off is brought to 1; sums in 32 bits are a tenth of that off


def encode_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    role: Role = "document",
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """Have texts encoded, and see that the vectors are some: what enters or searches an index comes through here.

    Args:
        encoder: Is not called for no texts.
        texts: See `Encoder.encode`, likewise the others.
        role: Of the texts.
        progress: Told of batches.

    Returns:
        `(len(texts), dimensions)`, of unit length also where the encoder's are of another.

    Raises:
        CancelledError: Between batches, on a thread of a run that was cancelled.
        EncoderError: If the encoder cannot be loaded or run; if its vectors are not as many as the texts, not of its
            `dimensions`, zero, or not finite.
    """
    if not texts:
        return np.empty((0, encoder.dimensions), dtype=np.float32)

    def tell(count: int) -> None:
        check_wanted()
        if progress is not None:
            progress(count)

    given = encoder.encode(texts, role=role, progress=tell)
    try:
        with np.errstate(over="ignore"):  # is told below
            vectors = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EncoderError(f"{encoder.name} gave no vectors, but {one_line(repr(given))[:80]}") from error
    expected = (len(texts), encoder.dimensions)
    if vectors.shape != expected:
        raise EncoderError(
            f"{encoder.name} gave an array of shape {vectors.shape} for {len(texts)} texts; {expected} was expected"
        )
    return at_unit_length(vectors, encoder.name)


def at_unit_length(vectors: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    """Vectors `(n, dim)` as they are, or at unit length where they are not.

    Raises:
        EncoderError: If one is zero or not finite.
    """
    squares = np.einsum("ij,ij->i", vectors, vectors)  # NaN and infinity stay what they are in a sum
    if not np.isfinite(squares).all() or not squares.all():
        wrong = np.flatnonzero(~np.isfinite(squares) | (squares == 0))
        found = "zero" if squares[wrong[0]] == 0 else "not finite (NaN, or too large)"
        raise EncoderError(f"{name} gave vectors that are {found}: {len(wrong)} of {len(vectors)}")
    if np.abs(squares - 1).max() <= 2 * _OFF_UNIT:
        return vectors
    return np.asarray(vectors / np.sqrt(squares)[:, None], dtype=np.float32)
