"""An answer as a page: the question, the steps that lead from it to the answer, the passages, and all that was read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from minirag.pages.building import build_page
from minirag.pages.markup import Markup, element, join
from minirag.showing import Link, Showable, ShowableHit, describe_run, find_path
from minirag.wording import one_line

_TITLE = 80  # characters of the question in the window's title
_SHORTEST_MARK = 2  # characters


def answer_page(answer: Showable) -> str:
    """A whole page about an answer, without a script. It knows answers by their attributes, as `showing` does."""
    title = one_line(answer.question)[:_TITLE] or "Answer"
    parts = [
        element("header", element("h1", one_line(answer.question), dir="auto"), class_="question"),
        _path(answer),
        _text(answer),
        _sources(answer),
        _evidence(answer),
        element("p", describe_run(answer), class_="quiet run"),
    ]
    return build_page(title=title, body=element("main", *parts, class_="page answer"), styles=("answer.css",))


def _text(answer: Showable) -> Markup:
    cited = join(element("a", f"[{c.number}]", href=f"#source-{c.number}") for c in answer.citations)
    words = element("p", element("strong", answer.text, dir="auto"), " ", element("span", cited, class_="cites"))
    missing = Markup() if answer.found else element("p", "The index does not hold the answer.", class_="quiet")
    doubts = (element("p", f"(!) {one_line(doubt)}", class_="doubt") for doubt in answer.doubts)
    return element(
        "section", words, missing, *doubts, class_="text" if answer.found else "text missing", aria_label="Answer"
    )


def _path(answer: Showable) -> Markup:
    path = find_path(answer)
    if not path:
        return Markup()
    numbers = {citation.passage_id: citation.number for citation in answer.citations}
    steps = (_step(link, numbers) for link in path)
    return element("ol", *steps, class_="path", aria_label="What leads from the question to the answer")


def _step(link: Link, numbers: dict[str, int]) -> Markup:
    chips = []
    for source, passage in zip(link.sources, link.passage_ids, strict=True):
        name = source.removesuffix(f" [{numbers.get(passage, '')}]").partition(" — ")[0]
        if passage in numbers:
            chips.append(
                element("a", f"[{numbers[passage]}] {name}", class_="chip", href=f"#source-{numbers[passage]}")
            )
        else:
            chips.append(element("span", name, class_="chip"))
    kind = element("span", link.kind, class_=f"kind kind-{_class_of(link.kind)}")
    return element("li", element("p", link.text, dir="auto"), element("p", kind, " ", *chips, class_="from"))


def _sources(answer: Showable) -> Markup:
    if not answer.citations:
        return Markup()
    marks = _marks(answer)
    cards = (
        element(
            "li",
            element("h3", f"[{each.number}] {one_line(each.title) or each.document_id}", dir="auto"),
            element("p", ", ".join(filter(None, (each.document_id, each.location))), class_="quiet"),
            element("p", _marked(each.text, marks), dir="auto", class_="passage"),
            id=f"source-{each.number}",
            class_="card",
        )
        for each in answer.citations
    )
    return element("section", element("h2", "Sources"), element("ol", *cards, class_="sources"))


def _evidence(answer: Showable) -> Markup:
    if not answer.evidence:
        return Markup()
    used = set(answer.used)
    items = (_piece(hit, is_used=place in used) for place, hit in enumerate(answer.evidence))
    summary = element("summary", f"All {len(answer.evidence)} pieces of evidence that were read")
    return element("details", summary, element("ol", *items), class_="evidence")


def _piece(hit: ShowableHit, *, is_used: bool) -> Markup:
    kind = element("span", _kind(hit.kind), class_=f"kind kind-{hit.kind}")
    used = element("span", "used", class_="kind kind-used") if is_used else Markup()
    score = element("span", f"{hit.score:.3f}", class_="quiet", title="Score")
    text = element("p", one_line(hit.text), dir="auto")
    return element("li", text, element("p", kind, used, score, _origins(hit), class_="from"))


def _origins(hit: ShowableHit) -> Markup:
    titles = [*hit.titles, *[""] * len(hit.document_ids)]
    named = [title or document for document, title in zip(hit.document_ids, titles, strict=False)]
    return element("span", " + ".join(named), class_="chip", dir="auto")


def _kind(kind: str) -> str:
    return "bridging fact" if kind == "bridge" else kind


def _class_of(kind: str) -> str:
    return "bridge" if kind == "bridging fact" else kind


def _marks(answer: Showable) -> list[str]:
    """What is worth marking in the passages: the answer, and facts that stand there word for word."""
    facts = [answer.evidence[place].text for place in answer.used if answer.evidence[place].kind == "fact"]
    texts = [answer.text, *facts] if answer.found else facts
    return [text.strip() for text in texts if len(text.strip()) >= _SHORTEST_MARK]


def _marked(text: str, marks: Iterable[str]) -> Markup:
    wanted = "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))
    if not wanted:
        return join([text])
    pieces = re.split(f"({wanted})", text, flags=re.IGNORECASE)
    return join(element("mark", piece) if place % 2 else piece for place, piece in enumerate(pieces))
