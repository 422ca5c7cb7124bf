"""An index file, open for reading: what is in it, searching it, and who thinks about it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from minirag.encoder import OnnxEncoder, Query, aligner_of, close_encoder, describe_encoders, open_encoder
from minirag.errors import EncoderError, EncoderMismatchError, UnknownIdError
from minirag.filtering import Filter, Where, join_filters, parse_filter
from minirag.models import AnyModel, Models
from minirag.prompting import check_prompts, keep_prompts, prompts_in
from minirag.ranking import check_k
from minirag.records import (
    KINDS,
    Document,
    Failure,
    Hit,
    Hits,
    IndexInfo,
    Kind,
    Ledger,
    Passage,
    Prompts,
    Settings,
    Task,
    Usage,
    counting,
)
from minirag.retrieving import (
    FLAT,
    FUSION_DEPTH,
    PASSAGES,
    Row,
    SearchMode,
    best_rows,
    find_document,
    find_passage,
    fuse,
    most_worded,
    nearest,
    to_hit,
)
from minirag.sharing import Shareable
from minirag.storage.accounts import usage_in, usage_to_header
from minirag.storage.layout import aligner_in
from minirag.storage.store import Mode, Store, is_there
from minirag.wording import did_you_mean

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder
    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot
    from minirag.storage.verifying import VerifyReport


Result = TypeVar("Result")
_OF_MODELS = (
    *("api_base", "api_key", "max_parallel", "timeout", "router", "retries", "window", "prices"),
    *("requests_per_minute", "tokens_per_minute"),
)
_COMPARED = 2_000  # ids with which one that is not there is compared


class OpenIndex(Shareable):
    """What an `Index` can do without writing.

    Attributes:
        path: The file.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        model: AnyModel | None = None,
        models: Mapping[str, AnyModel] | None = None,
        encoder: str | Path | Encoder | None = None,
        mode: Mode = "a",
        settings: Settings | None = None,
        prompts: Prompts | None = None,
        **llm_options: Any,  # noqa: ANN401
    ) -> None:
        """Open an index, or start one.

        Args:
            path: The file, by convention `*.usearch`.
            model: Who thinks: a LiteLLM name, or "offline"; a LiteLLM `Router`, a function from messages to the text of
                the reply (asynchronous or not), an `LLM`, or a `Reasoner` of one's own. Else `MINIRAG_MODEL`, else
                "offline".
            models: Others for single tasks: `{"extract": cheap, "read": strong}`. Tasks are extract and bridge, while
                indexing, and read, think and extend, while asking. What is not named is done by `model`; without one
                by another model of the same time, else offline.
            encoder: None for the one that minirag ships, a folder with an ONNX model, or the LiteLLM name of a hosted
                embedding model; beside that, triples are encoded by the one that minirag ships. The file remembers it.
            mode: "a" creates the file where there is none; "r" never writes anything, not even a lock.
            settings: How to build it; only when it is created.
            prompts: Own instructions, languages, examples or whole prompts for a model. The file remembers them, and
                they replace those that it has; with mode="r" they are this object's alone.
            llm_options: For each `minirag.llm.LLM` that is called by name: `api_base`, `api_key`, `router`, `timeout`,
                `max_parallel`, and whatever the model takes (`max_tokens`, `seed`, …). `prices` are also those of a
                hosted encoder.

        Raises:
            IndexMissingError: When there is none and mode is "r", or its folder does not exist.
            IndexCorruptError: When the file is damaged or no index.
            IndexVersionError: When a newer minirag wrote it.
            EncoderMismatchError: When the file was built with another encoder or aligner than `encoder`. Without that,
                a file whose own encoder is not to be had opens all the same, for all that encodes nothing.
            ValueError: On a wrong mode, when `settings` differ from the file's own, or when `prompts` do not fit.
        """
        if mode not in ("a", "r"):
            raise ValueError(f"mode must be 'a' or 'r', not {mode!r}")
        _check_names(llm_options)
        self.path = Path(path)
        self._prompts = None if prompts is None else check_prompts(prompts)
        self._models = Models(model, llm_options, models)
        self._turns: dict[int, asyncio.Lock] = {}
        self._filter: Filter | None = None
        self._encoder: Encoder | None = None
        self._aligner: Encoder | None = None
        self._lacking: EncoderError | EncoderMismatchError | None = None
        prices = llm_options.get("prices")
        given = None if encoder is None else open_encoder(encoder, prices=prices)
        self._store = self._open_store(mode, given, encoder, settings)
        try:
            source = self._store.snapshot.header["encoder"]["source"]
            self._use_encoder(given or open_encoder(source, prices=prices))
            self._check_encoders()
        except (EncoderError, EncoderMismatchError) as error:
            if given is not None:
                raise
            self._lacking = error
        if settings is not None and settings != self.settings:
            raise ValueError(
                f"{self.path} was built with {self._differing(settings)}: settings are fixed when it is created"
            )
        if self._prompts is not None and mode == "a":
            keep_prompts(self._store, self._prompts)

    def _open_store(
        self, mode: Mode, opened: Encoder | None, encoder: str | Path | Encoder | None, settings: Settings | None
    ) -> Store:
        if mode == "r" or is_there(self.path):
            return Store(self.path, mode=mode, normalise=normalise_name)
        header = new_header(opened or open_encoder(None), encoder, settings or Settings())
        return Store.create(self.path, header=header, normalise=normalise_name)

    def _use_encoder(self, encoder: Encoder) -> None:
        self._encoder, self._aligner, self._lacking = encoder, aligner_of(encoder), None

    def _check_encoders(self) -> None:
        header, encoder, aligner = self._store.snapshot.header, self.encoder, self.aligner
        known, known_aligner = header["encoder"], aligner_in(header)
        if encoder.fingerprint != known["fingerprint"]:
            raise EncoderMismatchError(self.path, built_with=known["name"], given=encoder.name)
        if aligner.fingerprint != known_aligner["fingerprint"]:
            remedy = "Its triples are to be encoded by the one that minirag ships: minirag repair OLD NEW does that"
            raise EncoderMismatchError(self.path, built_with=known_aligner["name"], given=aligner.name, remedy=remedy)

    def _differing(self, settings: Settings) -> str:
        own, given = asdict(self.settings), asdict(settings)
        return ", ".join(f"{name}={own[name]}, not {given[name]}" for name in own if own[name] != given[name])

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

    def __reduce__(self) -> NoReturn:
        """An open file cannot be copied to another process.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"{self!r} cannot be pickled or copied: pass its path, and open it there")

    def close(self) -> None:
        """Let go of the file and of connections; using the index afterwards is an `IndexClosedError`."""
        self._store.close()
        self._models.close()
        if self._encoder is not None:
            close_encoder(self._encoder)

    # --- what is in it ---------------------------------------------------------------------------------------------

    @property
    def encoder(self) -> Encoder:
        """Encodes passages, facts and bridging facts, and what is compared with them.

        Raises:
            EncoderMismatchError: When the file was built with another one than is to be had, as by an older minirag.
            EncoderError: When the one that the file names cannot be loaded.
        """
        return self._usable(self._encoder)

    @property
    def aligner(self) -> Encoder:
        """Encodes triples, and what is compared with them: the encoder, or beside a hosted one the one that ships.

        Raises:
            EncoderMismatchError: As for `encoder`.
            EncoderError: Likewise.
        """
        return self._usable(self._aligner)

    def _usable(self, encoder: Encoder | None) -> Encoder:
        if encoder is None or self._lacking is not None:
            raise self._lacking or EncoderError(f"{self.path} has no encoder")
        return encoder

    def require_encoder(self) -> None:
        """See whether texts can be encoded as those of the file were: what raises then raises when one is to be.

        Raises:
            EncoderMismatchError: As for `encoder`.
            EncoderError: Likewise.
        """
        self._usable(self._encoder)

    @property
    def model(self) -> str:
        """The model that thinks unless a call names another; the reader's where tasks have their own."""
        return self._models.default

    def model_of(self, task: Task) -> str:
        """The name of the model that does a task."""
        return self._models.name(None, task=task)

    def models_of(self, usage: Usage) -> tuple[str, ...]:
        """The names of the models by which a run took that, in the order of their first calls, encoders included."""
        names = [self.encoder.name if task == "embed" else self.model_of(task) for task in usage.tasks]
        return tuple(dict.fromkeys(names)) or (self.model,)

    @property
    def model_is_chosen(self) -> bool:
        """Whether the user named the model, by argument or by environment."""
        return self._models.chosen

    @property
    def built_by(self) -> str:
        """The name of the model that extracted what was added last; "" where nothing was."""
        return str(self._store.snapshot.header.get("model") or "")

    @property
    def settings(self) -> Settings:
        """How it is built."""
        return Settings(**self._store.snapshot.header["settings"])

    @property
    def prompts(self) -> Prompts:
        """What is special about its prompts: as given when it was opened, else as the file has it."""
        return self._prompts or prompts_in(self._store.snapshot.header)

    @property
    def snapshot(self) -> Snapshot:
        """The commit that reads see; hold it to see the same one in several reads."""
        return self._store.snapshot.through(self._filter)

    def filtered(self, where: Where | None) -> OpenIndex:
        """This index as if it held only the documents that pass a filter, for reading.

        Hand it to code that must not see the others: `search`, `ask`, the ids and the counts know of none of them, and
        of no bridging fact behind which one of them stands. It follows this index, and ends when this one is closed.

        Args:
            where: See `minirag.filtering`. It comes on top of the filter of a view that this already is.

        Raises:
            ValueError: If the filter is malformed.
        """
        parsed = parse_filter(where)
        return self if parsed is None else FilteredIndex(self, join_filters(self._filter, parsed))

    @property
    def where(self) -> dict[str, Any] | None:
        """The filter that it is seen through; None where all of it is seen."""
        return None if self._filter is None else dict(json.loads(self._filter.text))

    def __len__(self) -> int:
        """How many documents."""
        return self.snapshot.count("documents")

    def __contains__(self, document_id: object) -> bool:
        """Whether there is a document with this id."""
        return isinstance(document_id, str) and self.snapshot.find_document(document_id) is not None

    def document_ids(self) -> list[str]:
        """The ids of all documents, in the order of the file."""
        return list(self.document_titles())

    def document_titles(self) -> dict[str, str]:
        """The titles of all documents by their ids, in the order of the file; "" for one without."""
        titles: dict[str, str] = {}
        for segment in self.snapshot.segments:
            alive = segment.alive("documents")
            rows = (row for row in range(segment.count("documents")) if alive is None or alive[row])
            titles.update(map(segment.head, rows))
        return titles

    def refresh(self) -> bool:
        """Move to the newest commit, of this or another process; costs next to nothing when there is none.

        Returns:
            Whether there was a newer one.
        """
        return self._store.refresh()

    def document(self, document_id: str) -> Document:
        """A document by its id, as it was added.

        Raises:
            UnknownIdError: When there is none; a `KeyError`, too.
        """
        found = find_document(self.snapshot, document_id)
        if found is None:
            raise UnknownIdError("document", document_id, near=self._ids_near(document_id))
        return found

    def passage(self, passage_id: str) -> Passage:
        """A passage by its id.

        Raises:
            UnknownIdError: When there is none; a `KeyError`, too.
        """
        found = find_passage(self.snapshot, passage_id)
        if found is None:
            near = self._ids_near(passage_id.rpartition("#")[0] or passage_id)
            hint = " Hits and citations have the ids of passages, which begin with their document's"
            raise UnknownIdError("passage", passage_id, hint=hint + (f", as {near[0]!r}" if near else ""))
        return found.passage

    def _ids_near(self, document_id: str) -> list[str]:
        """Ids of documents that one may have meant; none where it would take long to find them."""
        if self.snapshot.count("documents") > _COMPARED:
            return []
        return get_close_matches(document_id, self.document_ids(), n=2, cutoff=0.7)

    def info(self) -> IndexInfo:
        """Counts, encoder, model, settings, cost and size."""
        snapshot = self.snapshot
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
            prompts=self.prompts,
            usage=usage_in(header),
            bytes=snapshot.size,
            commit=snapshot.contents.commit,
            segments=len(snapshot.segments),
        )

    # --- searching -------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Kind | Collection[Kind] | None = None,
        mode: SearchMode = "dense",
        where: Where | None = None,
    ) -> list[Hit]:
        """Retrieve without any LLM.

        Args:
            query: Any text; blank finds nothing.
            k: How many hits at most, at least 1.
            kinds: One or several of "passage", "fact", "bridge" and "triple"; None for facts and bridging facts, and in
                the other modes for passages, by which words are counted.
            mode: "dense" compares meanings by cosine similarity, "lexical" words by BM25, "hybrid" joins both
                rankings (reciprocal rank fusion; Cormack et al. 2009).
            where: Only documents whose metadata pass are searched, and bridging facts of such documents alone:
                `{"tenant": "a", "year": {"$gte": 2000}}`; see `minirag.filtering` for the operators.

        Returns:
            Hits, best first. Where triples are encoded by another model than the rest, their scores are on another
            scale, and how they rank among other kinds means little.

        Raises:
            ValueError: If the query is no text, k < 1, a kind or mode is unknown, the mode does not find a kind, or the
                filter is malformed.
        """
        if not isinstance(query, str):
            raise ValueError(f"the query must be a string, not {query!r}")
        check_k(k)
        given: Collection[Kind] | None = (kinds,) if isinstance(kinds, str) else kinds
        wanted = tuple(given) if given is not None else FLAT if mode == "dense" else PASSAGES
        if unknown := set(wanted) - set(KINDS):
            raise ValueError(f"unknown kinds {sorted(unknown)}; there are {', '.join(KINDS)}")
        snapshot = self.filtered(where).snapshot
        rows = self.search_rows(snapshot, query, k=k, kinds=wanted, mode=mode)
        return Hits(to_hit(snapshot, found) for found in rows)

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
        asked = self.encode_query(query)
        if mode == "dense":
            triples, others = ([kind for kind in kinds if (kind == "triple") is wanted] for wanted in (True, False))
            found: list[Row] = []
            for group in filter(None, (others, triples)):
                found += nearest(snapshot, asked.vector_for(group[0]), k=k, kinds=group)
            return best_rows(found, k)
        deep = max(k, FUSION_DEPTH)
        rankings = [nearest(snapshot, asked.vector, k=deep, kinds=kinds), most_worded(snapshot, query, k=deep)]
        return fuse(rankings)[:k]

    def encode_query(self, text: str) -> Query:
        """A text to be compared with what is in the index; it is encoded when that is first needed."""
        return Query(text, encoder=self.encoder, aligner=self.aligner)

    @property
    def _turn(self) -> asyncio.Lock:
        """Writers of this object take turns, others meet the lock on the file; a forked child starts its own turns."""
        return self._turns.setdefault(os.getpid(), asyncio.Lock())

    async def run_search(self, search: Callable[..., Result], *arguments: object) -> Result:
        """Run one search for a strategy.

        With a local encoder it takes a few milliseconds, and handing it to another thread and back would add a fifth;
        with a hosted one it waits for the network, and must not do so on the loop.
        """
        if isinstance(self.encoder, OnnxEncoder):
            return search(*arguments)
        return await asyncio.to_thread(search, *arguments)

    # --- thinking and checking -------------------------------------------------------------------------------------

    def reasoner(
        self,
        model: AnyModel | None,
        ledger: Ledger,
        *,
        models: Mapping[str, AnyModel] | None = None,
        prompts: Prompts | None = None,
    ) -> Reasoner:
        """Who thinks: by rules for "offline", else the LLM of that name.

        Args:
            model: As for `Index`; None for the index's own.
            ledger: Gets what its calls take.
            models: Likewise, for single tasks.
            prompts: Prevail over the index's own, task by task.

        Raises:
            ValueError: If a name is blank, or a task unknown.
        """
        own = self.prompts if prompts is None else prompts.over(self.prompts)
        return self._models.reasoner(model, ledger, models=models, prompts=own)

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
        from minirag.storage.verifying import verify

        return verify(Path(path), normalise_name)


