import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minirag.encoder import FILES, SHIPPED, HostedEncoder, OnnxEncoder, open_encoder
from minirag.encoder.onnx_encoder import BATCH_TEXTS, BATCH_TOKENS, make_batches
from minirag.errors import EncoderError
from minirag.evaluation.honest import honest_vector
from minirag.llm import Retries
from minirag.training.export import take_fingerprint
from tests.loopback import Loopback, Served, status

LONG = (
    "The ferry to the outer island leaves at seven, when the harbour is still in the shadow of the old customs house. "
    "Its captain learned the trade from her aunt, who had sailed grain to the mills up the river before the bridge was "
    "built. On the way it passes the lighthouse that a clockmaker from the next valley paid for in 1874, after his "
    "brother's boat was lost on the bar. "
)
TEXTS = [
    "Bees dance.",
    "Who paid for the lighthouse at the mouth of the river?",
    "The clockmaker's workshop burned down in the winter of 1891, and only two of his tower clocks are left.",
    LONG,
    LONG * 2 + "So the islanders say.",
    "A library lends seeds in spring; whoever takes some brings back twice as many in autumn.",
    "17.4 km",
    "She wrote the second half of the opera in a railway carriage between Turin and Lyon, as her letters tell.",
    "Why?",
]
SCRIPTS = [
    "灯塔由一位钟表匠出资建造。",
    "من دفع ثمن المنارة؟",
    "Кто построил маяк?",
    "🐝💃 🕰️",
    "हिन्दी में एक वाक्य",
    "ｆｕｌｌ ｗｉｄｔｈ",
]


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder()


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray((left * right).sum(axis=1), dtype=np.float32)


