"""An index file, open for reading: what is in it, and searching it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from minirag.encoder import OnnxEncoder, Query
from minirag.errors import UnknownIdError
from minirag.filtering import Filter, Where, join_filters, parse_filter
from minirag.opening import OpenFile, normalise_name
from minirag.ranking import check_k
from minirag.records import KINDS, Document, Failure, Hit, Hits, IndexInfo, Kind, Passage
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
from minirag.storage.accounts import usage_in

if TYPE_CHECKING:
    from os import PathLike

    from minirag.storage.snapshot import Snapshot
    from minirag.storage.verifying import VerifyReport

Result = TypeVar("Result")
_COMPARED = 2_000  # ids with which one that is not there is compared


class OpenIndex(OpenFile):
    """What an `Index` can do without writing."""

    # --- what is in it ---------------------------------------------------------------------------------------------

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

    def document(self, document_id: str) -> Document:
        """A document by its id, as it was added.

        Raises:
            UnknownIdError: When there is none; a `KeyError`, too.
            ValueError: When it is no string.
        """
        check_ids(document_id)
        found = find_document(self.snapshot, document_id)
        if found is None:
            raise UnknownIdError("document", document_id, near=self._ids_near(document_id))
        return found

    def passage(self, passage_id: str) -> Passage:
        """A passage by its id.

        Raises:
            UnknownIdError: When there is none; a `KeyError`, too.
            ValueError: When it is no string.
        """
        check_ids(passage_id)
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

    async def run_search(self, search: Callable[..., Result], *arguments: object) -> Result:
        """Run one search for a strategy.

        With a local encoder it takes a few milliseconds, and handing it to another thread and back would add a fifth;
        with a hosted one it waits for the network, and must not do so on the loop.
        """
        if isinstance(self._encoder, OnnxEncoder):
            return search(*arguments)
        return await asyncio.to_thread(search, *arguments)

    # --- checking --------------------------------------------------------------------------------------------------

    @staticmethod
    def verify(path: str | PathLike[str]) -> VerifyReport:
        """Check all of the last commit: every checksum, record and vector. Damage is reported, not raised.

        Bytes of commits that were replaced are not checked, for nobody reads them.

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


def check_ids(*ids: object) -> None:
    """Refuse what can be nobody's id.

    Raises:
        ValueError: With the first that is no string.
    """
    for wrong in (wrong for wrong in ids if not isinstance(wrong, str)):
        raise ValueError(f"ids are strings, not {wrong!r}")


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
