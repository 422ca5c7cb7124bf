import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index
from minirag.demo import load_documents
from minirag.encoder import HostedEncoder
from minirag.errors import InputError, LLMSetupError
from minirag.reasoner.offline import OfflineReasoner
from minirag.splitting import count_tokens
from tests.loopback import Loopback, Request, Served, honest, refusal, status

UNPRICED: dict[str, Any] = {"model": "openai/any", "api_key": "k"}

DOCUMENTS = [
    Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)"),
    Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards"),
    Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano"),
]


def test_offline_costs_nothing(tmp_path: Path) -> None:
    with Index(tmp_path / "notes.usearch", model="offline") as index:
        estimate = index.estimate(DOCUMENTS, progress=False)
        assert (estimate.documents, estimate.passages, estimate.bridge_entities) == (3, 3, 1)
        assert (estimate.calls, estimate.tokens, estimate.cost) == (0, 0, 0.0)
        assert len(index) == 0


def test_the_calls_are_those_that_indexing_makes(tmp_path: Path) -> None:
    with (
        Loopback(honest) as server,
        Index(tmp_path / "notes.usearch", model="openai/any", api_base=server.api_base, api_key="k") as index,
    ):
        estimate = index.estimate(DOCUMENTS, progress=False)
        assert server.requests == []
        report = index.add(DOCUMENTS, progress=False)
        assert estimate.calls == report.usage.calls == 4
        assert estimate.prompt_tokens == pytest.approx(
            sum(tokens_of(each, index) for each in server.requests), rel=0.01
        )
        assert estimate.cost is None
        assert index.estimate(DOCUMENTS, progress=False).calls == 0


def test_a_known_price(tmp_path: Path) -> None:
    with Index(tmp_path / "notes.usearch", model="openai/gpt-4o-mini") as index:
        estimate = index.estimate(DOCUMENTS, progress=False)
        assert estimate.cost == pytest.approx(
            estimate.prompt_tokens * 0.15e-6 + estimate.completion_tokens * 0.6e-6, rel=1e-6
        )


def test_each_task_is_priced_by_its_own_model(tmp_path: Path) -> None:
    models = {"extract": "openai/cheap", "bridge": "openai/strong"}
    prices = {"openai/cheap": (1.0, 0.0), "openai/strong": (0.0, 100.0)}
    with Index(tmp_path / "notes.usearch", models=models, prices=prices) as index:
        estimate = index.estimate(DOCUMENTS, progress=False)
        assert (estimate.calls, estimate.bridging_calls, estimate.encoding_tokens) == (4, 1, 0)
        extracting = index.estimate(DOCUMENTS, models={"bridge": "offline"}, progress=False)
        bridging = index.estimate(DOCUMENTS, models={"extract": "offline"}, progress=False)
        assert (extracting.calls, bridging.calls) == (3, 1)
        assert extracting.cost == pytest.approx(extracting.prompt_tokens * 1e-6)
        assert bridging.cost == pytest.approx(bridging.completion_tokens * 1e-4)
        assert extracting.cost is not None
        assert bridging.cost is not None
        assert estimate.cost == pytest.approx(extracting.cost + bridging.cost)
        assert index.estimate(DOCUMENTS, models={"bridge": "openai/unheard-of"}, progress=False).cost is None


def test_a_hosted_encoder_is_a_part_of_the_cost(tmp_path: Path) -> None:
    encoding = {"api_key": "k", "prices": {"openai/embedding": (5.0, 0.0)}}
    with Loopback(honest) as server:
        priced = HostedEncoder("openai/embedding", api_base=server.api_base, **encoding)
        with Index(tmp_path / "a.usearch", model="offline", encoder=priced) as index:
            estimate = index.estimate(DOCUMENTS, progress=False)
            assert (estimate.calls, estimate.prompt_tokens) == (0, 0)
            assert estimate.cost == pytest.approx(estimate.encoding_tokens * 5e-6)
            report = index.add(DOCUMENTS, progress=False)
            assert estimate.encoding_tokens == pytest.approx(report.usage.tasks["embed"].prompt_tokens, rel=0.5)
        unpriced = HostedEncoder("openai/embedding", api_base=server.api_base, api_key="k")
        with Index(tmp_path / "b.usearch", model="offline", encoder=unpriced) as index:
            assert index.estimate(DOCUMENTS, progress=False).cost is None