def run_child(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what ships ----------------------------------------------------------------------------------------------------


def test_shipped_folder_is_small_and_whole() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= 25_000_000
    assert {path.name for path in SHIPPED.iterdir()} == {*FILES, "README.md", "LICENSE"}
    assert "Apache License" in (SHIPPED / "LICENSE").read_text(encoding="utf-8")


def test_fingerprint_is_of_the_files(encoder: OnnxEncoder) -> None:
    assert encoder.fingerprint == take_fingerprint(SHIPPED)


def test_opening_reads_the_configuration_alone() -> None:
    code = """if True:
        import sys
        from minirag.encoder import open_encoder
        encoder = open_encoder(None)
        print(encoder.name, encoder.dimensions, encoder.max_tokens, len(encoder.fingerprint))
        print([name for name in ("onnxruntime", "tokenizers", "openai", "litellm") if name in sys.modules])
    """
    assert run_child(code) == "minirag-aligner-2.1 (int8) 384 256 16\n[]\n"


# --- vectors -------------------------------------------------------------------------------------------------------


def test_vectors_are_of_unit_length_and_mean_something(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert (vectors.shape, vectors.dtype.name) == ((len(TEXTS), 384), "float32")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    question, *others = encoder.encode([TEXTS[1], "A clockmaker paid for the lighthouse.", "Seeds are lent in spring."])
    assert question @ others[0] > 0.4 > 0.1 > question @ others[1]


def test_vectors_are_in_the_order_of_the_texts(encoder: OnnxEncoder) -> None:
    forwards, backwards = encoder.encode(TEXTS), encoder.encode(TEXTS[::-1])
    assert cosines(forwards, backwards[::-1]).min() > 0.99999


def test_a_vector_does_not_depend_on_its_batch(encoder: OnnxEncoder) -> None:
    many = TEXTS + SCRIPTS + [f"{text} {number}" for number in range(20) for text in TEXTS]
    together = encoder.encode(many)
    alone = np.concatenate([encoder.encode([text]) for text in many[:15]])
    assert cosines(together[:15], alone).min() > 0.99999


def test_same_texts_same_bytes(encoder: OnnxEncoder) -> None:
    assert encoder.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes() == OnnxEncoder().encode(TEXTS).tobytes()


def test_any_script_and_broken_characters(encoder: OnnxEncoder) -> None:
    texts = [*SCRIPTS, "", "  \n\t", "a\x00b", "half \ud83d an emoji", "e\u0301" * 40, "x" * 300]
    vectors = encoder.encode(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(encoder.encode(["half \ud83d an emoji"]), encoder.encode(["half ? an emoji"]))


def test_no_texts(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode([])
    assert (vectors.shape, vectors.dtype.name) == ((0, 384), "float32")


def test_only_the_window_is_seen(encoder: OnnxEncoder) -> None:
    words = "harbour " * 300
    cut = encoder.encode([words, words + "and something else", words * 3000])
    assert np.array_equal(cut[0], cut[1])
    assert np.array_equal(cut[0], cut[2])
    fits = "harbour " * 254
    assert len(encoder.tokenizer.encode(fits).ids) == encoder.max_tokens
    assert np.array_equal(encoder.encode([fits])[0], cut[0])


def test_tokenizer_neither_pads_nor_truncates(encoder: OnnxEncoder) -> None:
    lengths = [len(each.ids) for each in encoder.tokenizer.encode_batch(["word", "word " * 1000])]
    assert lengths == [3, 1002]


def test_roles_are_alike_without_prefixes(encoder: OnnxEncoder) -> None:
    assert np.array_equal(encoder.encode(TEXTS, role="query"), encoder.encode(TEXTS))


def test_progress_adds_up_and_time_is_counted() -> None:
    encoder, seen = OnnxEncoder(), list[int]()
    assert encoder.inference_seconds == 0
    encoder.encode(TEXTS * 20, progress=seen.append)
    assert sum(seen) == len(TEXTS) * 20
    assert max(seen) <= BATCH_TEXTS
    assert encoder.inference_seconds > 0


@given(st.lists(st.integers(2, 700), max_size=200))
def test_batches_hold_each_text_once_within_bounds(lengths: list[int]) -> None:
    batches = list(make_batches(lengths))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    longest = [max(lengths[position] for position in batch) for batch in batches]
    assert longest == sorted(longest)
    for batch, most in zip(batches, longest, strict=True):
        assert len(batch) == 1 or (len(batch) <= BATCH_TEXTS and len(batch) * most <= BATCH_TOKENS)


# --- threads, processes, imports -----------------------------------------------------------------------------------


def test_threads_share_an_encoder() -> None:
    encoder = OnnxEncoder()
    expected = OnnxEncoder().encode(TEXTS)
    barrier = threading.Barrier(4)

    def encode(_: int) -> NDArray[np.float32]:
        barrier.wait()
        return encoder.encode(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(encode, range(4)))
    assert [cosines(expected, result).min() > 0.99999 for result in results] == [True] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("use", ["encoder.encode(['Bees dance.'])", "None"])
def test_forked_child_encodes_and_ends(use: str) -> None:
    code = f"""if True:
        import os, sys, warnings
        from minirag.encoder import OnnxEncoder
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: this process has threads
        encoder = OnnxEncoder(threads=2)
        expected = encoder.encode(["Bees dance."])
        child = os.fork()
        if child == 0:
            vector = {use}
            sys.exit(0 if vector is None or float((vector @ expected.T)[0, 0]) > 0.9999 else 3)
        print(os.waitpid(child, 0)[1])
    """
    assert run_child(code) == "0\n"


@pytest.mark.parametrize("first", ["usearch.index", "onnxruntime"])
@pytest.mark.parametrize("second", ["usearch.index", "onnxruntime", "minirag.encoder"])
def test_imports_in_any_order(first: str, second: str) -> None:
    code = f"""if True:
        import {first}, {second}
        import numpy as np
        from minirag.encoder import OnnxEncoder
        vectors = OnnxEncoder().encode(["Bees dance.", "Why?"])
        from usearch.index import Index
        index = Index(ndim=384, metric="cos", dtype="f32")
        index.add(np.arange(2), vectors)
        print(index.search(vectors[1], 1).keys.tolist())
    """
    assert run_child(code) == "[1]\n"


@pytest.mark.parametrize("given", [None, "0", "1"])
def test_telemetry_is_off_and_the_environment_as_it_was(given: str | None) -> None:
    code = """if True:
        import os
        from minirag.encoder import OnnxEncoder
        OnnxEncoder().encode(["Bees dance."])
        print(os.environ.get("ORT_DISABLE_TELEMETRY"))
    """
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    environment |= {} if given is None else {"ORT_DISABLE_TELEMETRY": given}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{given}\n"


# --- what can be wrong ---------------------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "copied"
    shutil.copytree(SHIPPED, folder)
    return folder


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(
        EncoderError, match=r"nowhere lacks config.json, model.onnx, tokenizer.json. An encoder is a folder"
    ):
        OnnxEncoder(tmp_path / "nowhere")


def test_missing_model(copied: Path) -> None:
    (copied / "model.onnx").unlink()
    with pytest.raises(EncoderError, match=r"copied lacks model.onnx. An encoder is a folder"):
        open_encoder(copied)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"name": "x", "fingerprint": "y", "dimensions": null}'])
def test_broken_configuration(copied: Path, content: str) -> None:
    (copied / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(EncoderError, match=r"config.json cannot be used \(.+\). An encoder is a folder"):
        OnnxEncoder(copied)


def test_broken_model(copied: Path) -> None:
    (copied / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EncoderError, match=r"model.onnx cannot be loaded by onnxruntime"):
        OnnxEncoder(copied).encode(["Why?"])


def test_broken_tokenizer(copied: Path) -> None:
    (copied / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EncoderError, match=r"tokenizer.json cannot be read as a tokenizer"):
        OnnxEncoder(copied).encode(["Why?"])


def test_configuration_of_another_model(copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    (copied / "config.json").write_text(json.dumps({**config, "dimensions": 768}), encoding="utf-8")
    with pytest.raises(EncoderError, match="gives 384 dimensions, but says 768"):
        OnnxEncoder(copied).encode(["Why?"])


def test_tokens_that_the_model_does_not_have(copied: Path) -> None:
    content = json.loads((copied / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["vocab"]["why"] = 99_999
    (copied / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(EncoderError, match=r"model.onnx failed on a batch of shape \(1, 4\)"):
        OnnxEncoder(copied).encode(["Why?"])


def test_providers(encoder: OnnxEncoder) -> None:
    assert encoder.providers == ("CPUExecutionProvider",)
    assert OnnxEncoder(providers=["CPUExecutionProvider"], threads=1).providers == ("CPUExecutionProvider",)
    with pytest.raises(
        EncoderError, match=r"onnxruntime does not offer NoSuchProvider here, only .*CPUExecutionProvider"
    ):
        OnnxEncoder(providers=["NoSuchProvider"]).encode(["Why?"])
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        OnnxEncoder(threads=0)


# --- which encoder -------------------------------------------------------------------------------------------------


def test_open_encoder(encoder: OnnxEncoder, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_encoder(encoder) is encoder
    monkeypatch.chdir(copied.parent)
    for named in (copied, str(copied), "copied", "./copied", Path("copied")):
        opened = open_encoder(named)
        assert isinstance(opened, OnnxEncoder)
        assert opened.fingerprint == encoder.fingerprint
    assert repr(open_encoder("openai/text-embedding-3-small")) == "HostedEncoder('openai/text-embedding-3-small')"
    for missing in ("./nowhere", str(copied / "nowhere"), "~/no such folder"):
        with pytest.raises(EncoderError, match=r"lacks config\.json"):
            open_encoder(missing)
    with pytest.raises(ValueError, match="the encoder's name must not be blank"):
        open_encoder(" ")


# --- hosted --------------------------------------------------------------------------------------------------------


def hosted(server: Loopback) -> HostedEncoder:
    retries = Retries(attempts=2, seconds=1, first_wait=0.01)
    return HostedEncoder("openai/any-embedding", api_base=server.api_base, api_key="k", retries=retries)


def test_hosted_vectors() -> None:
    texts = ["a bee", "two bees", "", "half \ud83d an emoji", *(f"text {number}" for number in range(150))]
    seen: list[int] = []
    with Loopback() as server:
        encoder = hosted(server)
        try:
            vectors = encoder.encode(texts, progress=seen.append)
            assert encoder.dimensions == 64
        finally:
            encoder.close()
    assert (vectors.shape, vectors.dtype.name, sorted(seen)) == ((154, 64), "float32", [26, 64, 64])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert vectors[1] == pytest.approx(np.array(honest_vector("two bees")), abs=1e-6)
    assert len(server.requests) == 3
    first = min((request.body["input"] for request in server.requests), key=lambda sent: "a bee" not in sent)
    assert first[:4] == ["a bee", "two bees", "nothing", "half ? an emoji"]
    assert encoder.ledger.by_task["embed"].calls == 3


def test_hosted_dimensions_cost_one_call() -> None:
    with Loopback() as server:
        encoder = hosted(server)
        try:
            assert encoder.encode([]).shape == (0, 64)
            assert encoder.dimensions == 64
        finally:
            encoder.close()
    assert len(server.requests) == 1


def test_hosted_identity() -> None:
    first, second = HostedEncoder("openai/one"), HostedEncoder("openai/two")
    assert first.fingerprint == HostedEncoder("openai/one").fingerprint != second.fingerprint
    assert (first.name, first.max_tokens) == ("openai/one", 256)
    assert first.tokenizer.encode("word").ids == OnnxEncoder().tokenizer.encode("word").ids


def vectors_of(*rows: list[float]) -> Served:
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return Served(
        body={"object": "list", "model": "any", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    )


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (status(401, "no such key"), r"the encoder openai/any-embedding: "),
        (vectors_of([1.0, 0.0]), r"the encoder openai/any-embedding: gave, 2 times, .*: 1 vectors for 2 texts"),
        (vectors_of([1.0, 0.0], [1.0]), r"gave vectors of different lengths: \[1, 2\]"),
        (vectors_of([1.0, 0.0], [0.0, 0.0]), r"gave vectors that are zero: 1 of 2"),
    ],
)
def test_hosted_faults(served: Served, message: str) -> None:
    with Loopback([served] * 2) as server:
        encoder = hosted(server)
        try:
            with pytest.raises(EncoderError, match=message):
                encoder.encode(["a bee", "two bees"])
        finally:
            encoder.close()
