import math

import pytest

from tests.extras import need

pytestmark = pytest.mark.extra
torch = need("torch")

from minirag.training.contrasting import contrastive_loss, pair  # noqa: E402  it needs torch


def test_others_of_the_batch_are_negatives_unless_they_are_right_too() -> None:
    gold = [frozenset({"a", "b"}), frozenset({"b"})]
    pairing = pair(["q", "r"], ["a", "b"], [["c"], ["a", "d"]], gold)
    assert pairing.texts == ("a", "b", "c", "d")
    assert pairing.right == (0, 1)
    assert pairing.masked == ((1,), ())


def test_the_loss_is_the_cross_entropy_of_what_is_not_masked() -> None:
    pairing = pair(["q"], ["a"], [["b", "c"]], [frozenset({"a", "c"})])
    queries = torch.tensor([[1.0, 0.0]])
    texts = torch.tensor([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    right, wrong = math.exp(0.6 / 0.5), math.exp(0.8 / 0.5)
    assert float(contrastive_loss(queries, texts, pairing, temperature=0.5)) == pytest.approx(
        -math.log(right / (right + wrong)), abs=1e-6
    )
