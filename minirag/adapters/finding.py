"""What the frameworks' classes share: an index to look in, and what is found there as texts with metadata."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from minirag.answering import aask, aretrieve, ask, retrieve
from minirag.filtering import Where, parse_filter
from minirag.index import Index
from minirag.ranking import check_k
from minirag.reading import OpenIndex
from minirag.records import Answer, Evidence, Hit
from minirag.retrieving import find_passage
from minirag.strategies import check_options

if TYPE_CHECKING:
    from minirag.storage.snapshot import Snapshot

Texts = Literal["passages", "evidence"]
Strategy = Literal["indexrag", "kirag", "ircot", "naive"]
PASSAGES = 5  # as many as KiRAG's reader sees


@dataclass(frozen=True, slots=True)
class Found:
    """One text that was found.

    Attributes:
        id: The passage's, or of whatever other unit it is.
        text: What it says.
        score: The strategy's; None for a cited passage that the strategy did not rank.
        metadata: The document's own; over them `kind`, `title`, and of one document `document_id`, `passage_id` and of
            a passage also `start` and `end`, and `location` ("page 3") where its file has any. A bridging fact has
            `document_ids`, `passage_ids` and `titles`, and of its documents' own metadata what all of them say.
    """

    id: str
    text: str
    score: float | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """How to look.

    Attributes:
        strategy: As for `ask`.
        k: How many texts at most; None for 5 passages, or for as much evidence as the strategy's reader sees.
        texts: "passages" gives whole passages as the strategy ranks them; "evidence" what `ask` would show to its
            reader, which for IndexRAG are facts and bridging facts.
        where: Only documents whose metadata pass; see `minirag.filtering`.
        options: Of the strategy.
    """

    strategy: str | None = None
    k: int | None = None
    texts: Texts = "passages"
    where: Where | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what can be checked before the first question.

        Raises:
            ValueError: On a k below 1, unknown texts, a malformed filter, or a strategy or option that is not there.
        """
        if self.k is not None:
            check_k(self.k)
        if self.texts not in get_args(Texts):
            raise ValueError(f"texts must be one of {', '.join(get_args(Texts))}, not {self.texts!r}")
        parse_filter(self.where)
        if self.strategy is not None:
            check_options(self.strategy, self.options)

    @property
    def arguments(self) -> dict[str, Any]:
        """For `ask` and `retrieve`, of an index that is filtered already."""
        return {"strategy": self.strategy, "k": self.k, **self.options}


class Source:
    """An index that the caller opened, or the path of one: opened when first needed, kept open, at its newest commit.

    Attributes:
        given: What the caller gave.
        model: The model that thinks; None for the index's own.
    """

    def __init__(self, given: OpenIndex | str | PathLike[str], model: str | None) -> None:
        """Nothing is opened yet."""
        self.given, self.model = given, model
        self._opened: Index | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., Source], tuple[Any, ...]]:
        """A copy opens the file again; what was given open cannot be copied, and says so."""
        return Source, (self.given, self.model)

    def open(self) -> OpenIndex:
        """The index. One that the caller opened is left at its commit: when it moves on is theirs to say.

        Raises:
            IndexFileError: When it cannot be opened.
        """
        if isinstance(self.given, OpenIndex):
            return self.given
        with self._lock:
            if self._opened is None:
                self._opened = Index(self.given, model=self.model, mode="r")
            else:
                self._opened.refresh()
            return self._opened

    def describe(self, where: Where | None) -> dict[str, Any]:
        """Path, model and filter, from which the same is made in another process.

        Args:
            where: The filter beside that of the index, which may be a filtered view.
        """
        if not isinstance(self.given, OpenIndex):
            return {"index": str(self.given), "model": self.model, "where": narrowed(None, where)}
        both = narrowed(self.given.where, where)
        return {"index": str(self.given.path), "model": self.model or self.given.model, "where": both}


def narrowed(first: Where | None, second: Where | None) -> dict[str, Any] | None:
    """The filter that passes what both pass; None for everything."""
    given = [dict(where) for where in (first, second) if where]
    return {"$and": given} if len(given) > 1 else given[0] if given else None


