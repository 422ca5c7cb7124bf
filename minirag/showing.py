"""How an answer looks to people: as text for a terminal, as HTML for a notebook.

Knows answers by their attributes alone: the records stand above this module, and show themselves by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple, Protocol

from minirag.wording import Spent, describe_usage, one_line, snippet, wrap

_ENDING = 40  # characters that tell a sentence


class Line(NamedTuple):
    """Some text, already wrapped, and whether it may stand back."""

    text: str
    is_faint: bool = False


class Link(NamedTuple):
    """One step on the way from the question to the answer.

    Attributes:
        kind: "triple", "fact", "bridging fact" or "passage", as found; "thought" for what a model said on the way.
        text: What it says.
        sources: The passages that say so, in words; none behind a thought.
        passage_ids: Their ids.
    """

    kind: str
    text: str
    sources: tuple[str, ...]
    passage_ids: tuple[str, ...] = ()


# --- what is shown -------------------------------------------------------------------------------------------------


class ShowableHit(Protocol):
    """A hit, likewise."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def document_ids(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def passage_ids(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def titles(self) -> Sequence[str]: ...  # noqa: D102


class _Citation(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def document_id(self) -> str: ...
    @property
    def passage_id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def location(self) -> str: ...


class _Step(Protocol):
    @property
    def query(self) -> str: ...


class Showable(Protocol):
    """An answer, as far as it is shown; `minirag.records.Answer` says what each attribute is."""

    @property
    def question(self) -> str:
        """See there; likewise all others."""
        ...

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def found(self) -> bool: ...  # noqa: D102
    @property
    def citations(self) -> Sequence[_Citation]: ...  # noqa: D102
    @property
    def evidence(self) -> Sequence[ShowableHit]: ...  # noqa: D102
    @property
    def used(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def chain(self) -> Sequence[ShowableHit]: ...  # noqa: D102
    @property
    def steps(self) -> Sequence[_Step]: ...  # noqa: D102
    @property
    def usage(self) -> Spent: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def strategy(self) -> str: ...  # noqa: D102
    @property
    def doubts(self) -> Sequence[str]: ...  # noqa: D102


# --- whole answers -------------------------------------------------------------------------------------------------


def as_text(answer: Showable) -> str:
    """The answer for a terminal: the question, what leads from it to the answer, the answer, its passages, the cost."""
    lines = [Line(wrap(answer.question))] if answer.question else []
    lines += path_lines(find_path(answer))
    lines.append(Line(wrap(answer.text, first="  = ", indent="    ")))
    if not answer.found:
        lines.append(Line("    (not found)"))
    lines += doubt_lines(answer, indent="    ")
    if answer.citations:
        lines += [Line(""), *citation_lines(answer)]
    lines += [Line(""), Line(wrap(describe_run(answer)))]
    return "\n".join(line.text for line in lines)


def as_html(answer: Showable) -> str:
    """The answer for a notebook: one element with its own style and no script, everything escaped, in the colours of
    whatever page it stands in, light or dark.
    """  # noqa: D205
    path = "".join(_link_html(link) for link in find_path(answer))
    sources = "".join(_citation_html(citation) for citation in answer.citations)
    not_found = "" if answer.found else " <small>(not found)</small>"
    doubts = "".join(f'<p class="minirag-doubt">(!) {_safe(doubt)}</p>' for doubt in answer.doubts)
    return (
        f'<div class="minirag-answer"><style>{_STYLE}</style>'
        f'<p class="minirag-question" dir="auto">{_safe(answer.question)}</p>'
        + (f'<ol class="minirag-path">{path}</ol>' if path else "")
        + f'<p class="minirag-text" dir="auto"><strong>{_safe(answer.text)}</strong>{not_found}</p>{doubts}'
        + (f'<div class="minirag-sources">{sources}</div>' if sources else "")
        + f'<p class="minirag-run"><small>{_safe(describe_run(answer))}</small></p></div>'
    )


def hits_as_html(hits: Sequence[ShowableHit]) -> str:
    """Hits for a notebook: a table, best first, with the beginning of each text; everything escaped."""
    rows = "".join(
        f"<tr><td>{hit.score:.3f}</td><td>{_safe('bridging fact' if hit.kind == 'bridge' else hit.kind)}</td>"
        f'<td style="text-align:left" dir="auto">{_safe(snippet(hit.text, about=()))}</td>'
        f'<td style="text-align:left">{_safe(", ".join(hit.document_ids))}</td></tr>'
        for hit in hits
    )
    head = "<tr><th>score</th><th>kind</th><th>text</th><th>documents</th></tr>"
    return f'<table class="minirag-hits">{head}{rows}</table>' if hits else "<p>Nothing found.</p>"


def find_path(answer: Showable) -> list[Link]:
    """What leads from the question to the answer.

    The reasoning chain where the strategy builds one; else the thoughts that were searched with, if any, and the facts
    that the answer rests on. Whole passages are left to the citations.
    """
    numbers = {citation.passage_id: citation.number for citation in answer.citations}
    if answer.chain:
        return [_to_link(hit, numbers) for hit in answer.chain]
    used = [answer.evidence[place] for place in answer.used]
    thoughts = [step.query for step in answer.steps[1:] if step.query not in {hit.text for hit in used}]
    links = [Link("thought", one_line(thought), ()) for thought in thoughts]
    return links + [_to_link(hit, numbers) for hit in used if hit.kind != "passage"]


def describe_run(answer: Showable) -> str:
    """Models, the reader's first, strategy, calls, cost and time in one line, and why the search ended early, if so."""
    problem = next((problem for step in answer.steps if (problem := getattr(step, "problem", ""))), "")
    early = f"; the search ended early: {one_line(problem)}" if problem else ""
    called = [call.model for call in getattr(getattr(answer, "trace", None), "calls", ())]
    models = ", ".join(dict.fromkeys([answer.model, *called]))
    return f"{models}, {answer.strategy}: {describe_usage(answer.usage)}{early}"


# --- parts ---------------------------------------------------------------------------------------------------------


def path_lines(path: Iterable[Link]) -> Iterator[Line]:
    """Each step with its number, and its sources below."""
    for number, link in enumerate(path, start=1):
        first = f"{number:>3}. "
        inner = " " * len(first)
        yield Line(wrap(snippet(link.text, about=()), first=first, indent=inner))
        for source in link.sources or (f"({link.kind})",):
            yield Line(wrap(source, first=inner, indent=inner), is_faint=True)


def doubt_lines(answer: Showable, *, indent: str = "") -> Iterator[Line]:
    """What code found to speak against the answer."""
    for doubt in answer.doubts:
        yield Line(wrap(doubt, first=f"{indent}(!) ", indent=f"{indent}    "))


def citation_lines(answer: Showable, *, indent: str = "") -> Iterator[Line]:
    """Each passage that the answer rests on: number, title, document, and the part that matters."""
    for citation in answer.citations:
        number = f"{indent}[{citation.number}] "
        inner = " " * len(number)
        yield Line(wrap(_cited(citation), first=number, indent=inner))
        part = snippet(citation.text, about=_what_matters(answer, citation))
        yield Line(wrap(part, first=inner, indent=inner), is_faint=True)


def _to_link(hit: ShowableHit, numbers: dict[str, int]) -> Link:
    """A source that is cited goes by its number, another by the passage's id."""
    titles = dict(zip(hit.document_ids, hit.titles, strict=False))
    sources = []
    for passage in hit.passage_ids:
        document = passage.rpartition("#")[0]
        name = f"{document} [{numbers[passage]}]" if passage in numbers else passage
        sources.append(_named(titles.get(document, ""), name))
    return Link(
        "bridging fact" if hit.kind == "bridge" else hit.kind,
        one_line(hit.text),
        tuple(sources),
        tuple(hit.passage_ids),
    )


def _named(title: str, name: str) -> str:
    return f"{title} — {name}" if title else name


def _cited(citation: _Citation) -> str:
    name = _named(citation.title, citation.document_id)
    return f"{name}, {citation.location}" if citation.location else name


def _what_matters(answer: Showable, citation: _Citation) -> list[str]:
    """The answer, else the end of the best fact of the passage: facts are resolved at their beginnings."""
    facts = [hit.text for hit in answer.evidence if hit.kind == "fact" and citation.passage_id in hit.passage_ids]
    return [*([answer.text] if answer.found else []), *(fact[-_ENDING:] for fact in facts)]


# --- HTML ----------------------------------------------------------------------------------------------------------

# All colours are shades of the page's own text colour: notebooks say in many ways whether they are dark.
_STYLE = """
.minirag-answer{--line:color-mix(in srgb,currentColor 30%,transparent);max-width:46rem;margin:.5rem 0;
line-height:1.45;overflow-wrap:anywhere}
.minirag-answer p{margin:0}
.minirag-answer .minirag-question,.minirag-answer .minirag-text{position:relative;padding-left:2.2rem}
.minirag-answer .minirag-question{padding-bottom:.6rem}
.minirag-answer .minirag-question::after{content:"";position:absolute;left:.75rem;top:1.2em;bottom:0;
border-left:2px solid var(--line)}
.minirag-answer .minirag-text{font-size:1.15em}
.minirag-answer .minirag-question::before,.minirag-answer .minirag-text::before{content:"";position:absolute;
box-sizing:border-box;left:.45rem;top:.3em;width:.8rem;height:.8rem;border:2px solid currentColor;border-radius:50%}
.minirag-answer .minirag-text::before{top:.4em;background:currentColor}
.minirag-answer ol.minirag-path{list-style:none;margin:0 0 0 .75rem;padding:0 0 .6rem;border-left:2px solid var(--line);
counter-reset:minirag}
.minirag-answer ol.minirag-path li{counter-increment:minirag;position:relative;margin:0;
padding:.25rem 0 .25rem calc(1.45rem - 2px)}
.minirag-answer ol.minirag-path li::before{content:counter(minirag);position:absolute;left:.3rem;opacity:.65;
font-size:.85em;top:.45em}
.minirag-answer .minirag-source{display:block;font-size:.85em;opacity:.7}
.minirag-answer .minirag-sources{margin:.9rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--line)}
.minirag-answer details{margin:.15rem 0}
.minirag-answer summary{cursor:pointer}
.minirag-answer details p{margin:.2rem 0 .6rem 1.1rem;opacity:.85}
.minirag-answer .minirag-doubt{padding-left:2.2rem}
.minirag-answer .minirag-run{opacity:.7}
"""


def _link_html(link: Link) -> str:
    shown = snippet(link.text, about=())
    sources = link.sources or (f"({link.kind})",)
    below = "".join(f'<span class="minirag-source">{_safe(source)}</span>' for source in sources)
    return f'<li><span dir="auto">{_safe(shown)}</span>{below}</li>'


def _citation_html(citation: _Citation) -> str:
    name = f"[{citation.number}] {_cited(citation)}"
    return f'<details><summary>{_safe(name)}</summary><p dir="auto">{_safe(citation.text)}</p></details>'


def _safe(text: str) -> str:
    return escape(one_line(text))
