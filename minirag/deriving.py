"""Documents into the records that are written of them: split, extracted, encoded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from minirag.bridging import bridge_all
from minirag.embedding import embed, find_refused, texts_of
from minirag.ending import check_wanted, in_thread
from minirag.errors import BudgetExceededError, LLMError, MiniragError, TextsRefusedError
from minirag.extraction import Extracted, Extractor, extraction_key, in_batches
from minirag.planning import BridgeKey, Plan, find_too_large, store_document
from minirag.records import Bridge, Document, Extraction, Failure, Passage, Settings, SharedEntity
from minirag.splitting import split
from minirag.storage.merging import find_extractions
from minirag.storage.segment import Segment, StoredDocument

if TYPE_CHECKING:
    from minirag.encoder import Encoder
    from minirag.progress import Progress
    from minirag.reasoner import Reasoner
    from minirag.storage.journal import Journal
    from minirag.storage.kept_vectors import KeptVectors
    from minirag.storage.segment_data import SegmentData
    from minirag.storage.snapshot import Snapshot

_AT_ONCE = 32  # documents that are split and begun with before the loop sees to the calls of those before them


class Deriver:
    """Derives for one run."""

    def __init__(
        self,
        *,
        encoders: Callable[[], tuple[Encoder, Encoder]],
        reasoner: Reasoner,
        settings: Settings,
        progress: Progress,
    ) -> None:
        """Nothing happens yet; `encoders` gives encoder and aligner, or raises why they are not to be had."""
        self._encoders = encoders
        self._reasoner = reasoner
        self._settings = settings
        self._progress = progress
        self._extractor = Extractor(reasoner, None)
        self._begun: set[str] = set()

    def keeping(self, journal: Journal | None) -> Extractor:
        """What is to be entered for the time of a run: replies are kept in the journal, and may be asked for ahead."""
        self._extractor = Extractor(self._reasoner, journal)
        return self._extractor

    async def read_ahead(
        self, batches: Iterable[Sequence[Document | Failure]], snapshot: Snapshot, *, reuse: bool
    ) -> None:
        """Begin with the documents that are new, those of the first batch first; a few at once, so that calls go.

        With `reuse`, not with passages that are there already, of whichever document.
        """
        segments = snapshot.segments if reuse else ()
        for batch in batches:
            new = [item for item in batch if isinstance(item, Document) and item.id not in self._begun]
            new = [document for document in new if snapshot.find_document(document.id) is None]
            self._begun = {document.id for document in new} | self._begun
            for some in in_batches(new, _AT_ONCE):
                self._extractor.begin(await asyncio.to_thread(self._unknown_passages, some, segments))

    async def derive(self, plan: Plan) -> tuple[list[StoredDocument], BudgetExceededError | None]:
        """Split a plan's documents, and extract what is not known yet.

        Args:
            plan: Documents that the budget did not reach, and those of too large records, leave it.

        Returns:
            The documents as they are to be written, and what ended the budget if that was the case.
        """
        passages, too_large = await asyncio.to_thread(self._split_all, plan.documents)
        plan.refuse(too_large)
        titles = {document.id: document.title for document in plan.documents}
        keys = {p.id: extraction_key(p, title=titles[p.document_id], reasoner=self._reasoner) for p in passages}
        texts = {keys[passage.id]: passage.text for passage in passages if keys[passage.id] not in plan.known}
        plan.known.update(await asyncio.to_thread(self._recall, texts, plan.segments))
        wanted = [passage for passage in passages if keys[passage.id] not in plan.known]
        with self._progress.stage("reading", len(wanted)) as done:
            pairs = [(passage, titles[passage.document_id]) for passage in wanted]
            found = await self._extractor.extract_all(pairs, progress=done)
        results, unreached = _sort_out(wanted, found)
        plan.leave_out(unreached)
        kept = {document.id for document in plan.documents}
        by_document: dict[str, list[tuple[Passage, Extraction | LLMError, str]]] = {}
        for passage in (passage for passage in passages if passage.document_id in kept):
            result = results[passage.id] if passage.id in results else plan.known[keys[passage.id]]
            by_document.setdefault(passage.document_id, []).append((passage, result, keys[passage.id]))
            if isinstance(result, LLMError):
                plan.report.failed.append(Failure(passage.id, str(result)))
        documents = [store_document(document, by_document[document.id]) for document in plan.documents]
        return documents, find_stop(found)

    async def encode_documents(
        self, plan: Plan, documents: Sequence[StoredDocument], kept: KeptVectors
    ) -> tuple[list[StoredDocument], SegmentData]:
        """A plan's documents with their vectors; `kept` has and gets those of a hosted encoder.

        Returns:
            Those of which its provider takes all texts. The others leave the plan, which reports why.

        Raises:
            EncoderError: If an encoder cannot be loaded or run.
            EncoderMismatchError: If those to be had are not the file's.
            BudgetExceededError: If a hosted one cannot be paid.
        """
        left = list(documents)
        while True:
            try:
                return left, await self._encode(left, [], kept)
            except TextsRefusedError as error:
                refused = find_refused(left, error)
                if not refused:
                    raise
                plan.refuse([Failure(document_id, str(reason)) for document_id, reason in refused.items()])
                left = [document for document in left if document.id not in refused]

    async def bridge(
        self, shared: Mapping[BridgeKey, SharedEntity], journal: Journal | None, *, may_fail: bool
    ) -> tuple[list[Bridge], dict[BridgeKey, MiniragError]]:
        """Bridging facts, and why an entity has none; see `bridge_all`.

        Deleting goes on without a model: what should be bridged afresh waits for the next `add`.
        """
        if shared:
            self._encoders()  # or it is told why they are not to be had, before something is paid for
        with self._progress.stage("bridging", len(shared)) as done:
            bridges, failures = await bridge_all(
                shared, reasoner=self._reasoner, journal=journal, progress=done, may_fail=may_fail
            )
        return bridges, dict(failures)

    async def encode_bridges(
        self,
        bridges: Sequence[Bridge],
        shared: Mapping[BridgeKey, SharedEntity],
        failures: dict[BridgeKey, MiniragError],
        kept: KeptVectors,
    ) -> tuple[list[Bridge], list[SegmentData]]:
        """Bridging facts with their vectors, if there are any, as for documents.

        Returns:
            Those of entities of which none is refused. The other entities are among the failures then.
        """
        left = list(bridges)
        while left:
            try:
                return left, [await self._encode([], left, kept)]
            except TextsRefusedError as error:
                reasons = {bridge.entity: error.among([bridge.text]) for bridge in left}
                refused = {entity: reason for entity, reason in reasons.items() if reason is not None}
                if not refused:
                    raise
                failures |= {key: refused[entity.name] for key, entity in shared.items() if entity.name in refused}
                left = [bridge for bridge in left if bridge.entity not in refused]
        return [], []

    async def _encode(
        self, documents: Sequence[StoredDocument], bridges: Sequence[Bridge], kept: KeptVectors
    ) -> SegmentData:
        encoder, aligner = self._encoders()
        total = sum(map(len, texts_of(documents, bridges)))
        with self._progress.stage("encoding", total) as done:
            return await in_thread(
                embed, documents, bridges, encoder=encoder, aligner=aligner, kept=kept, progress=done
            )

    def _unknown_passages(
        self, documents: Sequence[Document], segments: Sequence[Segment]
    ) -> list[tuple[Passage, str]]:
        """The passages of which nothing was extracted that can be reused, each with its document's title."""
        titles = {document.id: document.title for document in documents}
        pairs = [(passage, titles[passage.document_id]) for passage in self._split_all(documents)[0]]
        keys = [extraction_key(passage, title=title, reasoner=self._reasoner) for passage, title in pairs]
        known = self._recall({key: passage.text for key, (passage, _) in zip(keys, pairs, strict=True)}, segments)
        return [pair for pair, key in zip(pairs, keys, strict=True) if key not in known]

    def _recall(self, texts: Mapping[str, str], segments: Sequence[Segment]) -> dict[str, Extraction]:
        """What is stored of passages with these keys: a file that was renamed costs nothing again."""
        return find_extractions(segments, texts) if self._extractor.keeps else {}

    def _split_all(self, documents: Sequence[Document]) -> tuple[list[Passage], list[Failure]]:
        """The passages of those whose records have a place in the file, and what is wrong with the others."""
        passages: list[Passage] = []
        failures: list[Failure] = []
        for document in documents:
            check_wanted()
            found: list[Passage] = []
            if (failure := find_too_large(document, found)) is None:
                found = split(document, encoder=self._encoders()[0], max_tokens=self._settings.passage_tokens)
                failure = find_too_large(document, found)
            if failure is None:
                passages += found
            else:
                failures.append(failure)
        return passages, failures


def find_stop(outcomes: Iterable[object]) -> BudgetExceededError | None:
    """What ended the run's budget, among what came of calls."""
    return next((outcome for outcome in outcomes if isinstance(outcome, BudgetExceededError)), None)


def _sort_out(
    passages: Sequence[Passage], found: Sequence[Extracted]
) -> tuple[dict[str, Extraction | LLMError], set[str]]:
    """What came of each passage, and the documents with one that the budget did not reach."""
    results: dict[str, Extraction | LLMError] = {}
    unreached = set()
    for passage, result in zip(passages, found, strict=True):
        if isinstance(result, BudgetExceededError):
            unreached.add(passage.document_id)
        else:
            results[passage.id] = result
    return results, unreached
