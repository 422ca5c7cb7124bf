"""An answer on a terminal, while it is being written."""

from __future__ import annotations

import sys

import click

from minirag.records import Answer
from minirag.streaming import AnswerStream
from minirag.wording import printable, wrap


def shows_stream(*, as_json: bool) -> bool:
    """Whether the text is shown while it comes: where somebody looks at it."""
    return not as_json and sys.stdout.isatty()


def echo_stream(answering: AnswerStream) -> Answer:
    """Print the text while it comes, and give the whole answer; one that had to be repaired is printed again."""
    told = ""
    for piece in answering:
        told += piece
        click.secho(printable(piece), bold=True, nl=False)
        sys.stdout.flush()
    answer = answering.answer
    if told:
        click.echo()
    if told != answer.text:
        click.secho(wrap(answer.text), bold=True)
    return answer
