"""An index with a hosted encoder: passages and facts by the hosted model, triples by the one that minirag ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirag import Document, Index, ask
from minirag.answering import retrieve
from minirag.embedding import texts_of
from minirag.encoder import HostedEncoder, OnnxEncoder, Query, aligner_of
from minirag.errors import EncoderMismatchError
from minirag.llm.retrying import Retries
from minirag.naming.names import normalise_name
from minirag.repairing import repair
from minirag.storage.packing import pack, unpack
from minirag.storage.snapshot import open_snapshot
from minirag.storage.store import Store
from minirag.storage.vectors import quantise, similarities
from tests.chained import DOCUMENTS, QUESTION
from tests.loopback import Loopback, honest
from tests.stored import contents_of, shipped_encoder, vectors_of

HOSTED = 64  # dimensions of the loopback server's vectors
SHIPPED = 384


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback(honest) as running:
        yield running


def hosted(server: Loopback) -> HostedEncoder:
    retries = Retries(attempts=2, seconds=1, first_wait=0.01)
    return HostedEncoder("openai/any-embedding", api_base=server.api_base, api_key="k", retries=retries)


def opened(path: Path, server: Loopback, **options: Any) -> Index:  # noqa: ANN401
    return Index(path, **{"model": "offline", "encoder": hosted(server), **options})


@pytest.fixture(scope="module")
def original(server: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits, so that there are a base and an appended segment, and something dead in each."""
    path = tmp_path_factory.mktemp("hosted") / "notes.usearch"
    with opened(path, server) as index:
        index.add(DOCUMENTS[:8], progress=False)
        index.add(DOCUMENTS[8:], progress=False)
        index.delete("tables", progress=False)
        assert index.info().segments == 2
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "notes.usearch"
    copy.write_bytes(original.read_bytes())
    return copy


def sent_since(server: Loopback, count: int) -> list[list[str]]:
    """The texts of each embedding request but the first so many requests."""
    return [request.body["input"] for request in server.requests[count:] if "input" in request.body]


def sizes_of(path: Path) -> set[tuple[int, int, int]]:
    """Lengths of the vectors of passages, of facts and bridging facts, and of triples, of every segment."""
    segments = open_snapshot(path).segments
    return {(s.passage_vectors.shape[1], s.unit_vectors.shape[1], s.triple_vectors.shape[1]) for s in segments}


# --- which model ---------------------------------------------------------------------------------------------------


def test_only_a_hosted_encoder_has_an_aligner_beside_it(server: Loopback) -> None:
    assert aligner_of(shipped_encoder()) is shipped_encoder()
    assert aligner_of(hosted(server)).fingerprint == shipped_encoder().fingerprint


def test_an_index_with_an_onnx_encoder_has_one_model(tmp_path: Path) -> None:
    with Index(tmp_path / "notes.usearch", encoder=shipped_encoder()) as index:
        assert index.aligner is index.encoder
        known, aligner = (index.snapshot.header[name] for name in ("encoder", "aligner"))
        assert aligner == {name: known[name] for name in ("name", "fingerprint", "dimensions")}
        query = index.encode_query("Who wrote it?")
        assert query.vector_for("triple") is query.vector_for("passage") is query.vector


def test_a_file_that_names_no_aligner_has_the_encoders_triples(tmp_path: Path) -> None:
    """As those were written that know of no aligner."""
    path = tmp_path / "notes.usearch"
    with Index(path, model="offline", encoder=shipped_encoder()) as index:
        index.add(DOCUMENTS[:3], progress=False)
    replace_header(path, drop="aligner")
    with Index(path, model="offline", encoder=shipped_encoder()) as index:
        index.add(DOCUMENTS[3:5], progress=False)
        assert index.search(QUESTION, kinds=["triple"], k=1)[0].document_ids == ("tide",)
    assert sizes_of(path) == {(SHIPPED, SHIPPED, SHIPPED)}


def test_a_query_is_encoded_by_the_models_that_are_needed(server: Loopback) -> None:
    encoder, before = hosted(server), len(server.requests)
    query = Query("Who kept bees?", encoder=encoder, aligner=shipped_encoder())
    try:
        assert query.vector_for("triple").shape == (SHIPPED,)
        assert sent_since(server, before) == []
        assert query.vector_for("fact").shape == query.vector_for("bridge").shape == (HOSTED,)
        assert query.vector_for("passage") is query.vector
        assert sent_since(server, before) == [["Who kept bees?"]]
    finally:
        encoder.close()


# --- the file ------------------------------------------------------------------------------------------------------


