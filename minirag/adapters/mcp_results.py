"""What the MCP server's tools give back: records, whose fields are the tools' output schemas, and the same as text."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from minirag.records import AddReport, Answer, Citation, Document, Failure, Hit


class SearchResult(BaseModel, frozen=True):
    """What a search found, best first."""

    hits: tuple[Hit, ...]

    def __str__(self) -> str:
        """Each hit with its number, its kind and its documents."""
        return "\n\n".join(_hit_text(number, hit) for number, hit in enumerate(self.hits, start=1)) or "Nothing found."


class AskResult(BaseModel, frozen=True):
    """An answer with its sources, as far as an agent needs it."""

    answer: str
    found: bool
    citations: tuple[Citation, ...]
    chain: tuple[str, ...]
    model: str
    strategy: str
    calls: int
    cost: float | None

    @classmethod
    def of(cls, answer: Answer) -> AskResult:
        """Of what `ask` gave."""
        return cls(
            answer=answer.text,
            found=answer.found,
            citations=answer.citations,
            chain=tuple(hit.text for hit in answer.chain),
            model=answer.model,
            strategy=answer.strategy,
            calls=answer.usage.calls,
            cost=answer.usage.cost,
        )


class DocumentName(BaseModel, frozen=True):
    """A document without its text."""

    id: str
    title: str


class DocumentList(BaseModel, frozen=True):
    """Some of the documents; `total` counts all that were asked for, `next_offset` is where the rest starts."""

    documents: tuple[DocumentName, ...]
    total: int
    next_offset: int | None

    def __str__(self) -> str:
        """One document a line."""
        lines = [f"{each.id}: {each.title}" if each.title else each.id for each in self.documents]
        if self.next_offset is not None:
            lines.append(f"(more from offset {self.next_offset} on, {self.total} in all)")
        return "\n".join(lines) or "No documents."


class DocumentText(BaseModel, frozen=True):
    """A document, or a part of its text; `next_offset` is where the rest starts."""

    id: str
    title: str
    metadata: dict[str, Any]
    text: str
    length: int
    next_offset: int | None

    @classmethod
    def of(cls, document: Document, *, offset: int, limit: int) -> DocumentText:
        """The characters of a document from an offset on."""
        end = min(offset + limit, len(document.text))
        rest = end if end < len(document.text) else None
        text = document.text[offset:end]
        return cls(
            id=document.id,
            title=document.title,
            metadata=dict(document.metadata),
            text=text,
            length=len(document.text),
            next_offset=rest,
        )

    def __str__(self) -> str:
        """Title and text."""
        more = "" if self.next_offset is None else f"\n\n(more from offset {self.next_offset} on)"
        return f"{self.title}\n\n{self.text}{more}" if self.title else self.text + more


class AddResult(BaseModel, frozen=True):
    """What became of documents that were to be added."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    failed: tuple[Failure, ...]
    calls: int
    cost: float | None

    @classmethod
    def of(cls, report: AddReport) -> AddResult:
        """Of what `Index.add` reported."""
        return cls(
            added=report.added,
            updated=report.updated,
            unchanged=report.unchanged,
            failed=report.failed,
            calls=report.usage.calls,
            cost=report.usage.cost,
        )

    def __str__(self) -> str:
        """The ids, by what became of them."""
        groups = {"added": self.added, "updated": self.updated, "unchanged": self.unchanged}
        lines = [f"{name}: {', '.join(ids)}" for name, ids in groups.items() if ids]
        lines += [f"failed: {failure.id}: {failure.reason}" for failure in self.failed]
        return "\n".join(lines) or "Nothing to add."


def _hit_text(number: int, hit: Hit) -> str:
    titles = hit.titles or ("",) * len(hit.document_ids)
    named = (
        f"{title} ({document})" if title else document for document, title in zip(hit.document_ids, titles, strict=True)
    )
    kind = "bridging fact" if hit.kind == "bridge" else hit.kind
    return f"{number}. {kind} of {', '.join(named)}\n{hit.text}"