class Own(OfflineReasoner):
    """One of the user's."""

    model = "own"
    entities_per_call = 8


def test_the_calls_of_an_own_reasoner_count_and_cost_nobody_knows_what(tmp_path: Path) -> None:
    models: dict[str, Any] = {"bridge": "openai/gpt-4o-mini"}
    with Index(tmp_path / "a.usearch", model=Own()) as index:
        estimate = index.estimate(DOCUMENTS, progress=False)
        assert (estimate.calls, estimate.bridging_calls, estimate.tokens, estimate.cost) == (4, 1, 0, None)
        mixed = index.estimate(DOCUMENTS, models=models, progress=False)
        assert (mixed.calls, mixed.bridging_calls, mixed.cost) == (4, 1, None)
        assert mixed.tokens > 0
        assert index.add(DOCUMENTS, progress=False).usage.calls == 4
        assert index.estimate(DOCUMENTS, progress=False).cost == 0.0


# --- against what is then sent -------------------------------------------------------------------------------------


def taking(*modes: str) -> Callable[[Request], Served]:
    """A model whose provider takes these ways to ask for a form alone."""
    return lambda request: honest(request) if request.mode in modes else status(400, "response_format, tools: unknown")


def tokens_of(request: Request, index: Index) -> int:
    """Of all that a request says, by the encoder's tokenizer."""
    form = {name: request.body[name] for name in ("response_format", "tools") if name in request.body}
    texts = [message["content"] for message in request.body["messages"]] + ([json.dumps(form)] if form else [])
    return sum(count_tokens(index.encoder.tokenizer, text) for text in texts)


@pytest.mark.parametrize("mode", ["json_schema", "tool", "json_object", "text"])
def test_the_tokens_are_those_that_are_sent(tmp_path: Path, mode: str) -> None:
    """Before, the form of the reply was missing: half of the tokens of a short passage."""
    documents = load_documents()
    with (
        Loopback(taking(mode)) as server,
        Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index,
    ):
        index.add([Document("first", "Nothing is named here.")], progress=False)  # which finds the way
        asked = len(server.requests)
        estimate = index.estimate(documents, progress=False)
        assert len(server.requests) == asked
        report = index.add(documents, progress=False)
        sent = server.requests[asked:]
        assert {request.mode for request in sent} == {mode}
        assert estimate.calls == len(sent) == report.usage.calls
        total = sum(tokens_of(request, index) for request in sent)
        assert total <= estimate.prompt_tokens <= 1.15 * total


def test_headings_are_sent_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Harbour\n\n## North\n\nThe mole is long.\n\n## South\n\nIt is short.", "utf-8")
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        estimate = index.estimate(tmp_path / "a.md", progress=False)
        index.add(tmp_path / "a.md", progress=False)
        assert estimate.prompt_tokens == sum(tokens_of(request, index) for request in server.requests)


# --- what is asked again, and what is not --------------------------------------------------------------------------


def test_what_is_derived_afresh_counts(tmp_path: Path) -> None:
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        first = index.estimate(DOCUMENTS, progress=False)
        index.add(DOCUMENTS, progress=False)
        none = index.estimate(DOCUMENTS, progress=False)
        assert (none.documents, none.calls, none.tokens, none.cost) == (0, 0, 0, 0.0)
        again = index.estimate(DOCUMENTS, progress=False, reextract=True)
        assert again == first
        assert index.add(DOCUMENTS, progress=False, reextract=True).usage.calls == again.calls == 4