def test_each_section_has_its_own_dimensions(path: Path, server: Loopback) -> None:
    assert sizes_of(path) == {(HOSTED, HOSTED, SHIPPED)}
    header = open_snapshot(path).header
    shipped = shipped_encoder()
    assert header["aligner"] == {"name": shipped.name, "fingerprint": shipped.fingerprint, "dimensions": SHIPPED}
    assert (header["encoder"]["name"], header["encoder"]["dimensions"]) == ("openai/any-embedding", HOSTED)
    assert Index.verify(path).whole
    with opened(path, server) as index:
        index.compact()
        index.add(Document("new", "Ada Brell sailed to Oslo. She wrote The Blue Lamp."), progress=False)
    assert sizes_of(path) == {(HOSTED, HOSTED, SHIPPED)}
    assert Index.verify(path).whole


def test_an_empty_index_has_them_too(tmp_path: Path, server: Loopback) -> None:
    path = tmp_path / "notes.usearch"
    opened(path, server).close()
    assert sizes_of(path) == {(HOSTED, HOSTED, SHIPPED)}
    with opened(path, server) as index:
        assert index.search(QUESTION, kinds=["triple", "passage"]) == []


def test_the_provider_sees_no_triples(tmp_path: Path, server: Loopback) -> None:
    before = len(server.requests)
    with opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENTS[:3], progress=False)
        store = Store(index.path, mode="r", normalise=normalise_name)
        held = store.read_all()
        store.close()
    passages, facts, triples, bridging = texts_of(held.documents, held.bridges)
    sent = [text for texts in sent_since(server, before) for text in texts if text != "nothing"]
    assert sorted(sent) == sorted([*passages, *facts, *bridging])
    cosines = [
        float(similarities(vector[None], expected)[0])
        for vector, expected in zip(held.triple_vectors, shipped_encoder().encode(triples), strict=True)
    ]
    assert min(cosines) > 0.96  # three bits a component


def test_opening_needs_the_same_hosted_encoder_and_calls_nobody(path: Path, server: Loopback) -> None:
    before = len(server.requests)
    with opened(path, server, mode="r") as index:
        assert len(index) == len(DOCUMENTS) - 1
        assert isinstance(index.aligner, OnnxEncoder)
    assert len(server.requests) == before
    for other in (HostedEncoder("openai/another"), shipped_encoder()):
        with pytest.raises(EncoderMismatchError, match="was built with encoder openai/any-embedding, but"):
            Index(path, encoder=other)


# --- searching -----------------------------------------------------------------------------------------------------


def test_search_compares_each_kind_with_its_own_vector(path: Path, server: Loopback) -> None:
    with opened(path, server, mode="r") as index:
        before = len(server.requests)
        triples = index.search(QUESTION, kinds=["triple"], k=3)
        assert sent_since(server, before) == []
        assert [hit.kind for hit in triples] == ["triple"] * 3
        for hit in triples:
            own, asked = shipped_encoder().encode([hit.text]), shipped_encoder().encode([QUESTION], role="query")[0]
            packed = pack(quantise(own))
            assert packed is not None
            kept = unpack(np.frombuffer(packed, np.uint8).reshape(1, -1), len(asked))  # as triples lie in the file
            assert hit.score == pytest.approx(float(similarities(kept, asked)[0]), abs=0.005)
        others = index.search(QUESTION, kinds=["passage", "fact", "bridge"], k=99)
        together = index.search(QUESTION, kinds=["triple", "passage", "fact", "bridge"], k=999)
        assert sent_since(server, before) == [[QUESTION]] * 2
    assert {hit.id for hit in together} > {hit.id for hit in others} | {hit.id for hit in triples}
    assert [hit.score for hit in together] == sorted((hit.score for hit in together), reverse=True)
    assert [hit for hit in together if hit.kind != "triple"][:20] == others[:20]
    assert [hit for hit in together if hit.kind == "triple"][:3] == triples


def test_other_modes_ask_the_hosted_model_only(path: Path, server: Loopback) -> None:
    with opened(path, server, mode="r") as index:
        before = len(server.requests)
        assert index.search(QUESTION, mode="hybrid", k=1)[0].document_ids == ("tide",)
        assert sent_since(server, before) == [[QUESTION]]


@pytest.mark.parametrize("bridges", [True, False])
def test_kirag_scores_triples_by_the_aligner(path: Path, server: Loopback, bridges: bool) -> None:
    options: dict[str, Any] = {"strategy": "kirag", "units": "triple", "bridges": bridges, "steps": 2}
    with opened(path, server, mode="r") as index:
        before = len(server.requests)
        evidence = retrieve(QUESTION, index, **options)
        assert sent_since(server, before) == [[step.query] for step in evidence.steps]
    assert [hit.kind for hit in evidence.chain] == ["triple", "triple"]
    asked = shipped_encoder().encode([step.query for step in evidence.steps], role="query")
    for number, hit in enumerate(evidence.chain, start=1):
        own = shipped_encoder().encode([hit.text])[0]
        assert hit.score == pytest.approx(float((asked[:number] @ own).max()), abs=0.05)  # three bits a component