class FilteredIndex(OpenIndex):
    """An index as seen through a filter; see `OpenIndex.filtered`."""

    def __init__(self, index: OpenIndex, where: Filter | None) -> None:
        """Look at an index."""
        self._index = index
        self._filter = where

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """What the index has open, as it is at the time; nothing that it can do.

        Raises:
            AttributeError: For all else, such as `add`.
        """
        if isinstance(self._index, FilteredIndex):
            return getattr(self._index, name)
        try:
            return vars(self._index)[name]
        except KeyError:
            raise AttributeError(f"a filtered view of an index has no {name!r}: it is for reading") from None

    def __repr__(self) -> str:
        """Path, model and filter."""
        shown = self._filter.text if self._filter else None
        return f"{super().__repr__()}.filtered({shown})"

    def close(self) -> None:
        """Nothing: the index that this is a view of stays open."""


def new_header(encoder: Encoder, source: str | Path | Encoder | None, settings: Settings) -> dict[str, Any]:
    """Of an empty index file; `source` is the encoder as it was given. A hosted one is asked for its dimensions."""
    ledger = Ledger()
    with counting(ledger):
        described = describe_encoders(encoder, source)
    return {
        **described,
        "settings": asdict(settings),
        "model": "",
        **usage_to_header(ledger.total()),
        "failed_passages": [],
        "failed_names": [],
    }


def normalise_name(name: str) -> str:
    """How entity names become keys; the rules are loaded when the first name is looked up."""
    from minirag.naming import names

    return names.normalise_name(name)


def _check_names(options: Iterable[str]) -> None:
    """Refuse what is nearly a name of our own: a model's parameters may have any other.

    Raises:
        TypeError: With the name that was meant.
    """
    own = [*signature(OpenIndex.__init__).parameters, *_OF_MODELS]
    for name in options:
        if name not in own and (meant := did_you_mean(name, own, cutoff=0.85)):
            raise TypeError(f"Index() has no argument {name!r}.{meant}")
