from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.encoder import HostedEncoder
from tests.loopback import Loopback, honest

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
        assert estimate.prompt_tokens == pytest.approx(report.usage.prompt_tokens, rel=0.5)
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
