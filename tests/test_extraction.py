"""Extraction: the same passage is asked for once, whichever documents have it, in a run and in the index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, Settings
from minirag.errors import LLMReplyError, LLMSetupError
from minirag.extraction import Extractor
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Extraction, Passage
from tests.loopback import Loopback, Request, Served, honest, refusal, status

TEXT = "Aylwin is a silent film. It was directed by Henry Edwards."
LAKE = Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano")
COPIES = [Document(f"copy{n}", TEXT, "Aylwin") for n in range(5)]
PARAGRAPH = (
    "Person {n} wrote Grey Coast {n} in the town of Bergen, and many a paper of the county told of it that year. "
)
LONG = "\n\n".join((PARAGRAPH * 3).format(n=n) for n in range(4))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


def opened(path: Path, server: Loopback, **options: Any) -> Index:  # noqa: ANN401
    return Index(path, model="openai/any", api_base=server.api_base, api_key="secret", **options)


def derived(index: Index, document_id: str) -> list[tuple[str, str]]:
    hits = index.search("Bergen", k=1000, kinds=["passage", "fact", "triple"])
    return sorted((hit.kind, hit.text) for hit in hits if hit.document_ids == (document_id,))


def extractions(server: Loopback) -> int:
    return server.tasks().count("extract")


# --- in one run ----------------------------------------------------------------------------------------------------


def test_copies_of_a_document_share_one_call(path: Path) -> None:
    with Loopback() as server, opened(path, server) as index:
        expected = index.estimate([*COPIES, LAKE], progress=False)
        done: list[int] = []
        report = index.add([*COPIES, LAKE], progress=lambda stage, n, _: done.append(n) if stage == "reading" else None)
        assert (len(report.added), report.failed, extractions(server)) == (6, (), 2)
        assert expected.calls - expected.bridging_calls == 2
        assert max(done) == 6
        assert len({tuple(derived(index, copy.id)) for copy in COPIES}) == 1
        assert len(derived(index, "copy4")) > 2


def test_copies_of_a_document_share_its_failure(path: Path) -> None:
    with Loopback(lambda _: refusal("no")) as server, opened(path, server) as index:
        report = index.add(COPIES, progress=False)
        assert (len(report.failed), len(server.requests)) == (5, 1)
        assert len({failure.reason for failure in report.failed}) == 1
    with Loopback() as server, opened(path, server) as index:
        assert (index.add([], progress=False).failed, extractions(server)) == ((), 1)
        assert index.info().failed == ()


class Refusing(OfflineReasoner):
    """A reasoner that extracts nothing; it knows how often it was asked to."""

    asked = 0

    async def extract(self, passage: Passage, *, title: str) -> Extraction:  # noqa: ARG002
        self.asked += 1
        raise LLMReplyError("refusing", "no")


def test_a_failure_is_shared_by_all_batches_of_a_run() -> None:
    reasoner = Refusing()

    async def main() -> list[list[Any]]:
        pairs: Sequence[tuple[Passage, str]] = [(Passage(f"d{n}#0", f"d{n}", TEXT, 0, len(TEXT)), "") for n in (0, 1)]
        async with Extractor(reasoner, None) as extractor:
            return [await extractor.extract_all(pairs, progress=lambda _: None) for _ in range(2)]

    first, second = asyncio.run(main())
    assert [str(found) for found in (*first, *second)] == ["refusing: no"] * 4
    assert reasoner.asked == 1


class PerDocument(OfflineReasoner):
    """A reasoner of one's own to whom more goes into an extraction than text and title."""

    model = "mine"
    asked = 0

    def version_of(self, passage: Passage) -> str:
        return passage.document_id

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        self.asked += 1
        return await super().extract(passage, title=title)


def test_an_own_reasoner_may_say_that_copies_are_not_alike(path: Path) -> None:
    reasoner = PerDocument()
    with Index(path, model=reasoner) as index:
        assert len(index.add(COPIES[:3], progress=False).added) == reasoner.asked == 3


def test_a_reply_is_kept_for_all_documents_that_it_tells_of(path: Path) -> None:
    def serve(request: Request) -> Served:
        return replace(status(401), delay=0.3) if "Lugano" in request.prompt else honest(request)

    with Loopback(serve) as server, opened(path, server) as index:
        with pytest.raises(LLMSetupError, match="What was paid for is kept, 1 reply"):
            index.add([*COPIES[:2], LAKE], progress=False)
        kept = path.with_name("notes.usearch.replies")
        assert '["copy0","copy1"]' in kept.read_text()
        index.delete("copy1")
        assert not kept.exists()


def test_copies_that_have_triples_of_their_own_keep_them(path: Path) -> None:
    given = {"copy0": [("Aylwin", "director", "Henry Edwards")], "copy1": [("Aylwin", "kind", "silent film")]}
    with Loopback() as server, opened(path, server) as index:
        index.add(COPIES[:4], triples=given, progress=False)
        assert extractions(server) == 3
        triples = {hit.document_ids: hit.text for hit in index.search("Aylwin", k=50, kinds="triple")}
        assert triples["copy0",] == "Aylwin director Henry Edwards"
        assert triples["copy1",] == "Aylwin kind silent film"
        assert derived(index, "copy2") == derived(index, "copy3")
        index.add(Document("copy5", TEXT, "Aylwin"), progress=False)  # nothing was given of it, nor of the third
        assert extractions(server) == 3


# --- from the index ------------------------------------------------------------------------------------------------


def test_a_renamed_document_costs_nothing_again(path: Path) -> None:
    old, new = Document("old.txt", LONG, "Notes"), Document("new.txt", LONG, "Notes")
    with Loopback() as server, opened(path, server, settings=Settings(passage_tokens=96)) as index:
        index.add(old, progress=False)
        asked = extractions(server)
        assert asked == index.info().passages >= 4
        assert index.estimate(new, progress=False).calls - index.estimate(new, progress=False).bridging_calls == 0
        assert index.add(new, progress=False).added == ("new.txt",)
        assert extractions(server) == asked
        assert derived(index, "new.txt") == derived(index, "old.txt")
        index.add(Document("more.txt", f"{LONG}\n\n{LAKE.text}", "Notes"), progress=False)
        assert extractions(server) == asked + 1
        index.add(Document("other.txt", LONG, "Another title"), progress=False)
        assert extractions(server) == 2 * asked + 1


def test_what_is_gone_or_failed_is_not_reused_and_nothing_is_when_all_is_asked_afresh(path: Path) -> None:
    one, other = COPIES[0], COPIES[1]
    with Loopback() as server, opened(path, server) as index:
        index.add(one, progress=False)
        index.add(other, progress=False, reextract=True)
        assert extractions(server) == 2
        index.delete([one.id, other.id], progress=False)
        index.add(other, progress=False)
        assert extractions(server) == 3
    path.unlink()
    with Loopback([refusal("no")]) as server, opened(path, server) as index:
        assert len(index.add(one, progress=False).failed) == 1
    with Loopback() as server, opened(path, server) as index:
        assert index.add(other, progress=False).failed == ()
        assert extractions(server) == 1  # for both
