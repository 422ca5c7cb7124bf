"""An answer as a model or an agent reads it."""

from __future__ import annotations

from minirag.records import Answer, Citation


def tell(answer: Answer) -> str:
    """The answer, then the passages that say so: number, title, document, place in it, and the whole text."""
    if not answer.found:
        return f"{answer.text}\n(The indexed documents do not answer this.)"
    sources = [f"[{each.number}] {_where(each)}\n{each.text}" for each in answer.citations]
    return "\n\n".join([answer.text, *sources])


def _where(citation: Citation) -> str:
    name = f"{citation.title} ({citation.document_id})" if citation.title else citation.document_id
    return f"{name}, {citation.location}" if citation.location else name
