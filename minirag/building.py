"""The order of building: documents in, one consistent commit out. Every derived record follows its sources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.bridging import find_shared_entities, find_touched
from minirag.deriving import Deriver, find_stop
from minirag.ending import while_wanted
from minirag.errors import BudgetExceededError, LLMSetupError, MiniragError
from minirag.loop import finish
from minirag.models import INDEXING, OFFLINE
from minirag.naming.names import normalise_name
from minirag.planning import (
    BatchReport,
    Plan,
    failed_documents,
    find_dead,
    plan_batch,
    plan_deletion,
    plan_retries,
)
from minirag.progress import Progress
from minirag.reasoner import Reasoner, who_does
from minirag.records import (
    AddReport,
    Bridge,
    DeleteReport,
    Document,
    Failure,
    Ledger,
    Settings,
    Usage,
)
from minirag.storage.accounts import usage_in, usage_to_header
from minirag.storage.journal import Journal
from minirag.storage.kept_vectors import KeptVectors
from minirag.storage.layout import dimensions_in
from minirag.storage.merging import empty_data, merge, read_vectors
from minirag.storage.segment import StoredDocument, passage_id
from minirag.storage.segment_data import SegmentData
from minirag.storage.tables import hash_key
from minirag.storage.writing import Change

if TYPE_CHECKING:
    from minirag.encoder import Encoder
    from minirag.storage.snapshot import Snapshot
    from minirag.storage.store import Store

BATCH = 512  # documents that are extracted, encoded and committed together

Item = Document | Failure


class Builder:
    """One run of `add` or `delete`: holds the writer's lock for as long as its methods run."""

    def __init__(
        self,
        store: Store,
        *,
        encoders: Callable[[], tuple[Encoder, Encoder]],
        reasoner: Reasoner,
        ledger: Ledger,
        settings: Settings,
        progress: Progress,
    ) -> None:
        """Nothing happens yet.

        `encoders` gives encoder and aligner, or raises why they are not to be had: asked when something is to be
        encoded, and before a call is paid for.
        """
        self._store = store
        self._deriver = Deriver(encoders=encoders, reasoner=reasoner, settings=settings, progress=progress)
        self._reasoner = reasoner
        self._ledger = ledger
        self._settings = settings
        self._progress = progress
        self._usage_before = Usage()
        self._stopped: BudgetExceededError | None = None
        self._vectors: KeptVectors  # while a run lasts

    @property
    def _snapshot(self) -> Snapshot:
        return self._store.snapshot

    # --- add -------------------------------------------------------------------------------------------------------

    async def add(self, items: Iterable[Item], *, reextract: bool = False) -> AddReport:
        """Index documents, and try again what failed in earlier runs.

        Args:
            items: Documents with distinct ids, and what could not be loaded.
            reextract: Derive documents afresh even if their content is the same.

        Raises:
            LLMSetupError: When no call can succeed; its message says what is kept.
            BudgetExceededError: When the run may spend no more; its `report` tells what is in the index.
        """
        with (
            self._store.writing(),
            self._keeping_vectors(),
            self._open_journal() as journal,
            self._accounting(journal),
            _telling_what_is_kept(journal),
        ):
            async with self._deriver.keeping(journal):
                return await self._add(items, journal, reextract=reextract)

    async def _add(self, items: Iterable[Item], journal: Journal | None, *, reextract: bool) -> AddReport:
        report = BatchReport()
        retried = failed_documents(self._snapshot)
        pending = set(self._snapshot.pending.tolist())
        source = iter(items)
        batch = await asyncio.to_thread(_take, source)
        while True:
            following = await asyncio.to_thread(_take, source)
            await self._deriver.read_ahead([batch, following], self._snapshot, reuse=not reextract)
            plan = plan_batch(batch, self._snapshot, reextract=reextract)
            if not following:
                plan_retries(plan, self._snapshot, retried)
            if plan.documents or plan.relabelled or not following:
                pending = await self._commit_within_budget(plan, pending, journal=journal, last=not following)
            report.extend(plan.report)
            if self._stopped is not None or not following:
                break
            batch = following
        done = report.to_add_report()
        if self._stopped is not None:  # the journal keeps its replies for the next run
            self._stopped.report = done
            raise self._stopped
        if journal is not None:
            done_with = [*report.added, *report.updated, *report.unchanged]
            journal.settle(done_with, failed=[failure.id for failure in report.failed])
        return done

    @contextmanager
    def _keeping_vectors(self) -> Iterator[None]:
        with KeptVectors(self._store.path) as self._vectors:
            yield

    def _open_journal(self) -> Any:  # noqa: ANN401  a journal, or a context without one
        free = all(who_does(self._reasoner, task).model == OFFLINE for task in INDEXING)
        return _NoJournal() if free else Journal(self._store.path, note=lambda: self._spent_so_far().to_dict())

    async def _commit_within_budget(
        self, plan: Plan, pending: set[int], *, journal: Journal | None, last: bool
    ) -> set[int]:
        """`_commit_batch`; of a batch whose vectors cannot be paid for, nothing is committed."""
        try:
            return await self._commit_batch(plan, pending, journal=journal, last=last)
        except BudgetExceededError as error:
            self._stopped = self._stopped or error
            plan.leave_out({*(document.id for document in plan.documents), *plan.relabelled})
            return pending

    async def _commit_batch(self, plan: Plan, pending: set[int], *, journal: Journal | None, last: bool) -> set[int]:
        derived, stopped = await self._deriver.derive(plan)
        documents, data = await self._encode(plan, plan.leave_unmended(derived))
        self._stopped = self._stopped or stopped
        last = last and self._stopped is None
        bridged, gone, touched = find_touched(plan, documents, self._snapshot, within=self._settings.bridge_within)
        pending = pending | touched
        bridges: list[Bridge] = []
        failed_names: list[list[str]] = []
        if last:
            shared = find_shared_entities(self._snapshot, pending, bridged, gone=gone, settings=self._settings)
            bridges, failures = await self._deriver.bridge(shared, journal, may_fail=not plan.documents)
            self._stopped = self._stopped or find_stop(failures.values())
            bridges, of_bridges = await self._deriver.encode_bridges(bridges, shared, failures, self._vectors)
            data = merge([data, *of_bridges])
            failed_names = [
                [shared[key].name, str(error)]
                for key, error in failures.items()
                if not isinstance(error, BudgetExceededError)
            ]
            plan.report.failed += [Failure(f"bridge entity {name}", reason) for name, reason in failed_names]
            dropped, pending = pending, {hash_key(key.name) for key in failures}
        else:
            dropped = touched
        data = merge([*self._read_relabelled(plan), data])
        header = self._header(documents, set(plan.replaced), failed_names if last else None)
        if bridges and who_does(self._reasoner, "bridge").model != OFFLINE:
            header["bridged_by_model"] = True
        dead = find_dead(self._snapshot, plan.rows, dropped)
        content = data if data.documents or data.bridges else None
        change = Change(header, np.array(sorted(pending), "<u8"), content, dead)
        await finish(asyncio.to_thread(self._commit, change))  # the lock must be held for as long as it writes
        self._vectors.forget()
        return pending

    def _commit(self, change: Change) -> None:
        change = replace(change, account=lambda: usage_to_header(self._spent_so_far()))
        same_state = change.header == self._snapshot.header and np.array_equal(change.pending, self._snapshot.pending)
        if change.data is not None or change.dead or not same_state:
            self._store.commit(change)

    # --- delete ----------------------------------------------------------------------------------------------------

    async def delete(self, document_ids: Iterable[str]) -> DeleteReport:
        """Take documents out, with everything derived from them, and bridge afresh what others still share.

        Raises:
            BudgetExceededError: When the run may spend no more; its `report` tells what was deleted all the same, and
                what could not be bridged waits for the next `add`.
        """
        with (
            self._store.writing(),
            self._keeping_vectors(),
            self._open_journal() as journal,
            self._accounting(journal),
        ):
            plan, missing = plan_deletion(document_ids, self._snapshot)
            if plan.replaced:
                await self._commit_batch(plan, set(self._snapshot.pending.tolist()), journal=journal, last=True)
            if journal is not None:
                journal.settle([*plan.replaced, *missing])
            self._vectors.discard()  # nobody can tell what they are of
        report = DeleteReport(tuple(plan.replaced), tuple(missing), tuple(plan.report.failed))
        if self._stopped is not None:
            self._stopped.report = report
            raise self._stopped
        return report

    # --- parts of a commit -----------------------------------------------------------------------------------------

    async def _encode(
        self, plan: Plan, documents: Sequence[StoredDocument]
    ) -> tuple[list[StoredDocument], SegmentData]:
        if documents:
            return await self._deriver.encode_documents(plan, documents, self._vectors)
        return [], empty_data(dimensions_in(self._snapshot.header), normalise_name)  # for which no encoder is needed

    def _read_relabelled(self, plan: Plan) -> Iterator[SegmentData]:
        for each in plan.relabelled.values():
            yield read_vectors(self._snapshot.segments[each.segment], each.row, each.now, normalise_name)

    # --- header ----------------------------------------------------------------------------------------------------

    def _header(
        self, documents: Sequence[StoredDocument], replaced: set[str], failed_names: list[list[str]] | None
    ) -> dict[str, Any]:
        header = dict(self._snapshot.header)
        kept = [[p, why] for p, why in header["failed_passages"] if p.rpartition("#")[0] not in replaced]
        fresh = [
            [passage_id(document.id, position, passage.text), passage.failure]
            for document in documents
            for position, passage in enumerate(document.passages)
            if passage.failure is not None
        ]
        header["failed_passages"] = kept + fresh
        if failed_names is not None:
            header["failed_names"] = failed_names
        if documents:
            header["model"] = who_does(self._reasoner, "extract").model
        header.update(self._account_of_calls())
        return header

    def _spent_so_far(self) -> Usage:
        """What building took over the index's life, this run so far included."""
        spent = self._usage_before + self._ledger.of_part()
        return replace(spent, seconds=round(spent.seconds, 3))

    def _account_of_calls(self) -> dict[str, Any]:
        """For the header, the time as in the last one: that more went by is no reason to write anything."""
        return usage_to_header(replace(self._spent_so_far(), seconds=usage_in(self._snapshot.header).seconds))

    @contextmanager
    def _accounting(self, journal: Journal | None) -> Iterator[None]:
        """Keep what a run took also where it ends in the middle: replies that were paid for are in the journal.

        A run that was killed could only note beside its replies what it took; the larger sum is the later one.
        """
        noted = (Usage.from_dict(note) for note in (journal.notes if journal is not None else ()))
        self._usage_before = max(
            [usage_in(self._snapshot.header), *noted], key=lambda usage: (usage.calls, usage.seconds)
        )
        before = self._snapshot.contents.commit
        self._ledger.begin_part()  # a run that adds and then prunes has its first half in the header
        try:
            yield
        except BaseException:
            if self._ledger.of_part().calls or self._snapshot.contents.commit != before:
                header = {**self._snapshot.header, **usage_to_header(self._spent_so_far())}
                with suppress(MiniragError):  # the user must hear of what ended the run, not of what that caused
                    self._commit(Change(header, self._snapshot.pending))
            raise


@contextmanager
def _telling_what_is_kept(journal: Journal | None) -> Iterator[None]:
    """Around a run that a fault of the model's setup may end, after others were answered."""
    try:
        yield
    except LLMSetupError as error:
        if journal:
            kept = "1 reply" if len(journal) == 1 else f"{len(journal):,} replies"
            error.args = (f"{error}. What was paid for is kept, {kept}: once this is mended, the same add goes on",)
        raise


class _NoJournal:
    """Stands where replies cost nothing."""

    def __enter__(self) -> None:
        """There is none."""

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


def _take(source: Iterator[Item]) -> list[Item]:
    return list(while_wanted(islice(source, BATCH)))
