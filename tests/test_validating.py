"""How encoders are compared: none is best by giving all texts one vector, or none."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from minirag.records import Kind
from minirag.training.lessons import ChainedQuestion
from minirag.training.silver import ReadPassage, SilverStep
from minirag.training.validating import Validation

WORDS = ("who", "made", "aylwin", "ada", "bede", "cora", "dora", "edna", "fay", "gwen")


def passage(name: str, *, is_gold: bool = False) -> ReadPassage:
    return ReadPassage(f"made {name}", name, (f"{name} made it", f"{name} slept"), (), is_gold)


def validation() -> Validation:
    others = [passage(name) for name in WORDS[4:]]
    steps = (SilverStep(0, "ada made it", None),)
    question = ChainedQuestion("1", "set", "who made ada", (passage("ada", is_gold=True), *others), steps)
    return Validation([question])


def by_words(texts: Sequence[str], _: Kind | None) -> NDArray[np.float32]:
    rows = np.array([[word in text.split() for word in WORDS] for text in texts], dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_an_encoder_that_knows_the_words_finds_what_is_right() -> None:
    score = validation().score(by_words)
    assert score.mrr == {"fact": 1.0, "passage": 1.0}
    assert score.recall == {"set": 1.0}
    assert score.mean == 1.0


def test_one_vector_for_all_texts_is_worth_the_last_rank() -> None:
    def collapsed(texts: Sequence[str], _: Kind | None) -> NDArray[np.float32]:
        noise = np.random.default_rng(len(texts)).normal(0, 1e-8, (len(texts), 8))
        return np.asarray(8**-0.5 + noise, dtype=np.float32)

    score = validation().score(collapsed)
    assert score.mrr == {"fact": pytest.approx(1 / 14), "passage": pytest.approx(1 / 7)}
    assert score.recall == {"set": 0.0}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_find_nothing(value: float) -> None:
    score = validation().score(lambda texts, _: np.full((len(texts), 4), value, dtype=np.float32))
    assert score.mean == 0.0
    assert score.as_dict() == {"dev": 0.0, "mrr": {"fact": 0.0, "passage": 0.0}, "recall@5": {"set": 0.0}}


def test_one_wrong_text_without_a_vector_does_not_come_after_the_right_one() -> None:
    def partly(texts: Sequence[str], kind: Kind | None) -> NDArray[np.float32]:
        rows = by_words(texts, kind)
        rows[[text == "made bede" for text in texts]] = np.nan
        return rows

    assert validation().score(partly).mrr["passage"] == 0.5
