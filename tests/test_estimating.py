from pathlib import Path

import pytest

from minirag import Document, Index
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
