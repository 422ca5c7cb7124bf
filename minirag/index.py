"""`Index`: one file of documents, facts, triples and bridging facts, to be added to, searched and asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from minirag import loop, telemetry
from minirag.encoder import check_budget, open_encoder, price_of
from minirag.ending import noting, while_wanted
from minirag.errors import BudgetExceededError, IndexReadOnlyError, InputError
from minirag.models import INDEXING
from minirag.opening import normalise_name
from minirag.progress import Listener, Progress
from minirag.pruning import MOST, REFUSED, Seen, find_gone
from minirag.reading import OpenIndex, check_ids
from minirag.records import (
    AddReport,
    Budget,
    DeleteReport,
    Document,
    Estimate,
    Failure,
    Ledger,
    Task,
    Usage,
    counting,
)
from minirag.storage.store import Store, is_there

# What only writing needs is imported where it is used: a function that answers questions opens in half the time.
if TYPE_CHECKING:
    from os import PathLike

    from minirag.building import Builder
    from minirag.encoder import Encoder
    from minirag.loading import Source
    from minirag.models import AnyModel
    from minirag.reasoner import Reasoner

Report = TypeVar("Report", AddReport, DeleteReport)
_log = logging.getLogger(__name__)


class Index(OpenIndex):
    """One index file, open.

    Reading is safe from any number of threads. Writing takes a lock on the file for as long as it lasts. It is a
    context manager; leaving it closes the file.
    """

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(
        self,
        documents: Source | Iterable[Source],
        *,
        progress: bool | Listener = True,
        reextract: bool = False,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
        on_skip: Callable[[Path], None] | None = None,
        max_cost: float | Budget | None = None,
        prune: bool = False,
        prune_most: float = MOST,
    ) -> AddReport:
        """Index documents: split, extract, encode, bridge, commit.

        An id that is there with the same content is left alone; with other content it is replaced, with all that was
        derived from it. What failed in an earlier run is tried again.

        Args:
            documents: Documents, dicts, texts, or paths of files and folders; see `minirag.loading.load`.
            progress: Bars for what takes longer than a second; or a function, told stage, done and total.
            reextract: Derive afresh also what is unchanged, for a better model or prompt.
            triples: Knowledge triples (head, relation, tail) made elsewhere, by document id: they take the place of
                those that would be extracted.
            on_skip: Told each file that a folder's walk passed over.
            max_cost: Dollars that this call may spend, or a `minirag.records.Budget` that several calls share; None for
                no limit.
            prune: Afterwards delete what came from the folders among `documents` and is gone from them; see `prune`.
            prune_most: The share of a folder's documents that may go, from 0 to 1. Where it is more, none goes, and the
                report's `failed` says so.

        Returns:
            What was added, updated, unchanged and failed, and what it took.

        Raises:
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
            LLMSetupError: When the model cannot be called at all. What was paid for is kept for the next `add`.
            BudgetExceededError: When the next call might cost more than `max_cost` leaves. Documents that were done are
                in the index (`error.report`), replies for the others are kept: the next `add` goes on from there.
            InputError: When `max_cost` is given for a model of unknown price, or `prune` without any folder.
        """
        pruning = prune_most if prune else None
        with self._saying_how_to_go_on("add"):
            return loop.run(self._add(documents, progress, reextract, triples, on_skip, max_cost, pruning))

    async def aadd(
        self,
        documents: Source | Iterable[Source],
        *,
        progress: bool | Listener = True,
        reextract: bool = False,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
        on_skip: Callable[[Path], None] | None = None,
        max_cost: float | Budget | None = None,
        prune: bool = False,
        prune_most: float = MOST,
    ) -> AddReport:
        """`add`, to be awaited."""
        pruning = prune_most if prune else None
        with self._saying_how_to_go_on("add"):
            return await loop.await_(self._add(documents, progress, reextract, triples, on_skip, max_cost, pruning))

    def delete(
        self, ids: str | Iterable[str], *, progress: bool | Listener = True, max_cost: float | None = None
    ) -> DeleteReport:
        """Take documents out, with everything derived from them.

        Bridging facts that used them go too, and their entities are bridged afresh where two documents still share
        them, all in one commit.

        Args:
            ids: Document ids, or one.
            progress: As for `add`.
            max_cost: Dollars that bridging afresh may take; None for no limit.

        Raises:
            ValueError: When an id is no string.
            BudgetExceededError: When the next call might cost more than `max_cost` leaves. The documents are gone, and
                names that were not bridged afresh wait for the next `add`; but where a hosted encoder could not be
                paid, nothing is deleted (`error.report` is None).
            InputError: When `max_cost` is given for a model of unknown price.
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
        """
        with self._saying_how_to_go_on("delete"):
            return loop.run(self._delete(ids, progress, max_cost))

    async def adelete(
        self, ids: str | Iterable[str], *, progress: bool | Listener = True, max_cost: float | None = None
    ) -> DeleteReport:
        """`delete`, to be awaited."""
        with self._saying_how_to_go_on("delete"):
            return await loop.await_(self._delete(ids, progress, max_cost))

    def prune(
        self,
        folder: str | PathLike[str],
        *,
        most: float = MOST,
        progress: bool | Listener = True,
        max_cost: float | None = None,
    ) -> DeleteReport:
        """Delete the documents that were read from files below a folder which are not there any more.

        Documents that came from elsewhere stay, whatever their ids. Nothing is read or converted: what vanished from a
        `.json` or `.jsonl` file that is still there, only `add(folder, prune=True)` sees.

        Args:
            folder: As it was given to `add`; a relative one is looked up from where the program runs.
            most: The share of the folder's documents that may go, from 0 to 1.
            progress: As for `add`.
            max_cost: As for `delete`.

        Raises:
            InputError: If it is no folder that can be read, more than `most` would go, or `max_cost` is given for a
                model of unknown price; nothing is deleted then.
            BudgetExceededError: As `delete` raises it.
            ValueError: If `most` is out of range.
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
        """
        with self._saying_how_to_go_on("prune"):
            return loop.run(self._prune(folder, most, progress, max_cost))

    async def aprune(
        self,
        folder: str | PathLike[str],
        *,
        most: float = MOST,
        progress: bool | Listener = True,
        max_cost: float | None = None,
    ) -> DeleteReport:
        """`prune`, to be awaited."""
        with self._saying_how_to_go_on("prune"):
            return await loop.await_(self._prune(folder, most, progress, max_cost))

    def compact(self) -> None:
        """Write the file afresh, without what was deleted or replaced; happens by itself when much has gathered."""
        with self._store.writing():
            self._store.compact()

    def reembed(
        self,
        encoder: str | Path | Encoder | None,
        *,
        progress: bool | Listener = True,
        max_cost: float | None = None,
    ) -> Usage:
        """Change the encoder: compute all vectors afresh from the stored texts, without any LLM call, atomically.

        Passages stay as they were split; what lies beyond the new encoder's window of one is not seen. Other open
        `Index` objects of the file stay on the commit that they hold until they are opened again. Let no other thread
        search through this one meanwhile.

        Args:
            encoder: As for `Index`.
            progress: As for `add`.
            max_cost: Dollars that a hosted encoder may take; None for no limit.

        Returns:
            What it took.

        Raises:
            EncoderError: If the encoder cannot be loaded or run, or does not take a text; the file is then as it was,
                and vectors that were paid for are kept for the next call.
            BudgetExceededError: If all vectors might cost more than `max_cost`; nothing was called.
            InputError: When `max_cost` is given for a hosted encoder of unknown price.
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
        """
        from minirag.reembedding import telling_how_to_go_on

        with telling_how_to_go_on(self.path):
            return loop.run(self._reembed(encoder, Progress(progress), Ledger(max_cost=max_cost)))

    async def _reembed(self, encoder: str | Path | Encoder | None, progress: Progress, ledger: Ledger) -> Usage:
        from minirag.encoder import close_encoder
        from minirag.reembedding import reembed_store

        opened = open_encoder(encoder, prices=self._models.prices)
        async with self._turn:
            await reembed_store(self._store, opened, encoder, progress=progress, ledger=ledger)
            closing, self._store = self._store, Store(self._store.path, mode="a", normalise=normalise_name)
            replaced = self._encoder
            self._use_encoder(opened)
            closing.close()
            if replaced is not None and replaced is not opened:
                await asyncio.to_thread(close_encoder, replaced)
        return ledger.total(seconds=ledger.now())

    def estimate(
        self,
        documents: Source | Iterable[Source],
        *,
        model: str | None = None,
        models: Mapping[str, AnyModel] | None = None,
        progress: bool | Listener = True,
        reextract: bool = False,
        prune: bool = False,
    ) -> Estimate:
        """What `add` would take, before a cent is spent.

        Documents are split, read by rules, and their bridge entities counted; nothing is called or written. What failed
        before counts, as it is tried again; what an interrupted run has kept does not.

        Args:
            documents: As for `add`.
            model: Another model than the index's.
            models: By task, in the place of `model`: "extract" and "bridge" are priced each by its own.
            progress: As for `add`.
            reextract: As for `add`.
            prune: As for `add`, however much of a folder's documents would go.

        Raises:
            InputError: With `prune`, when none of the documents is a folder.
        """
        return loop.run(self._estimate(documents, model, models, progress, reextract=reextract, prune=prune))

    async def _estimate(
        self,
        documents: Source | Iterable[Source],
        model: str | None,
        models: Mapping[str, AnyModel] | None,
        progress: bool | Listener,
        *,
        reextract: bool,
        prune: bool,
    ) -> Estimate:
        from minirag.estimating import estimate, rehearse
        from minirag.loading import load
        from minirag.splitting import count_tokens

        documents, folders = _with_folders(documents, is_pruned=prune)
        seen = Seen()
        items = await asyncio.to_thread(lambda: list(while_wanted(seen.watch(load(documents)))))
        gone: list[str] = []
        for folder in folders:
            with suppress(InputError):  # one that cannot be read, from which `add` deletes nothing either
                gone += find_gone(self._store.snapshot, folder, most=1.0, seen=seen)
        rehearsal = await rehearse(
            items,
            self._store,
            encoders=lambda: (self.encoder, self.aligner),
            reasoner=self.reasoner(model, Ledger(), models=models),
            settings=self.settings,
            progress=Progress(progress),
            reextract=reextract,
            gone=gone,
        )
        return await asyncio.to_thread(
            estimate,
            rehearsal,
            extract=self._models.price(model, task="extract", models=models),
            bridge=self._models.price(model, task="bridge", models=models),
            encode=price_of(self.encoder) if rehearsal.documents or rehearsal.bridges else None,
            count=lambda text: count_tokens(self.encoder.tokenizer, text),
        )

    async def _add(
        self,
        documents: Source | Iterable[Source],
        progress: bool | Listener,
        reextract: bool,
        triples: Mapping[str, Iterable[Sequence[str]]] | None,
        on_skip: Callable[[Path], None] | None,
        max_cost: float | Budget | None,
        pruning: float | None,
    ) -> AddReport:
        documents, folders = _with_folders(documents, is_pruned=pruning is not None)
        seen = Seen()
        items = seen.watch(_load(documents, on_skip, Progress(progress)))

        async def work(builder: Builder) -> AddReport:
            report = await builder.add(items, reextract=reextract)
            for folder in folders:
                report = await self._prune_after(builder, report, folder, pruning or 0.0, seen)
            return report

        return await self._build(progress, work, named="minirag.add", triples=triples, max_cost=max_cost)

    async def _prune_after(
        self, builder: Builder, report: AddReport, folder: Path, most: float, seen: Seen
    ) -> AddReport:
        try:
            gone = find_gone(self._store.snapshot, folder, most=most, seen=seen)
        except InputError as error:
            return replace(report, failed=(*report.failed, Failure(folder.as_posix(), str(error))))
        try:
            done = await builder.delete(gone)
        except BudgetExceededError as error:
            error.report = _with_pruned(report, error.report or DeleteReport())
            raise
        return _with_pruned(report, done)

    async def _prune(
        self, folder: str | PathLike[str], most: float, progress: bool | Listener, max_cost: float | None
    ) -> DeleteReport:
        async def work(builder: Builder) -> DeleteReport:
            self._store.refresh()
            return await builder.delete(find_gone(self._store.snapshot, Path(folder), most=most))

        return await self._build(progress, work, named="minirag.prune", tasks=("bridge",), max_cost=max_cost)

    async def _delete(
        self, ids: str | Iterable[str], progress: bool | Listener, max_cost: float | None
    ) -> DeleteReport:
        wanted = list(ids) if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)) else [ids]
        check_ids(*wanted)

        async def work(builder: Builder) -> DeleteReport:
            return await builder.delete(wanted)

        return await self._build(progress, work, named="minirag.delete", tasks=("bridge",), max_cost=max_cost)

    async def _build(
        self,
        progress: bool | Listener,
        work: Callable[[Builder], Coroutine[Any, Any, Report]],
        *,
        named: str,
        tasks: Sequence[Task] = INDEXING,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
        max_cost: float | Budget | None = None,
    ) -> Report:
        if self._store.mode == "r":
            raise IndexReadOnlyError(self.path, "was opened with mode='r'. Open it with mode='a' to write")
        ledger = Ledger(max_cost=max_cost)
        if self._lacking is None:
            check_budget(self.encoder, ledger)
        self.check_prices(tasks, ledger)
        reasoner = self.reasoner(None, ledger)
        if triples is not None:
            from minirag.reasoner.given import GivenTriples

            reasoner = GivenTriples(reasoner, triples)
        builder = self._builder(reasoner, ledger, progress)
        try:
            with counting(ledger), telemetry.span("invoke_workflow", named, {"gen_ai.workflow.name": named}):
                async with self._turn:
                    report = await work(builder)
        except BudgetExceededError as error:
            if error.report is not None:
                error.report = replace(error.report, usage=error.usage)
            raise
        done = replace(report, usage=ledger.total(seconds=ledger.now()))
        _log.info(
            "%s: %s by %s",
            self.path,
            done,
            ", ".join(self.models_of(done.usage)),
        )
        return done

    def _saying_how_to_go_on(self, call: str) -> AbstractContextManager[None]:
        how = f"What was paid for is kept; run the same {call} again to go on."
        return noting(how, f"{self.path}: {call}", _log)

    def _builder(self, reasoner: Reasoner, ledger: Ledger, progress: bool | Listener) -> Builder:
        from minirag.building import Builder

        return Builder(
            self._store,
            encoders=lambda: (self.encoder, self.aligner),
            reasoner=reasoner,
            ledger=ledger,
            settings=self.settings,
            progress=Progress(progress),
        )


@contextmanager
def open_to_estimate(
    path: str | PathLike[str],
    *,
    encoder: str | Path | Encoder | None = None,
    **arguments: Any,  # noqa: ANN401
) -> Iterator[Index]:
    """An index to make estimates with: the one that is there, or an empty one that nobody sees. Nobody is called.

    Args:
        path: Where it is, or is to be.
        encoder: As for `Index`.
        arguments: Likewise, but for `mode`.
    """
    if is_there(Path(path)):
        with Index(path, mode="r", encoder=encoder, **arguments) as index:
            yield index
        return
    with TemporaryDirectory() as scratch, Index(Path(scratch) / "empty.usearch", **arguments) as index:
        index._use_encoder(open_encoder(encoder, prices=arguments.get("prices")))  # a new file asks for its dimensions
        yield index


def _with_folders(
    documents: Source | Iterable[Source], *, is_pruned: bool
) -> tuple[Source | Iterable[Source], list[Path]]:
    """The documents, and the folders among them, where what is gone from these is to be deleted.

    Raises:
        InputError: If there is none.
    """
    if not is_pruned:
        return documents, []
    from minirag.loading import find_folders

    several, folders = find_folders(documents)
    if not folders:
        raise InputError(f"{REFUSED}none of the documents is a folder that is there")
    return several, folders


def _load(
    documents: Source | Iterable[Source], on_skip: Callable[[Path], None] | None, progress: Progress
) -> Iterator[Document | Failure]:
    """What `load` gives, with a bar for the files that are converted; it ends with them, while others are to come."""
    from minirag.loading import count_files, load

    with progress.stage("converting", count_files(documents) if progress.is_shown else 0) as done:
        yield from load(documents, on_skip=on_skip, on_convert=lambda _: done(1))


def _with_pruned(report: AddReport, done: DeleteReport) -> AddReport:
    return replace(report, deleted=(*report.deleted, *done.deleted), failed=(*report.failed, *done.failed))
