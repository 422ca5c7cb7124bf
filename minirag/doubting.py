"""What code can tell against an answer: that it rests on nothing, or names a number that its sources do not have."""

from __future__ import annotations

from collections.abc import Sequence

from minirag.records import Citation, Hit, Reading

CITES_NOTHING = "It names no passage that it rests on."


def find_doubts(
    reading: Reading, evidence: Sequence[Hit], citations: Sequence[Citation], *, question: str
) -> tuple[str, ...]:
    """One sentence for each thing that speaks against an answer; none where nothing was found.

    Args:
        reading: The answer, with the positions of the evidence that it rests on.
        evidence: What the reader saw.
        citations: The passages behind what it rests on.
        question: Its numbers may be repeated.
    """
    from minirag.reasoner.numbers import foreign_numbers  # retrieval alone does not wait for its rules

    if not reading.found:
        return ()
    if not reading.items:
        return (CITES_NOTHING,)
    used = [evidence[item] for item in reading.items]
    sources = [question, *(hit.text for hit in used), *(title for hit in used for title in hit.titles)]
    sources += [text for citation in citations for text in (citation.title, citation.text)]
    return tuple(
        f"{number} stands in nothing that it cites: perhaps it was counted or computed."
        for number in foreign_numbers(reading.text, sources)
    )
