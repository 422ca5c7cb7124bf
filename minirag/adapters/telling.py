"""An answer as a model or an agent reads it."""

from __future__ import annotations

from minirag.records import Answer


def tell(answer: Answer) -> str:
    """The answer, then the passages that say so: number, title, document, and the whole text."""
    if not answer.found:
        return f"{answer.text}\n(The indexed documents do not answer this.)"
    sources = [f"[{each.number}] {_named(each.title, each.document_id)}\n{each.text}" for each in answer.citations]
    return "\n\n".join([answer.text, *sources])


def _named(title: str, document_id: str) -> str:
    return f"{title} ({document_id})" if title else document_id
