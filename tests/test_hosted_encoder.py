"""A hosted encoder that refuses texts, or whose run is stopped: others are indexed, and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

import minirag
from minirag import Document, Index, ask
from minirag.encoder import HostedEncoder
from minirag.errors import EncoderError, TextsRefusedError
from minirag.evaluation.honest import honest_vector
from minirag.llm import Retries
from tests.chained import DOCUMENTS
from tests.interrupts import SOON, SlowModel, interrupt
from tests.loopback import Loopback, Request, Served, honest, status

FILTERED = status(400, "The input was flagged by the content filter", code="content_filter")
NAME = "openai/any-embedding"


def documents(count: int) -> list[Document]:
    return [Document(f"d{n}", f"Person {n} was born in Town {n}.", f"Person {n}") for n in range(count)]


class Vectors(Loopback):
    """The honest model, that refuses some texts, or does with a batch what it is told.

    Attributes:
        refused: How a batch with a refused text is answered.
        refuses: Which texts those are.
        instead: Given the texts of a request for vectors; None is honest.
        answered: All texts that got vectors.
    """

    def __init__(self, *, refused: Served = FILTERED) -> None:
        super().__init__(honest)
        self.refused = refused
        self.refuses: Callable[[str], bool] = lambda text: "forbidden" in text
        self.instead: Callable[[list[str]], Served | None] = lambda _: None
        self.answered: list[str] = []

    def serve(self, request: Request) -> Served:
        served = super().serve(request)
        if not request.path.endswith("embeddings"):
            return served
        texts = request.body["input"]
        given = self.instead(texts)
        if given is None and any(map(self.refuses, texts)):
            given = self.refused
        if given is None:
            self.answered += texts
        return given or served

    def sizes(self) -> list[int]:
        """How many texts each request had."""
        return [len(request.body["input"]) for request in self.requests if "input" in request.body]

    def answered_again(self) -> list[str]:
        """Texts that got vectors more than once."""
        return [text for text, count in Counter(self.answered).items() if count > 1 and text != "nothing"]


class Hosted(Protocol):
    """Opens an encoder on a server, which is closed after the test."""

    def __call__(self, server: Loopback, **options: Any) -> HostedEncoder:  # noqa: ANN401
        """With options of `LLM`."""
        ...


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    opened: list[HostedEncoder] = []

    def open_it(server: Loopback, **options: Any) -> HostedEncoder:  # noqa: ANN401
        retries = Retries(attempts=2, seconds=1, first_wait=0.01)
        options = {"retries": retries, "prices": {NAME: (1.0, 0.0)}, **options}
        opened.append(HostedEncoder(NAME, api_base=server.api_base, api_key="k", **options))
        return opened[-1]

    yield open_it
    for encoder in opened:
        encoder.close()


# --- texts that are refused ----------------------------------------------------------------------------------------

REFUSALS = {
    "filter": (FILTERED, "refused to answer: The input was flagged by the content filter"),
    "too long": (
        status(400, "This model's maximum context length is 8192 tokens"),
        "the prompt is too long: This model's maximum context length is 8192 tokens",
    ),
    "other": (status(422, "cannot be embedded"), "the request was not accepted: cannot be embedded"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refused_text_fails_its_document_alone(tmp_path: Path, kind: str, hosted: Hosted) -> None:
    refused, told = REFUSALS[kind]
    many = [*documents(60), Document("bad", "Ada Holm was born in Bergen. She wrote forbidden words.", "Ada Holm")]
    path = tmp_path / "a.usearch"
    with Vectors(refused=refused) as server, Index(path, model="offline", encoder=hosted(server)) as index:
        report = index.add(many, progress=False)
        assert report.added == tuple(f"d{n}" for n in range(60))
        (failure,) = report.failed
        assert failure.id == "bad"
        assert failure.reason.startswith(f"the encoder {NAME}: {told} (the text ")
        assert index.search("Where was Person 3 born?", k=1)[0].document_ids == ("d3",)
        assert "bad" not in index
        assert len(server.requests) < 40
    assert Index.verify(path).whole
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.usearch", "a.usearch.lock"]


def test_a_fault_of_the_setup_is_not_sought_in_texts(tmp_path: Path, hosted: Hosted) -> None:
    """Of which no text is free: the first batch and one harmless text are sent, not all halves."""
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        server.instead = lambda _: status(400, "no embeddings today")
        server.requests.clear()
        with pytest.raises(EncoderError, match="the encoder openai/any-embedding: the request was not accepted: n"):
            index.add(documents(10), progress=False)
        assert server.sizes() == [20, 1]
        assert len(index) == 0


@pytest.mark.parametrize("fault", [status(429, "slow down"), status(500, "broken"), status(401, "no such key")])
def test_nor_are_faults_of_the_provider(tmp_path: Path, fault: Served, hosted: Hosted) -> None:
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        server.instead = lambda _: fault
        server.requests.clear()
        with pytest.raises(EncoderError, match="the encoder openai/any-embedding: "):
            index.add(documents(10), progress=False)
        assert set(server.sizes()) == {20}


def test_a_replaced_document_stays_as_it_was_if_its_new_text_is_refused(tmp_path: Path, hosted: Hosted) -> None:
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        index.add(documents(3), progress=False)
        report = index.add([Document("d1", "Person 1 said forbidden words."), Document("d9", "Oslo is a town.")])
        assert (report.added, report.updated, [failure.id for failure in report.failed]) == (("d9",), (), ["d1"])
        assert index.document("d1").text == "Person 1 was born in Town 1."


def test_a_models_replies_for_a_refused_document_are_kept_until_it_is_taken(tmp_path: Path, hosted: Hosted) -> None:
    """Else each `add` would pay for its extraction."""
    many = [*documents(3), Document("bad", "Ada Holm wrote forbidden words.")]
    with Vectors() as server:
        path, encoder = tmp_path / "a.usearch", hosted(server)
        with Index(path, model="openai/any", api_base=server.api_base, api_key="k", encoder=encoder) as index:
            index.add(many, progress=False)
            index.add(many, progress=False)
            assert server.tasks().count("extract") == 4
            server.refuses = lambda _: False
            assert index.add(many, progress=False).added == ("bad",)
            assert server.tasks().count("extract") == 4
    assert list(tmp_path.glob("*.replies")) == []


def bridges_of(index: Index) -> dict[str, str]:
    """The entity of each bridging fact."""
    found = [segment.bridge(row) for segment in index.snapshot.segments for row in range(segment.count("bridges"))]
    return {bridge.text: bridge.entity for bridge in found}


def test_a_refused_bridging_fact_fails_its_entity_alone(tmp_path: Path, hosted: Hosted) -> None:
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        index.add(DOCUMENTS, progress=False)
        bridges = bridges_of(index)
    refused = next(iter(bridges))
    with Vectors() as server, Index(tmp_path / "b.usearch", model="offline", encoder=hosted(server)) as index:
        server.refuses = lambda text: text == refused
        report = index.add(DOCUMENTS, progress=False)
        assert len(report.added) == len(DOCUMENTS)
        assert [failure.id for failure in report.failed] == [f"bridge entity {bridges[refused]}"]
        assert bridges_of(index) == {text: name for text, name in bridges.items() if name != bridges[refused]}
        assert bridges_of(index) != {}
        server.refuses = lambda _: False
        assert index.add([], progress=False).failed == ()
        assert bridges_of(index) == bridges


def test_a_refused_question_is_told(tmp_path: Path, hosted: Hosted) -> None:
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        index.add(documents(3), progress=False)
        told = r"the encoder openai/any-embedding: refused to answer: .*filter \(the text 'What is forbidden\?'\)$"
        with pytest.raises(TextsRefusedError, match=told) as refused:
            ask("What is forbidden?", index)
        assert list(refused.value.reasons) == ["What is forbidden?"]
        with pytest.raises(TextsRefusedError, match=told):
            index.search("What is forbidden?")


def test_what_is_refused_among_texts_is_named_and_the_rest_received(hosted: Hosted) -> None:
    texts = [f"text {n}" for n in range(150)]
    texts[7] = texts[100] = "forbidden"
    texts[149] = "also forbidden"
    received: dict[int, Any] = {}
    with Vectors() as server:
        encoder = hosted(server)
        with pytest.raises(TextsRefusedError, match=r"\(the text 'forbidden' and 1 more\)$") as refused:
            encoder.encode_each(texts, lambda places, rows: received.update(zip(places, rows, strict=True)))
    assert set(refused.value.reasons) == {"forbidden", "also forbidden"}
    assert set(received) == set(range(150)) - {7, 100, 149}
    assert received[8] == pytest.approx(np.array(honest_vector("text 8")), abs=1e-6)


def test_reembedding_names_the_document_that_is_in_the_way(tmp_path: Path, hosted: Hosted) -> None:
    path = tmp_path / "a.usearch"
    with Index(path, model="offline") as index:
        index.add([*documents(40), Document("bad", "Ada Holm wrote forbidden words.")], progress=False)
    with Vectors() as server:
        told = r"^bad: the encoder openai/any-embedding: refused to answer: .*\. The file is as it was\. Delete what is"
        with pytest.raises(EncoderError, match=told):
            minirag.reembed(path, hosted(server), progress=False)
        with Index(path, model="offline") as index:
            assert len(index) == 41
            index.delete("bad", progress=False)
        minirag.reembed(path, hosted(server), progress=False)


# --- what was paid for ---------------------------------------------------------------------------------------------


class Stopping(Vectors):
    """Answers some requests for vectors, and holds the others until it may go on.

    Attributes:
        goes_on: Set when it may.
        clock: When requests came.
    """

    def __init__(self, answered: int) -> None:
        super().__init__()
        self.goes_on, self.clock = threading.Event(), SlowModel(0.0)
        self._quick = answered
        self.instead = self._hold

    def _hold(self, texts: list[str]) -> None:
        del texts
        self.clock.arrived.append(time.monotonic())
        if len(self.clock.arrived) > self._quick:
            self.goes_on.wait(30)


def test_what_was_embedded_before_it_was_cancelled_is_not_again(tmp_path: Path, hosted: Hosted) -> None:
    path, many = tmp_path / "a.usearch", documents(200)
    with Stopping(4) as server, Index(path, model="offline", encoder=hosted(server, max_parallel=2)) as index:

        async def cancel() -> None:
            task = asyncio.create_task(index.aadd(many, progress=False))
            await asyncio.to_thread(server.clock.wait_for, 4 + 2)
            task.cancel()
            await asyncio.sleep(0.1)
            server.goes_on.set()  # those in flight are answered
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        assert (len(server.requests), index.info().usage.calls) == (6, 6)
        assert path.with_name("a.usearch.vectors").exists()
        assert index.estimate(many, progress=False).encoding_calls == 2
        assert len(index.add(many, progress=False).added) == 200
        assert index.info().usage.calls == len(server.requests) == 8
        assert server.answered_again() == []
        assert not path.with_name("a.usearch.vectors").exists()
        assert index.search("Where was Person 3 born?", k=1)[0].document_ids == ("d3",)


@pytest.mark.parametrize("fault", [status(401, "no such key"), status(500, "broken")])
def test_what_was_embedded_before_an_error_is_not_again(tmp_path: Path, fault: Served, hosted: Hosted) -> None:
    """Nor what is in flight as it comes."""
    flying, failed = threading.Event(), threading.Event()

    def instead(texts: list[str]) -> Served | None:
        if failed.is_set() or texts == ["nothing"]:
            return None
        if any("Person 70 " in text for text in texts):
            flying.wait(30)
            failed.set()
            return fault
        if any("Person 190 " in text for text in texts):  # of a later batch
            flying.set()
            failed.wait(30)
            time.sleep(0.2)
        return None

    with Vectors() as server:
        encoder = hosted(server, max_parallel=16, retries=Retries(attempts=1, seconds=1))
        with Index(tmp_path / "a.usearch", model="offline", encoder=encoder) as index:
            server.instead = instead
            with pytest.raises(EncoderError, match="the encoder openai/any-embedding: "):
                index.add(documents(200), progress=False)
            assert len(server.answered) > 250
            assert len(index.add(documents(200), progress=False).added) == 200
            assert server.answered_again() == []


def test_a_text_that_comes_often_is_paid_for_once(tmp_path: Path, hosted: Hosted) -> None:
    same = [Document(f"d{n}", "Ada Holm was born in Bergen.", "Ada Holm") for n in range(20)]
    with Vectors() as server, Index(tmp_path / "a.usearch", model="offline", encoder=hosted(server)) as index:
        seen: list[tuple[str, int, int]] = []
        index.add(same, progress=lambda *told: seen.append(told))
        assert server.answered_again() == []
        assert len(index.search("Who was born in Bergen?", k=20, kinds=["passage"])) == 20
        told = [(done, total) for stage, done, total in seen if stage == "encoding"]
        assert told[-1][0] == told[-1][1]


needs_signals = pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
HOW = "The file is as it was, and vectors that were paid for are kept; run the same reembed again to go on."


@needs_signals
@pytest.mark.parametrize("how", ["command", "script"])
def test_an_interrupted_reembed_says_how_to_go_on_and_does(tmp_path: Path, how: str, hosted: Hosted) -> None:
    path = tmp_path / "a.usearch"
    with Index(path, model="offline") as index:
        index.add(documents(200), progress=False)
    script = f"import minirag; minirag.reembed({str(path)!r}, {NAME!r}, progress=False)"
    command = ["-m", "minirag", "reembed", path, "--encoder", NAME] if how == "command" else ["-c", script]
    with Stopping(3) as server:
        env = {**os.environ, "OPENAI_BASE_URL": server.api_base, "OPENAI_API_KEY": "k"}
        ended = interrupt([sys.executable, *command], server.clock, after=7, cwd=tmp_path, env=env)
        if how == "command":
            assert (ended.code, ended.told) == (130, f"Interrupted. {HOW}\n")
        else:
            assert ended.told.splitlines()[-2:] == ["KeyboardInterrupt", HOW]
        assert ended.told_after < SOON
        with Index(path, model="offline") as index:
            assert (len(index), index.info().usage.calls) == (200, 3)
            before = set(server.answered)
            assert len(before) > 128
            server.goes_on.set()
            server.answered.clear()
            index.reembed(hosted(server), progress=False)
            assert before & set(server.answered) <= {"nothing"}
            assert index.info().usage.calls > 3
            assert index.search("Where was Person 3 born?", k=1)[0].document_ids == ("d3",)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.usearch", "a.usearch.lock"]


@needs_signals
def test_an_interrupted_index_command_says_that_vectors_are_kept(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for each in documents(200):
        (tmp_path / "docs" / f"{each.id}.txt").write_text(each.text)
    with Stopping(4) as server:
        env = {**os.environ, "OPENAI_BASE_URL": server.api_base, "OPENAI_API_KEY": "k"}
        options = ["--index", "a.usearch", "--encoder", NAME, "--model", "offline", "--quiet"]
        command = [sys.executable, "-m", "minirag", "index", "docs", *options]
        ended = interrupt(command, server.clock, after=6, cwd=tmp_path, env=env)
    told = (
        "a.usearch holds 0 documents, and vectors that were paid for are kept beside it. Run the same command again to"
    )
    assert (ended.code, ended.told) == (130, f"Interrupted. {told} go on: what is there is not done again.\n")