def find(question: str, source: Source, way: Way) -> list[Found]:
    """What a strategy finds, best first; errors as for `minirag.answering.retrieve`."""
    index = source.open().filtered(way.where)
    before = index.snapshot
    evidence = retrieve(question, index, model=source.model, **way.arguments)
    return _texts((before, index.snapshot), evidence, way)


async def afind(question: str, source: Source, way: Way) -> list[Found]:
    """`find`, to be awaited."""
    index = (await asyncio.to_thread(source.open)).filtered(way.where)
    before = index.snapshot
    evidence = await aretrieve(question, index, model=source.model, **way.arguments)
    return _texts((before, index.snapshot), evidence, way)


def answer_with_texts(question: str, source: Source, way: Way) -> tuple[Answer, list[Found]]:
    """An answer, and the passages that it cites, in the order of their numbers; errors as for `ask`."""
    index = source.open().filtered(way.where)
    before = index.snapshot
    answer = ask(question, index, model=source.model, **way.arguments)
    return answer, _cited((before, index.snapshot), answer)


async def aanswer_with_texts(question: str, source: Source, way: Way) -> tuple[Answer, list[Found]]:
    """`answer_with_texts`, to be awaited."""
    index = (await asyncio.to_thread(source.open)).filtered(way.where)
    before = index.snapshot
    answer = await aask(question, index, model=source.model, **way.arguments)
    return answer, _cited((before, index.snapshot), answer)


def _texts(snapshots: Sequence[Snapshot], evidence: Evidence, way: Way) -> list[Found]:
    if way.texts == "evidence":
        return [_unit(snapshots, hit) for hit in evidence.hits]
    return _passages(snapshots, evidence.ranking[: way.k or PASSAGES])


def _cited(snapshots: Sequence[Snapshot], answer: Answer) -> list[Found]:
    scores = dict(answer.ranking)
    return _passages(snapshots, [(each.passage_id, scores.get(each.passage_id)) for each in answer.citations])


def _passages(snapshots: Sequence[Snapshot], ranked: Sequence[tuple[str, float | None]]) -> list[Found]:
    """Those that are in one of the commits: the index may have moved on meanwhile."""
    texts = []
    for passage_id, score in ranked:
        found = next((f for snapshot in snapshots if (f := find_passage(snapshot, passage_id))), None)
        if found is not None:
            passage, title, metadata = found
            own = {"kind": "passage", "title": title, "document_id": passage.document_id, "passage_id": passage.id}
            place: dict[str, Any] = {"start": passage.start, "end": passage.end}
            if passage.location:
                place["location"] = passage.location
            texts.append(Found(passage.id, passage.text, score, {**metadata, **own, **place}))
    return texts


def _unit(snapshots: Sequence[Snapshot], hit: Hit) -> Found:
    """What a reader sees, in the order in which it sees it."""
    if hit.kind == "passage" and (found := _passages(snapshots, [(hit.id, hit.score)])):
        return found[0]
    own: dict[str, Any] = {"kind": hit.kind, "title": " / ".join(title for title in hit.titles if title)}
    if hit.kind == "bridge":
        plural = {"document_ids": hit.document_ids, "passage_ids": hit.passage_ids, "titles": hit.titles}
        own |= {name: list(values) for name, values in plural.items()}
    else:
        own |= {"document_id": hit.document_ids[0], "passage_id": hit.passage_ids[0]}
    first, *others = (_metadata(snapshots, document_id) for document_id in hit.document_ids)
    shared = {name: value for name, value in first.items() if all(_says(other, name, value) for other in others)}
    return Found(hit.id, hit.text, hit.score, {**shared, **own})


def _says(metadata: Mapping[str, Any], name: str, value: object) -> bool:
    return name in metadata and metadata[name] == value


def _metadata(snapshots: Sequence[Snapshot], document_id: str) -> Mapping[str, Any]:
    for snapshot in snapshots:
        if (found := snapshot.find_document(document_id)) is not None:
            segment, row = found
            return segment.metadata_of(row)
    return {}