@pytest.mark.parametrize("task", ["extract", "bridge"])
def test_what_failed_is_tried_again_and_counts(tmp_path: Path, task: str) -> None:
    def serve(request: Request) -> Served:
        return refusal() if f'"task": "{task}"' in request.prompt else honest(request)

    with Loopback(serve) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        assert len(index.add(DOCUMENTS, progress=False).failed) == (3 if task == "extract" else 1)
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        estimate = index.estimate([], progress=False)
        assert (estimate.documents, estimate.passages) == ((3, 3) if task == "extract" else (0, 0))
        assert (estimate.calls, estimate.bridging_calls, estimate.bridge_entities) == (
            (4, 1, 1) if task == "extract" else (1, 1, 1)
        )
        assert index.add([], progress=False).usage.calls == estimate.calls
        sent = sum(tokens_of(request, index) for request in server.requests)
        assert estimate.prompt_tokens == pytest.approx(sent, rel=0.01)


def test_replies_that_are_kept_do_not_count(tmp_path: Path) -> None:
    documents = load_documents()

    def serve(request: Request) -> Served:
        return honest(request) if len(server.requests) <= 26 else status(401, "wrong key")

    options = {**UNPRICED, "max_parallel": 1}
    with Loopback(serve) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **options) as index:
        whole = index.estimate(documents, progress=False)
        with pytest.raises(LLMSetupError, match="What was paid for is kept, 40 replies"):
            index.add(documents, progress=False)
    replies = (tmp_path / "a.usearch.replies").read_bytes()
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **options) as index:
        estimate = index.estimate(documents, progress=False)
        assert (estimate.documents, estimate.passages) == (24, 24)
        assert (estimate.calls, estimate.bridging_calls) == (whole.calls - 26, whole.bridging_calls - 2)
        assert estimate.bridge_entities == 14  # of the 30 names that this model has found
        assert (tmp_path / "a.usearch.replies").read_bytes() == replies
        assert index.add(documents, progress=False).usage.calls == estimate.calls
        sent = sum(tokens_of(request, index) for request in server.requests)
        assert sent <= estimate.prompt_tokens <= 1.15 * sent


def test_what_is_bridged_afresh_after_pruning_counts(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("Ada", "Ben", "Cleo", "Dan"):
        (folder / f"{name}.txt").write_text(f"{name} met Otto Vane in Karsund.", encoding="utf-8")
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        index.add(folder, progress=False)
        for name in ("Cleo", "Dan"):
            (folder / f"{name}.txt").unlink()
        (folder / "Ben.txt").write_text("Ben met Otto Vane in Oslo.", encoding="utf-8")
        asked = len(server.requests)
        alone = index.estimate(folder, progress=False)
        estimate = index.estimate(folder, progress=False, prune=True)
        assert (alone.calls, alone.bridging_calls, alone.bridge_entities) == (2, 1, 2)
        assert (estimate.calls, estimate.bridging_calls, estimate.bridge_entities) == (3, 2, 3)
        report = index.add(folder, progress=False, prune=True)
        assert sorted(Path(name).stem for name in report.deleted) == ["Cleo", "Dan"]
        assert report.usage.calls == estimate.calls
        sent = sum(tokens_of(request, index) for request in server.requests[asked:])
        assert estimate.prompt_tokens == pytest.approx(sent, rel=0.01)
        with pytest.raises(InputError, match="not pruned: none of the documents is a folder"):
            index.estimate("Ada met nobody.", progress=False, prune=True)


def test_of_a_changed_document_what_stayed_does_not_count(tmp_path: Path) -> None:
    place = "The harbour of Karsund has a mole of stone. " * 20
    long = Document("harbour", f"{place}\n\n{place}", "Karsund")
    changed = Document("harbour", f"{place}\n\n{place}It was built in 1890.", "Karsund")
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        index.add(long, progress=False)
        estimate = index.estimate(changed, progress=False)
        assert estimate.calls == index.add(changed, progress=False).usage.calls == 1 < estimate.passages


def test_what_several_documents_say_counts_once(tmp_path: Path) -> None:
    copies = [Document(name, "Ada Holm was born in Bergen. She sailed.") for name in "abcde"]
    with Loopback(honest) as server, Index(tmp_path / "a.usearch", api_base=server.api_base, **UNPRICED) as index:
        for documents in (copies, [Document("renamed", copies[0].text)]):
            estimate = index.estimate(documents, progress=False)
            extracting = estimate.calls - estimate.bridging_calls
            assert extracting == (1 if documents is copies else 0)
            assert index.add(documents, progress=False).usage.calls == estimate.calls
