"""Triples made elsewhere, in the place of those that a reasoner would extract."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from minirag.reasoner import Bridged, Reasoner, who_does
from minirag.records import (
    ContextItem,
    Extension,
    ExtractedFact,
    Extraction,
    Passage,
    Reading,
    SharedEntity,
    Task,
)

GivenTriple = tuple[str, str, str]
_BEGINNING = 200  # characters: a longer statement may be split, and then belongs to the passage where it begins


class GivenTriples:
    """A reasoner that takes triples from the caller and leaves all else to another reasoner.

    Attributes:
        model: The extracting reasoner's.
        version: Its version, with a hash of the triples.
        entities_per_call: The other's.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        triples: Mapping[str, Iterable[Sequence[str]]],
        *,
        stated: Collection[str] = frozenset(),
    ) -> None:
        """Check the triples.

        Args:
            reasoner: Does the rest.
            triples: By document id. A document that is not named keeps what the reasoner extracts.
            stated: Ids of documents whose text is their triples' statements, a line each: these are its facts.

        Raises:
            ValueError: If one is not three texts, none of them blank.
        """
        self._reasoner = reasoner
        self._triples = {
            document: [_checked(triple, document) for triple in some] for document, some in triples.items()
        }
        self._stated = frozenset(stated)
        self._digests = {document: _digest([some, document in stated]) for document, some in self._triples.items()}
        self.model = who_does(reasoner, "extract").model
        self._unchanged = who_does(reasoner, "extract").version
        self.version = f"{self._unchanged}+given-{_digest(self._triples)}"
        self.entities_per_call = reasoner.entities_per_call

    def of(self, task: Task) -> Reasoner:
        """Itself for extraction; for all else whoever did it before."""
        return self if task == "extract" else who_does(self._reasoner, task)

    def version_of(self, passage: Passage) -> str:
        """The extracting reasoner's, with a hash of what is given of the passage's document, if anything is."""
        digest = self._digests.get(passage.document_id)
        if digest is None:
            return self._unchanged
        return f"{self._unchanged}+given-{digest}{'' if passage.start else '-first'}"

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        """The reasoner's facts, with the given triples of the passage's document that the passage speaks of.

        In a document of several passages a triple belongs to those that hold its tail, and to the first otherwise.
        """
        if passage.document_id in self._stated:
            return _stated_in(passage.text, self._triples[passage.document_id])
        found = await self._reasoner.extract(passage, title=title)
        if passage.document_id not in self._triples:
            return found
        text = passage.text.casefold()
        own = [t for t in self._triples[passage.document_id] if passage.start == 0 or t[2].casefold() in text]
        return Extraction(found.facts, tuple(own))

    async def bridge(self, entities: Sequence[SharedEntity]) -> Sequence[Bridged]:
        """As the other does."""
        return await self._reasoner.bridge(entities)

    async def extend(self, question: str, chain: Sequence[str], candidates: Sequence[str]) -> Extension:
        """As the other does."""
        return await self._reasoner.extend(question, chain, candidates)

    async def think(self, question: str, evidence: Sequence[ContextItem], thoughts: Sequence[str]) -> str:
        """As the other does."""
        return await self._reasoner.think(question, evidence, thoughts)

    async def read(self, question: str, evidence: Sequence[ContextItem], *, chain: Sequence[str] = ()) -> Reading:
        """As the other does."""
        return await self._reasoner.read(question, evidence, chain=chain)


def statement(triple: Sequence[str]) -> str:
    """A triple as a sentence: it is encoded, read and quoted as one."""
    return " ".join(triple).replace("_", " ") + "."


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _stated_in(text: str, triples: Iterable[GivenTriple]) -> Extraction:
    """The triples whose statement begins in a passage."""
    own = [triple for triple in triples if statement(triple)[:_BEGINNING] in text]
    facts = tuple(ExtractedFact(statement(triple), tuple(dict.fromkeys((triple[0], triple[2])))) for triple in own)
    return Extraction(facts, tuple(own))


def _checked(triple: Sequence[str], document: str) -> GivenTriple:
    if (
        isinstance(triple, str)
        or len(triple) != 3
        or not all(isinstance(part, str) and part.strip() for part in triple)
    ):
        raise ValueError(f"a triple of {document!r} is not three texts (head, relation, tail): {triple!r}")
    head, relation, tail = (" ".join(part.split()) for part in triple)
    return head, relation, tail