@pytest.mark.parametrize("units", ["sentence", "passage"])
def test_kirag_scores_other_units_by_the_encoder(path: Path, server: Loopback, units: Any) -> None:  # noqa: ANN401
    with opened(path, server, mode="r") as index:
        evidence = retrieve(QUESTION, index, strategy="kirag", units=units, bridges=False, steps=1)
        found = index.search(QUESTION, kinds=["fact" if units == "sentence" else "passage"], k=99)
    assert evidence.chain[0].score == pytest.approx(
        {hit.id: hit.score for hit in found}[evidence.chain[0].id], abs=0.01
    )


def test_kirag_with_a_model_builds_its_chain_of_triples(tmp_path: Path, server: Loopback) -> None:
    model: dict[str, Any] = {"model": "openai/any", "api_base": server.api_base, "api_key": "k"}
    with opened(tmp_path / "notes.usearch", server, **model) as index:
        index.add(DOCUMENTS, progress=False)
        answer = ask(QUESTION, index, strategy="kirag")
    assert {hit.kind for hit in answer.chain} <= {"triple", "bridge"}
    assert answer.chain
    assert len(answer.citations) >= 1


# --- changing and mending ------------------------------------------------------------------------------------------


def test_reembed_from_hosted_to_shipped_and_back(path: Path, server: Loopback) -> None:
    with opened(path, server) as index:
        before, hosted_vectors = contents_of(index.snapshot), vectors_of(index.snapshot)
        index.reembed(shipped_encoder(), progress=False)
        assert index.aligner is index.encoder is shipped_encoder()
        assert (contents_of(index.snapshot), index.info().dimensions) == (before, SHIPPED)
        assert sizes_of(path) == {(SHIPPED, SHIPPED, SHIPPED)}
        sent = len(server.requests)
        assert index.search(QUESTION, kinds=["triple", "passage"], k=2)
        assert retrieve(QUESTION, index, strategy="kirag", units="triple").chain
        assert len(server.requests) == sent
        index.reembed(hosted(server), progress=False)
        assert index.aligner.fingerprint == shipped_encoder().fingerprint
        assert (contents_of(index.snapshot), index.info().dimensions) == (before, HOSTED)
        assert sizes_of(path) == {(HOSTED, HOSTED, SHIPPED)}
        assert [len(row) for row in vectors_of(index.snapshot)] == [len(row) for row in hosted_vectors]
        assert index.search(QUESTION, kinds=["triple"], k=1)[0].kind == "triple"
    assert Index.verify(path).whole
    with opened(path, server) as index:
        index.add(Document("new", "Ada Brell sailed to Oslo."), progress=False)
        assert "new" in index


@pytest.mark.parametrize(
    ("section", "calls"), [("packed triple vectors", 0), ("passage vectors", 1), ("facts and bridging facts", 1)]
)
def test_repair_computes_lost_vectors_by_their_own_model(
    path: Path, server: Loopback, section: str, calls: int
) -> None:
    original = open_snapshot(path)
    contents, vectors = contents_of(original), vectors_of(original)
    with path.open("r+b") as file:
        file.seek(original.contents.segments[0].sections[section].offset + 8)
        file.write(bytes(4))
    encoder, before = hosted(server), len(server.requests)
    new = path.with_name("new.usearch")
    try:
        report = repair(path, new, encoder=encoder, progress=False)
    finally:
        encoder.close()
    assert report.lossless
    assert report.lost_vectors > 0
    assert len(server.requests) - before == calls
    mended = open_snapshot(new)
    assert contents_of(mended) == contents
    assert sizes_of(new) == {(HOSTED, HOSTED, SHIPPED)}
    assert len(set(vectors_of(mended)) - set(vectors)) <= 1  # the last bit of a float may differ with the batch
    assert Index.verify(new).whole


def replace_header(path: Path, *, drop: str = "", **changed: Any) -> None:  # noqa: ANN401
    """Write the file afresh with another header."""
    store = Store(path, mode="a", normalise=normalise_name)
    with store.writing():
        header = {name: value for name, value in store.snapshot.header.items() if name != drop}
        store.replace_all(store.read_all(), {**header, **changed})
    store.close()


def test_another_aligner_than_the_shipped_one_is_refused_and_repair_encodes_triples_afresh(
    path: Path, server: Loopback
) -> None:
    aligner = open_snapshot(path).header["aligner"]
    with opened(path, server, mode="r") as reader:
        replace_header(path, aligner={**aligner, "name": "older", "fingerprint": "0" * 16})
        with pytest.raises(EncoderMismatchError, match="was built with encoder older, but"):
            reader.refresh()
    with pytest.raises(EncoderMismatchError, match=r"was built with encoder older, but .* minirag repair OLD NEW"):
        opened(path, server)
    new, encoder = path.with_name("new.usearch"), hosted(server)
    try:
        report = repair(path, new, encoder=encoder, progress=False)
    finally:
        encoder.close()
    assert report.lossless
    assert report.lost_vectors == open_snapshot(path).count("triples")
    with opened(new, server) as index:
        assert index.snapshot.header["aligner"] == aligner
        assert index.search(QUESTION, kinds=["triple"], k=1)
