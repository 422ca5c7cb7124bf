"""What a question gets: evidence, citations, the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from minirag.records.cost import Usage
from minirag.records.trace import Trace
from minirag.records.units import Hit


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer rests on.

    Attributes:
        number: From 1, in the order of the answer's evidence.
        document_id: Its document.
        passage_id: Its passage.
        title: The document's title, may be empty.
        text: The passage, whole.
        metadata: The document's.
        location: Where in its source it stands: "page 3", "Install > Linux"; empty where nobody knows.
    """

    number: int
    document_id: str
    passage_id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    location: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an iterative strategy.

    Attributes:
        query: What it searched with.
        retrieved: What it found.
        chosen: What it chose of that, if it chooses.
        seconds: How long the search took.
        problem: Why the strategy ended here, when the model's reply could not be used; else "".
    """

    query: str
    retrieved: tuple[Hit, ...]
    chosen: Hit | None = None
    seconds: float = field(default=0.0, compare=False)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a strategy found for a question.

    Attributes:
        hits: The context, in the order in which the reader sees it.
        ranking: Passage ids with scores, best first: the retrieval that recall@k is measured on.
        chain: The reasoning chain, in order (KiRAG).
        steps: One per iteration; empty for one-shot strategies.
    """

    hits: tuple[Hit, ...]
    ranking: tuple[tuple[str, float], ...]
    chain: tuple[Hit, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` gives; `str(answer)` is the text.

    Attributes:
        text: The answer, or one sentence that says that it was not found.
        found: Whether the evidence holds an answer.
        citations: The passages it rests on, numbered from 1.
        evidence: What the reader saw, in order.
        used: Positions in `evidence` that the answer rests on.
        chain: The reasoning chain, where the strategy builds one.
        steps: What each iteration did, likewise.
        usage: Calls, tokens, dollars and seconds.
        model: The LiteLLM name, or "offline".
        strategy: "naive", "indexrag", …
        question: What was asked.
        ranking: Passage ids with scores, best first.
        trace: Searches and calls, with their times.
        doubts: What code found to speak against it: that it cites nothing, or a number that stands in nothing it cites.
    """

    text: str
    found: bool
    citations: tuple[Citation, ...]
    evidence: tuple[Hit, ...]
    used: tuple[int, ...]
    chain: tuple[Hit, ...]
    steps: tuple[Step, ...]
    usage: Usage
    model: str
    strategy: str
    question: str = ""
    ranking: tuple[tuple[str, float], ...] = ()
    trace: Trace = field(default_factory=Trace, repr=False, compare=False)
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The text alone."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as JSON values."""
        return {**asdict(self), "usage": self.usage.to_dict(), "trace": self.trace.to_dict()}

    def to_html(self) -> str:
        """A whole page about it: the question, the steps, the answer, its passages, and all that was read."""
        from minirag.pages.answer import answer_page

        return answer_page(self)

    def show(self) -> None:
        """Print the question, the steps that lead from it to the answer, the answer, its passages, and the cost."""
        from minirag.showing import as_text

        print(as_text(self))  # noqa: T201  it is asked to

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        from minirag.showing import as_html

        return as_html(self)
