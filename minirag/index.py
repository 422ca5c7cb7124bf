"""`Index`: one file of documents, facts, triples and bridging facts, to be added to, searched and asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from minirag import loop
from minirag.building import Builder
from minirag.embedding import embed, texts_of
from minirag.errors import EncoderMismatchError, IndexReadOnlyError
from minirag.estimating import estimate_llm, estimate_offline
from minirag.loading import Source, load
from minirag.models import OFFLINE, Models
from minirag.naming.names import normalise_name
from minirag.progress import Listener, Progress
from minirag.reasoner.given import GivenTriples
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import (
    KINDS,
    AddReport,
    DeleteReport,
    Estimate,
    Failure,
    Hit,
    IndexInfo,
    Kind,
    Ledger,
    Passage,
    Settings,
    Usage,
)
from minirag.retrieving import (
    FLAT,
    FUSION_DEPTH,
    PASSAGES,
    Row,
    SearchMode,
    find_passage,
    fuse,
    most_worded,
    nearest,
    to_hit,
)
from minirag.splitting import count_tokens
from minirag.storage.store import Mode, Store
from minirag.storage.verifying import VerifyReport, verify

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder
    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot

Report = TypeVar("Report", AddReport, DeleteReport)


class Index:
    """One index file, open.

    Reading is safe from any number of threads. Writing takes a lock on the file for as long as it lasts. It is a
    context manager; leaving it closes the file.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        model: str | None = None,
        encoder: str | Path | Encoder | None = None,
        mode: Mode = "a",
        settings: Settings | None = None,
        **llm_options: Any,  # noqa: ANN401
    ) -> None:
        """Open an index, or start one.

        Args:
            path: The file, by convention `*.usearch`.
            model: A LiteLLM name, or "offline"; else `MINIRAG_MODEL`, else "offline".
            encoder: None for the one that minirag ships, a folder with an ONNX model, or the LiteLLM name of a hosted
                embedding model. The file remembers it.
            mode: "a" creates the file where there is none; "r" never writes anything, not even a lock.
            settings: How to build it; only when it is created.
            llm_options: For `minirag.llm.LLM`: `api_base`, `api_key`, `timeout`, `max_parallel`, and whatever the
                model takes (`max_tokens`, `seed`, …).

        Raises:
            IndexMissingError: When there is none and mode is "r", or its folder does not exist.
            IndexCorruptError: When the file is damaged or no index.
            IndexVersionError: When a newer minirag wrote it.
            EncoderMismatchError: When the file was built with another encoder, or `settings` differ from its own.
            ValueError: On a wrong mode.
        """
        if mode not in ("a", "r"):
            raise ValueError(f"mode must be 'a' or 'r', not {mode!r}")
        from minirag.encoder import open_encoder

        self.path = Path(path)
        self._models = Models(model, llm_options)
        self._turn = asyncio.Lock()  # writers of this object take turns; others meet the lock on the file
        self._store = self._open_store(mode, encoder, settings)
        known = self._store.snapshot.header["encoder"]
        self.encoder: Encoder = open_encoder(known["source"] if encoder is None else encoder)
        if self.encoder.fingerprint != known["fingerprint"]:
            raise EncoderMismatchError(self.path, built_with=known["name"], given=self.encoder.name)
        if settings is not None and settings != self.settings:
            raise ValueError(f"{self.path} was built with {self.settings}; settings are fixed when an index is created")

    def _open_store(self, mode: Mode, encoder: str | Path | Encoder | None, settings: Settings | None) -> Store:
        if mode == "r" or self.path.exists():
            return Store(self.path, mode=mode, normalise=normalise_name)
        from minirag.encoder import open_encoder

        opened = open_encoder(encoder)
        header = {
            "encoder": _describe(opened, encoder),
            "settings": asdict(settings or Settings()),
            "model": "",
            "usage": asdict(Usage()),
            "failed_passages": [],
            "failed_names": [],
        }
        return Store.create(self.path, header=header, normalise=normalise_name)

    def __repr__(self) -> str:
        """Path and model."""
        return f"Index({str(self.path)!r}, model={self.model!r})"

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the file and of connections; using the index afterwards is an `IndexClosedError`."""
        self._store.close()
        self._models.close()

    # --- what is in it ---------------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The model that thinks unless a call names another."""
        return self._models.default

    @property
    def model_is_chosen(self) -> bool:
        """Whether the user named the model, by argument or by environment."""
        return self._models.chosen

    @property
    def settings(self) -> Settings:
        """How it is built."""
        return Settings(**self._store.snapshot.header["settings"])

    @property
    def snapshot(self) -> Snapshot:
        """The commit that reads see; hold it to see the same one in several reads."""
        return self._store.snapshot

    def __len__(self) -> int:
        """How many documents."""
        return self._store.snapshot.count("documents")

    def __contains__(self, document_id: object) -> bool:
        """Whether there is a document with this id."""
        return isinstance(document_id, str) and self._store.snapshot.find_document(document_id) is not None

    def refresh(self) -> bool:
        """Move to the newest commit, of this or another process; costs next to nothing when there is none.

        Returns:
            Whether there was a newer one.
        """
        return self._store.refresh()

    def passage(self, passage_id: str) -> Passage:
        """A passage by its id.

        Raises:
            KeyError: When there is none.
        """
        found = find_passage(self._store.snapshot, passage_id)
        if found is None:
            raise KeyError(passage_id)
        return found[0]

    def info(self) -> IndexInfo:
        """Counts, encoder, model, settings, cost and size."""
        snapshot = self._store.snapshot
        header = snapshot.header
        failed = [*header["failed_passages"], *([f"bridge entity {n}", why] for n, why in header["failed_names"])]
        return IndexInfo(
            path=str(self.path),
            documents=snapshot.count("documents"),
            passages=snapshot.count("passages"),
            facts=snapshot.count("facts"),
            bridges=snapshot.count("bridges"),
            triples=snapshot.count("triples"),
            bridge_entities=snapshot.count_bridge_entities(),
            pending=len(snapshot.pending),
            failed=tuple(Failure(name, why) for name, why in failed),
            encoder=header["encoder"]["name"],
            dimensions=header["encoder"]["dimensions"],
            model=header["model"],
            settings=self.settings,
            usage=Usage(**header["usage"]),
            bytes=snapshot.size,
            commits=snapshot.contents.commit,
            segments=len(snapshot.segments),
        )

    # --- searching -------------------------------------------------------------------------------------------------

    def search(
        self, query: str, *, k: int = 10, kinds: Collection[Kind] | None = None, mode: SearchMode = "dense"
    ) -> list[Hit]:
        """Retrieve without any LLM.

        Args:
            query: Any text; blank finds nothing.
            k: How many hits at most, at least 1.
            kinds: Of "passage", "fact", "bridge" and "triple"; None for facts and bridging facts, and in the other
                modes for passages, by which words are counted.
            mode: "dense" compares meanings by cosine similarity, "lexical" words by BM25, "hybrid" joins both
                rankings (reciprocal rank fusion; Cormack et al. 2009).

        Returns:
            Hits, best first.

        Raises:
            ValueError: If k < 1, a kind or mode is unknown, or the mode does not find a kind.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        wanted = tuple(kinds) if kinds is not None else FLAT if mode == "dense" else PASSAGES
        if unknown := set(wanted) - set(KINDS):
            raise ValueError(f"unknown kinds {sorted(unknown)}; there are {', '.join(KINDS)}")
        snapshot = self._store.snapshot
        return [to_hit(snapshot, found) for found in self.search_rows(snapshot, query, k=k, kinds=wanted, mode=mode)]

    def search_rows(
        self, snapshot: Snapshot, query: str, *, k: int, kinds: Collection[Kind], mode: SearchMode = "dense"
    ) -> list[Row]:
        """`search` by places alone, for callers that read only some of what is found."""
        if mode not in ("dense", "lexical", "hybrid"):
            raise ValueError(f"mode must be 'dense', 'lexical' or 'hybrid', not {mode!r}")
        if mode != "dense" and set(kinds) != set(PASSAGES):
            raise ValueError(f"mode={mode!r} finds passages only, not {', '.join(kinds)}")
        if not query.strip() or not snapshot.count("passages"):
            return []
        if mode == "lexical":
            return most_worded(snapshot, query, k=k)
        vector = self.encoder.encode([query], role="query")[0]
        if mode == "dense":
            return nearest(snapshot, vector, k=k, kinds=kinds)
        deep = max(k, FUSION_DEPTH)
        rankings = [nearest(snapshot, vector, k=deep, kinds=kinds), most_worded(snapshot, query, k=deep)]
        return fuse(rankings)[:k]

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(
        self,
        documents: Source | Iterable[Source],
        *,
        progress: bool | Listener = True,
        reextract: bool = False,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
        on_skip: Callable[[Path], None] | None = None,
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

        Returns:
            What was added, updated, unchanged and failed, and what it took.

        Raises:
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
            LLMSetupError: When the model cannot be called at all. What was paid for is kept for the next `add`.
        """
        return loop.run(self._add(documents, progress, reextract, triples, on_skip))

    async def aadd(
        self,
        documents: Source | Iterable[Source],
        *,
        progress: bool | Listener = True,
        reextract: bool = False,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
        on_skip: Callable[[Path], None] | None = None,
    ) -> AddReport:
        """`add`, to be awaited."""
        return await loop.await_(self._add(documents, progress, reextract, triples, on_skip))

    def delete(self, ids: str | Iterable[str], *, progress: bool | Listener = True) -> DeleteReport:
        """Take documents out, with everything derived from them.

        Bridging facts that used them go too, and their entities are bridged afresh where two documents still share
        them, all in one commit.

        Args:
            ids: Document ids, or one.
            progress: As for `add`.

        Raises:
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
        """
        return loop.run(self._delete(ids, progress))

    async def adelete(self, ids: str | Iterable[str], *, progress: bool | Listener = True) -> DeleteReport:
        """`delete`, to be awaited."""
        return await loop.await_(self._delete(ids, progress))

    def compact(self) -> None:
        """Write the file afresh, without what was deleted or replaced; happens by itself when much has gathered."""
        with self._store.writing():
            self._store.compact()

    def reembed(self, encoder: str | Path | Encoder | None, *, progress: bool | Listener = True) -> None:
        """Change the encoder: compute all vectors afresh from the stored texts, without any LLM call, atomically.

        Passages stay as they were split; what lies beyond the new encoder's window of one is not seen. Other open
        `Index` objects of the file stay on the commit that they hold until they are opened again. Let no other thread
        search through this one meanwhile.

        Args:
            encoder: As for `Index`.
            progress: As for `add`.

        Raises:
            EncoderError: If the encoder cannot be loaded or run; the file is then as it was.
            IndexReadOnlyError: When opened with mode="r".
            IndexLockedError: When somebody else is writing.
            IndexWriteError: When the disk refuses.
        """
        loop.run(self._reembed(encoder, Progress(progress)))

    async def _reembed(self, encoder: str | Path | Encoder | None, progress: Progress) -> None:
        from minirag.encoder import open_encoder

        opened = open_encoder(encoder)
        async with self._turn:
            with self._store.writing():
                held = self._store.read_all()
                with progress.stage("encoding", sum(map(len, texts_of(held.documents, held.bridges)))) as done:
                    data = await asyncio.to_thread(embed, held.documents, held.bridges, encoder=opened, progress=done)
                header = {**self._store.snapshot.header, "encoder": _describe(opened, encoder)}
                self._store.replace_all(data, header)
            before, self._store = self._store, Store(self._store.path, mode="a", normalise=normalise_name)
            self.encoder = opened
            before.close()

    @staticmethod
    def verify(path: str | PathLike[str]) -> VerifyReport:
        """Check a whole file: every checksum, record and vector of its last commit. Damage is reported, not raised.

        Args:
            path: The file; nothing is written.

        Returns:
            What is damaged, and what `minirag.repairing.repair` could save; `print` it.

        Raises:
            IndexMissingError: When there is no such file.
            IndexVersionError: When a newer minirag wrote it.
            IndexFileError: When it cannot be read, or is no regular file.
        """
        return verify(Path(path), normalise_name)

    def estimate(
        self, documents: Source | Iterable[Source], *, model: str | None = None, progress: bool | Listener = True
    ) -> Estimate:
        """What `add` would take, before a cent is spent.

        Documents are split, read by rules, and their bridge entities counted; nothing is called or written.

        Args:
            documents: As for `add`.
            model: Another model than the index's.
            progress: As for `add`.
        """
        return loop.run(self._estimate(documents, model, progress))

    async def _estimate(
        self, documents: Source | Iterable[Source], model: str | None, progress: bool | Listener
    ) -> Estimate:
        builder = self._builder(OfflineReasoner(), Ledger(), progress)
        items = await asyncio.to_thread(lambda: list(load(documents)))
        stored, shared = await builder.rehearse(items)
        if (model or self.model) == OFFLINE:
            return estimate_offline(stored, shared)
        reasoner = self.reasoner(model, Ledger())
        count = partial(count_tokens, self.encoder.tokenizer)
        price = self._models.price(model)
        return estimate_llm(stored, shared, count=count, price=price, entities_per_call=reasoner.entities_per_call)

    async def _add(
        self,
        documents: Source | Iterable[Source],
        progress: bool | Listener,
        reextract: bool,
        triples: Mapping[str, Iterable[Sequence[str]]] | None,
        on_skip: Callable[[Path], None] | None,
    ) -> AddReport:
        items = load(documents, on_skip=on_skip)
        return await self._build(progress, lambda builder: builder.add(items, reextract=reextract), triples=triples)

    async def _delete(self, ids: str | Iterable[str], progress: bool | Listener) -> DeleteReport:
        wanted = [ids] if isinstance(ids, str) else list(ids)
        return await self._build(progress, lambda builder: builder.delete(wanted))

    async def _build(
        self,
        progress: bool | Listener,
        work: Callable[[Builder], Coroutine[Any, Any, Report]],
        *,
        triples: Mapping[str, Iterable[Sequence[str]]] | None = None,
    ) -> Report:
        if self._store.mode == "r":
            raise IndexReadOnlyError(self.path, "was opened with mode='r'. Open it with mode='a' to write")
        started = time.perf_counter()
        ledger = Ledger()
        reasoner = self.reasoner(None, ledger)
        if triples is not None:
            reasoner = GivenTriples(reasoner, triples)
        builder = self._builder(reasoner, ledger, progress)
        async with self._turn:
            report = await work(builder)
        return replace(report, usage=ledger.total(seconds=time.perf_counter() - started))

    def _builder(self, reasoner: Reasoner, ledger: Ledger, progress: bool | Listener) -> Builder:
        return Builder(
            self._store,
            encoder=self.encoder,
            reasoner=reasoner,
            ledger=ledger,
            settings=self.settings,
            progress=Progress(progress),
        )

    def reasoner(self, model: str | None, ledger: Ledger) -> Reasoner:
        """Who thinks: by rules for "offline", else the LLM of that name.

        Args:
            model: A LiteLLM name or "offline"; None for the index's own.
            ledger: Gets what its calls take.
        """
        return self._models.reasoner(model, ledger)


def _describe(opened: Encoder, given: str | Path | Encoder | None) -> dict[str, Any]:
    """What the file remembers of its encoder."""
    return {
        "name": opened.name,
        "fingerprint": opened.fingerprint,
        "dimensions": opened.dimensions,
        "source": str(given) if isinstance(given, str | Path) else None,
    }
