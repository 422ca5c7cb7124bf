import json
from math import erf
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from tokenizers import Tokenizer

from minirag.encoder import OnnxEncoder
from minirag.errors import InputError
from minirag.training.comparing import compare, read_samples
from minirag.training.export import export_encoder, main, read_lines, take_fingerprint
from tests.tiny_bert import EPSILON, HEADS, LAYERS, POSITIONS, WIDTH, WORDS, Weights, make_weights, write_source

TEXTS = ["w1", "w2 w3 w4", "", "w5 w6 w7 w8 w9 w10 w11 w12", " ".join(WORDS[4:30]), "unknown w1"]


@pytest.fixture(scope="module")
def weights() -> Weights:
    return make_weights()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Path:
    return write_source(tmp_path_factory.mktemp("source"), weights)


@pytest.fixture(scope="module")
def floats(source: Path, tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    folder = tmp_path_factory.mktemp("floats")
    export_encoder(source, folder, name="tiny", max_tokens=POSITIONS, floats=True)
    return OnnxEncoder(folder, threads=1)


@pytest.fixture(scope="module")
def integers(source: Path, tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    folder = tmp_path_factory.mktemp("integers")
    export_encoder(source, folder, name="tiny", max_tokens=POSITIONS)
    return OnnxEncoder(folder, threads=1)


def normalise(weights: Weights, norm: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = values - values.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return np.asarray(scaled * weights[f"{norm}.weight"] + weights[f"{norm}.bias"])


def gelu(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(values * 0.5 * (1 + np.vectorize(erf)(values / np.sqrt(2))))


def forward(weights: Weights, ids: list[int]) -> NDArray[np.float64]:
    """The model as it is written down, of one text, in double precision."""

    def dense(site: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values @ weights[f"{site}.weight"].T.astype(np.float64) + weights[f"{site}.bias"]

    hidden = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = normalise(weights, "embeddings.LayerNorm", hidden)
    for layer in range(LAYERS):
        site = f"encoder.layer.{layer}"
        queries, keys, values = (
            dense(f"{site}.attention.self.{part}", hidden).reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(queries @ keys.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS))
        attended = (scores / scores.sum(axis=-1, keepdims=True) @ values).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        norm = f"{site}.attention.output"
        hidden = normalise(weights, f"{norm}.LayerNorm", hidden + dense(f"{norm}.dense", attended))
        inner = gelu(dense(f"{site}.intermediate.dense", hidden))
        hidden = normalise(weights, f"{site}.output.LayerNorm", hidden + dense(f"{site}.output.dense", inner))
    mean = hidden.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_float_graph_is_the_model(floats: OnnxEncoder, weights: Weights) -> None:
    expected = [forward(weights, floats.tokenizer.encode(text).ids) for text in TEXTS]
    assert np.abs(floats.encode(TEXTS) - np.array(expected)).max() < 1e-5


def test_int8_graph_is_near_the_model(floats: OnnxEncoder, integers: OnnxEncoder) -> None:
    assert (floats.encode(TEXTS) * integers.encode(TEXTS)).sum(axis=1).min() > 0.998


def test_large_channels_do_not_spoil_int8(floats: OnnxEncoder, integers: OnnxEncoder) -> None:
    """Without the channel scales these weights come to 0.9987 on average."""
    texts = [" ".join(np.random.default_rng(seed).choice(WORDS[4:], 12)) for seed in range(50)]
    assert (floats.encode(texts) * integers.encode(texts)).sum(axis=1).mean() > 0.999


def test_texts_are_cut_where_the_encoder_cuts(source: Path, tmp_path: Path) -> None:
    texts = [" ".join(WORDS[4:30]), "w1"]
    export_encoder(source, tmp_path / "long", name="tiny", max_tokens=6, texts=texts)
    export_encoder(source, tmp_path / "cut", name="tiny", max_tokens=6, texts=[" ".join(WORDS[4:8]), "w1"])
    assert OnnxEncoder(tmp_path / "long").fingerprint == OnnxEncoder(tmp_path / "cut").fingerprint


def test_int8_vectors_do_not_depend_on_the_batch(integers: OnnxEncoder) -> None:
    together = integers.encode(TEXTS)
    alone = np.concatenate([integers.encode([text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-5


def test_folder_says_what_it_holds(integers: OnnxEncoder, floats: OnnxEncoder) -> None:
    assert (integers.name, integers.dimensions, integers.max_tokens) == ("tiny", WIDTH, POSITIONS)
    assert (integers.config.weights, floats.config.weights) == ("int8", "float32")
    assert integers.fingerprint == take_fingerprint(integers.folder)
    assert integers.fingerprint != floats.fingerprint
    stored = Tokenizer.from_file(str(integers.folder / "tokenizer.json"))
    assert (stored.padding, stored.truncation) == (None, None)


def test_export_repeats_itself(source: Path, integers: OnnxEncoder, tmp_path: Path) -> None:
    export_encoder(source, tmp_path, name="of another name", max_tokens=POSITIONS)
    assert (tmp_path / "model.onnx").read_bytes() == (integers.folder / "model.onnx").read_bytes()
    assert OnnxEncoder(tmp_path).fingerprint == integers.fingerprint


def test_fingerprint_covers_prefixes(source: Path, integers: OnnxEncoder, tmp_path: Path) -> None:
    export_encoder(source, tmp_path, name="tiny", max_tokens=POSITIONS, query_prefix="w1 ")
    encoder = OnnxEncoder(tmp_path)
    assert encoder.fingerprint != integers.fingerprint
    assert np.array_equal(encoder.encode(["w2"], role="query"), integers.encode(["w1 w2"]))
    assert np.array_equal(encoder.encode(["w2"]), integers.encode(["w2"]))


def test_axes_are_dynamic_and_the_output_has_a_safe_name(integers: OnnxEncoder) -> None:
    session = onnxruntime.InferenceSession(integers.folder / "model.onnx", providers=["CPUExecutionProvider"])
    assert [(each.name, each.shape) for each in session.get_inputs()] == [
        ("input_ids", ["batch", "sequence"]),
        ("attention_mask", ["batch", "sequence"]),
    ]
    assert [(each.name, each.shape) for each in session.get_outputs()] == [("sentence_vector", ["batch", WIDTH])]


def test_other_architectures_are_refused(source: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    with pytest.raises(InputError, match=r"lacks config\.json"):
        export_encoder(tmp_path, tmp_path / "out", name="x")
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}), encoding="utf-8")
    with pytest.raises(InputError, match="has hidden_act 'relu'; only 'gelu' can be trained or exported"):
        export_encoder(tmp_path, tmp_path / "out", name="x")
    assert not (tmp_path / "out").exists()


def test_too_many_tokens_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"max_tokens is 256, but .* has 40 positions. Give 3 to 40"):
        export_encoder(source, tmp_path, name="x")


def test_command_line(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "named-after-me"
    result = CliRunner().invoke(main, [str(source), str(target), "--float", "--max-tokens", "20"])
    assert (result.exit_code, result.output) == (0, f"{target}: 0.1 MB, fingerprint {take_fingerprint(target)}\n")
    encoder = OnnxEncoder(target)
    assert (encoder.name, encoder.max_tokens, encoder.config.weights) == ("named-after-me", 20, "float32")
    assert CliRunner().invoke(main, [str(source), str(target)]).exit_code == 1


def test_command_line_takes_texts(source: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("w1 w2\n\nw3\n", encoding="utf-8")
    result = CliRunner().invoke(main, [str(source), str(tmp_path / "a"), "--max-tokens", "20", "--texts", str(texts)])
    assert result.exit_code == 0, result.output
    export_encoder(source, tmp_path / "b", name="b", max_tokens=20, texts=["w1 w2", "w3"])
    export_encoder(source, tmp_path / "random", name="random", max_tokens=20)
    fingerprint = OnnxEncoder(tmp_path / "a").fingerprint
    assert fingerprint == OnnxEncoder(tmp_path / "b").fingerprint
    assert fingerprint != OnnxEncoder(tmp_path / "random").fingerprint


def test_texts_that_cannot_be_read_are_named(source: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"caf\xe9")
    command = [str(source), str(tmp_path / "out"), "--max-tokens", "20", "--texts", str(texts)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert f"{texts}: cannot be read: 'utf-8' codec can't decode byte 0xe9" in result.output
    assert CliRunner().invoke(main, [*command, "--float"]).exit_code == 0  # which needs none
    with pytest.raises(ValueError, match="texts are several: give a list"):
        export_encoder(source, tmp_path, name="x", max_tokens=20, texts="w1 w2")


def test_blank_lines_and_halves_of_characters_are_no_texts(source: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"\xef\xbb\xbf  \n\t\n")
    assert read_lines(texts) == []
    for name, given in (("half", ["w1 \ud800"]), ("replaced", ["w1 \ufffd"])):
        export_encoder(source, tmp_path / name, name="x", max_tokens=20, texts=given)
    assert OnnxEncoder(tmp_path / "half").fingerprint == OnnxEncoder(tmp_path / "replaced").fingerprint


def test_comparing(floats: OnnxEncoder, integers: OnnxEncoder, tmp_path: Path) -> None:
    same = compare(floats, floats, TEXTS)
    assert [*same.nearness, same.alone] == pytest.approx([1, 1, 1])
    assert same.tokens == pytest.approx(sum(len(floats.tokenizer.encode(text).ids) for text in TEXTS) / len(TEXTS))
    assert 0.998 < compare(integers, floats, TEXTS).nearness[1] < 1
    corpus = tmp_path / "corpus.json"
    sentence = "This sentence about nothing in particular is long enough to be taken by the sampling."
    corpus.write_text(json.dumps([{"title": "T", "text": f"{sentence} Short one."}]), encoding="utf-8")
    assert read_samples(corpus, sentences=1, passages=1) == {
        "sentences": [sentence],
        "passages": [f"T. {sentence} Short one."],
    }
