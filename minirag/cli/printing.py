"""How results look on a terminal, and as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable
from typing import Any

import click

from minirag.records import Answer, Citation, Failure, Hit, Usage

SNIPPET = 200  # characters of a passage
_LEAD = 120  # of them, at most, before what the snippet is about
_ENDING = 40  # characters that tell a sentence


def echo_note(text: str) -> None:
    """Say something by the way, on standard error."""
    click.echo(f"Note: {one_line(text)}", err=True)


def echo_json(value: Any) -> None:  # noqa: ANN401
    """Print JSON, with characters as they are where the output can take all of them."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    click.echo(json.dumps(value, ensure_ascii=encoding != "utf8", indent=2))


def echo_failures(failures: Iterable[Failure]) -> None:
    """Name what failed, with the reason, on standard error."""
    for failure in failures:
        click.echo(f"{click.style('failed', fg='red')}: {one_line(failure.id)}: {one_line(failure.reason)}", err=True)


def end_with(failures: Iterable[Failure]) -> None:
    """Name what failed, and end the command with exit code 1 if anything did."""
    failed = list(failures)
    echo_failures(failed)
    if failed:
        click.get_current_context().exit(1)


def one_line(text: str) -> str:
    """The text without line breaks, runs of spaces, and control characters, which could command a terminal."""
    squeezed = " ".join(text.split())
    return "".join("" if unicodedata.category(character) == "Cc" else character for character in squeezed)


def wrap(text: str, *, first: str = "", indent: str = "") -> str:
    """The text in lines that fit the terminal.

    Args:
        text: Any; white space is squeezed.
        first: Stands before the first line, not styled.
        indent: Before each other line.
    """
    width = min(max(shutil.get_terminal_size().columns, 40), 100)
    return textwrap.fill(one_line(text), width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def snippet(text: str, *, about: Iterable[str]) -> str:
    """The part of a passage that is worth showing, of about 200 characters.

    Args:
        text: The passage.
        about: What it should hold, best first: the first that the passage holds counts. Else it is the beginning.
    """
    text = one_line(text)
    folded = text.casefold()
    wanted = (one_line(each).casefold() for each in about)
    place, length = next(((folded.find(each), len(each)) for each in wanted if each and each in folded), (0, 0))
    start = 0
    if place + length > SNIPPET:
        sentence = max(text.rfind(mark, max(0, place - _LEAD), place + 1) for mark in (". ", "! ", "? "))
        start = sentence + 2 if sentence >= 0 else text.rfind(" ", 0, max(1, place - _LEAD)) + 1
    end = min(start + SNIPPET, len(text))
    if end < len(text) and (space := text.rfind(" ", start + SNIPPET // 2, end)) > 0:
        end = space
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")


def count(number: int, noun: str) -> str:
    """The number with its noun: "1 fact", "1,204 facts"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def describe_usage(usage: Usage) -> str:
    """Calls, cost and time in a few words."""
    return f"{count(usage.calls, 'call')}, {_dollars(usage.cost)}, {usage.seconds:.2f} s"


def echo_answer(answer: Answer) -> None:
    """The answer, its citations, and what it took."""
    click.echo(click.style(wrap(answer.text), bold=True))
    if not answer.found:
        click.echo("(not found)")
    if answer.citations:
        click.echo()
    echo_citations(answer)
    click.echo()
    click.echo(click.style(f"{answer.model}, {answer.strategy}: {describe_usage(answer.usage)}", dim=True))


def echo_citations(answer: Answer, *, indent: str = "") -> None:
    """Each passage that the answer rests on: number, title, document, and the part that matters."""
    for citation in answer.citations:
        number = f"{indent}[{citation.number}] "
        inner = " " * len(number)
        click.echo(wrap(_source(citation), first=number, indent=inner))
        part = snippet(citation.text, about=_what_matters(answer, citation))
        click.echo(click.style(wrap(part, first=inner, indent=inner), dim=True))


def echo_hit(number: int, hit: Hit) -> None:
    """One hit of a search."""
    label = {"bridge": "bridging fact"}.get(hit.kind, hit.kind)
    click.echo(f"{number:>2}. {hit.score:.3f}  {label}  {one_line(', '.join(hit.document_ids))}")
    click.echo(wrap(hit.text, first="    ", indent="    "))


def _source(citation: Citation) -> str:
    return f"{citation.title} — {citation.document_id}" if citation.title else citation.document_id


def _what_matters(answer: Answer, citation: Citation) -> list[str]:
    """The answer, else the end of the best fact of the passage: facts are resolved at their beginnings."""
    facts = [hit.text for hit in answer.evidence if hit.kind == "fact" and citation.passage_id in hit.passage_ids]
    return [*([answer.text] if answer.found else []), *(fact[-_ENDING:] for fact in facts)]


def _dollars(cost: float | None) -> str:
    if cost is None:
        return "price unknown"
    return "$0" if cost == 0 else f"${cost:.4f}" if cost < 1 else f"${cost:,.2f}"
