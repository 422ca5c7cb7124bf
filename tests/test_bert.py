"""The encoder in torch gives what its export gives."""

from pathlib import Path

import numpy as np
import pytest

from tests.extras import need

pytestmark = pytest.mark.extra
torch = need("torch")

from minirag.encoder import OnnxEncoder  # noqa: E402  what follows needs torch
from minirag.training.bert import BertEncoder  # noqa: E402
from minirag.training.export import export_encoder  # noqa: E402
from minirag.training.settings import TrainingSettings  # noqa: E402
from minirag.training.sources import read_bert, read_tokenizer  # noqa: E402
from minirag.training.states import States  # noqa: E402
from tests.tiny_bert import POSITIONS, WIDTH, WORDS, make_weights, write_source  # noqa: E402

TEXTS = ["w1", "w2 w3 w4", "", "w5 w6 w7 w8 w9 w10 w11 w12", " ".join(WORDS[4:30]), "unknown w1", "w1"]
SETTINGS = TrainingSettings("tiny", half=False, unit_tokens=POSITIONS, passage_tokens=6)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source"), make_weights())


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_torch_and_the_float_export_give_the_same_vectors(source: Path, tmp_path: Path, frozen: int) -> None:
    export_encoder(source, tmp_path, name="tiny", max_tokens=POSITIONS, floats=True)
    states = States(BertEncoder(*read_bert(source), frozen=frozen), read_tokenizer(source), SETTINGS)
    expected = OnnxEncoder(tmp_path, threads=1).encode(TEXTS)
    for _ in range(2):  # the second time from what was kept
        np.testing.assert_allclose(states.encode(TEXTS, "fact").numpy(), expected, atol=2e-6)


def test_long_texts_are_cut_as_the_export_cuts_them(source: Path, tmp_path: Path) -> None:
    export_encoder(source, tmp_path, name="tiny", max_tokens=6, floats=True)
    states = States(BertEncoder(*read_bert(source)), read_tokenizer(source), SETTINGS)
    expected = OnnxEncoder(tmp_path, threads=1).encode(TEXTS)
    np.testing.assert_allclose(states.encode(TEXTS, "passage").numpy(), expected, atol=2e-6)


def test_no_texts_give_no_vectors(source: Path) -> None:
    states = States(BertEncoder(*read_bert(source)), read_tokenizer(source), SETTINGS)
    assert states.encode([], None).shape == (0, WIDTH)


def test_only_the_layers_above_the_frozen_ones_are_trained(source: Path) -> None:
    model = BertEncoder(*read_bert(source), frozen=1)
    trained = {name for name, parameter in model.weights.items() if parameter.requires_grad}
    assert trained == {name for name in model.weights if name.startswith("encoder/layer/1/")}


def test_weights_go_in_and_come_out(source: Path) -> None:
    model = BertEncoder(*read_bert(source))
    weights = {name: value + 1 for name, value in model.arrays().items()}
    model.take(weights)
    for name, value in model.arrays().items():
        np.testing.assert_array_equal(value, weights[name])


def test_half_precision_stays_near(source: Path) -> None:
    exact = States(BertEncoder(*read_bert(source), frozen=1), read_tokenizer(source), SETTINGS)
    half = States(
        BertEncoder(*read_bert(source), frozen=1), read_tokenizer(source), TrainingSettings("tiny", half=True)
    )
    cosines = (exact.encode(TEXTS, "fact") * half.encode(TEXTS, "fact")).sum(1)
    assert float(cosines.min()) > 0.995
