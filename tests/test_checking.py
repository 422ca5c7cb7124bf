"""An index takes no vectors that are none, whoever gives them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from minirag import Document, Index
from minirag.encoder import OnnxEncoder, Role, encode_texts
from minirag.errors import EncoderError

ADA = Document("a", "Ada Brell was born in Ostwick.", "Ada")
OTTO = Document("b", "Otto lives in Karsund.", "Otto")
UNIT = np.float32(8**-0.5)


class OwnEncoder:
    """Gives what it is told to."""

    def __init__(self, give: Callable[[int], Any]) -> None:
        self.name, self.fingerprint = "own", "0123456789abcdef"
        self.dimensions, self.max_tokens = 8, 64
        self.give = give
        self.asked = 0

    @property
    def tokenizer(self) -> Tokenizer:
        return OnnxEncoder().tokenizer

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role = "document",  # noqa: ARG002
        progress: Callable[[int], None] | None = None,  # noqa: ARG002
    ) -> Any:  # noqa: ANN401
        self.asked += 1
        return self.give(len(texts))


def whole(count: int) -> Any:  # noqa: ANN401
    return np.eye(8, dtype=np.float32)[np.arange(count) % 8]


def one_is(value: float) -> Callable[[int], Any]:
    def give(count: int) -> Any:  # noqa: ANN401
        rows = whole(count)
        rows[-1] = value
        return rows

    return give


NO_VECTORS = [
    pytest.param(one_is(np.nan), "own gave vectors that are not finite", id="nan"),
    pytest.param(one_is(np.inf), "own gave vectors that are not finite", id="infinite"),
    pytest.param(lambda n: np.full((n, 8), 1e300), "own gave vectors that are not finite", id="too large"),
    pytest.param(one_is(0), "own gave vectors that are zero: 1 of", id="zero"),
    pytest.param(lambda _: whole(1)[:0], r"own gave an array of shape \(0, 8\) for", id="none"),
    pytest.param(lambda n: whole(n + 1), r"own gave an array of shape", id="too many"),
    pytest.param(lambda n: np.ones((n, 9)), r"own gave an array of shape \(\d+, 9\) for", id="too long"),
    pytest.param(lambda n: np.ones(n), r"own gave an array of shape \(\d+,\) for", id="flat"),
    pytest.param(lambda _: None, "own gave", id="nothing"),
    pytest.param(lambda _: [[1.0], [1.0, 2.0]], r"own gave no vectors, but \[\[1", id="ragged"),
    pytest.param(lambda n: [["x"] * 8] * n, r"own gave no vectors, but \[\['x'", id="texts"),
]


@pytest.mark.parametrize(("give", "message"), NO_VECTORS)
def test_nothing_is_committed_of_what_are_no_vectors(tmp_path: Path, give: Callable[[int], Any], message: str) -> None:
    path = tmp_path / "own.usearch"
    with Index(path, model="offline", encoder=OwnEncoder(whole)) as index:
        index.add(ADA, progress=False)
    before = path.read_bytes()
    with (
        Index(path, model="offline", encoder=OwnEncoder(give)) as index,
        pytest.raises(EncoderError, match=message),
    ):
        index.add([OTTO], progress=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("give", [one_is(np.nan), one_is(0), lambda _: whole(0)])
def test_a_question_without_a_vector_is_told(tmp_path: Path, give: Callable[[int], Any]) -> None:
    path = tmp_path / "own.usearch"
    with Index(path, model="offline", encoder=OwnEncoder(whole)) as index:
        index.add(ADA, progress=False)
    with Index(path, model="offline", encoder=OwnEncoder(give)) as index, pytest.raises(EncoderError, match="own gave"):
        index.search("Ada")


@pytest.mark.parametrize(
    "give",
    [
        lambda n: np.full((n, 8), UNIT),
        lambda n: np.full((n, 8), 8**-0.5),
        lambda n: np.full((n, 8), 7.0, np.float16),
        lambda n: [[8**-0.5] * 8] * n,
    ],
)
def test_vectors_of_any_length_and_type_become_unit_vectors(give: Callable[[int], Any]) -> None:
    vectors = encode_texts(OwnEncoder(give), ["Ada", "Otto"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, np.full((2, 8), UNIT), rtol=1e-6)


def test_unit_vectors_stay_as_they_are() -> None:
    vectors = OnnxEncoder().encode(["Ada", "Otto", ""])
    own = OwnEncoder(lambda _: vectors)
    own.dimensions = vectors.shape[1]
    assert encode_texts(own, ["Ada", "Otto", ""]) is vectors


def test_no_texts_ask_nobody() -> None:
    own = OwnEncoder(whole)
    assert encode_texts(own, []).shape == (0, 8)
    assert own.asked == 0
