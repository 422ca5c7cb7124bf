"""How results look on a terminal, and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from minirag.records import Answer, Failure, Hit
from minirag.showing import Line, citation_lines, describe_run, doubt_lines, find_path, path_lines
from minirag.wording import one_line, wrap


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


def echo_answer(answer: Answer, *, text_is_shown: bool = False) -> None:
    """The answer, the steps that led to it where there were some, its citations, and what it took."""
    if not text_is_shown:
        click.echo(click.style(wrap(answer.text), bold=True))
    if not answer.found:
        click.echo("(not found)")
    _echo_lines(doubt_lines(answer))
    if answer.chain or len(answer.steps) > 1:
        click.echo()
        _echo_lines(path_lines(find_path(answer)))
    if answer.citations:
        click.echo()
    echo_citations(answer)
    click.echo()
    click.echo(click.style(describe_run(answer), dim=True))


def echo_citations(answer: Answer, *, indent: str = "") -> None:
    """Each passage that the answer rests on: number, title, document, and the part that matters."""
    _echo_lines(citation_lines(answer, indent=indent))


def echo_hit(number: int, hit: Hit) -> None:
    """One hit of a search."""
    label = {"bridge": "bridging fact"}.get(hit.kind, hit.kind)
    click.echo(f"{number:>2}. {hit.score:.3f}  {label}  {one_line(', '.join(hit.document_ids))}")
    click.echo(wrap(hit.text, first="    ", indent="    "))


def _echo_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        click.echo(click.style(line.text, dim=True) if line.is_faint else line.text)
