"""`minirag demo`: a small corpus, its questions, and how the answers come about."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from minirag import answering
from minirag.cli.options import (
    FILE,
    chosen_options,
    k_option,
    model_arguments,
    model_options,
    note_offline,
    shows_bars,
    strategy_option,
    strategy_options,
)
from minirag.cli.places import require_index_place
from minirag.cli.printing import echo_citations, end_with
from minirag.cli.running import command
from minirag.demo import DemoQuestion, load_documents, load_questions
from minirag.index import Index
from minirag.records import Answer, Hit, Usage
from minirag.wording import describe_usage, wrap

_INDENT = "    "
_BRIDGES = 30  # bridging facts looked through for one between the cited passages


@command(epilog="\b\nExample:\n  minirag demo\n  minirag demo --index demo.usearch --strategy indexrag")
@click.option("--index", "path", type=FILE, metavar="FILE", help="Keep the index in this file [a temporary one].")
@strategy_option
@k_option
@strategy_options
@model_options
def demo(
    *,
    path: Path | None,
    strategy: str | None,
    k: int | None,
    model: str | None,
    api_base: str | None,
    **options: int | str | bool | None,
) -> None:
    """Index 24 short articles that come with minirag and ask questions that take two or three of them.

    Needs no key, no network and no download. Each answer is shown with the passages that say so, and with the facts and
    bridging facts, of one document and of several, that led to it.
    """
    started = time.perf_counter()
    chosen, arguments = chosen_options(strategy, model, options), model_arguments(model, api_base)
    if path is not None:
        require_index_place(path, "--index")
    note_offline(model, "running")
    with _place(path) as place, Index(place, **arguments) as opened:
        spent = _build(opened)
        right = 0
        questions = load_questions()
        for number, question in enumerate(questions, start=1):
            answer = answering.ask(question.text, opened, strategy=strategy, k=k, **chosen)
            right += _is_right(answer, question)
            spent += answer.usage
            _echo_question(number, question, answer, _led_by(answer, opened))
    click.echo()
    seconds = time.perf_counter() - started
    click.echo(click.style(f"{right} of {len(questions)} right. {_total(spent, seconds)}", bold=True))
    if path is not None:
        click.echo(f'Ask your own: minirag ask "..." --index {path}')


@contextmanager
def _place(path: Path | None) -> Iterator[Path]:
    """Where the index goes; a temporary folder's is gone afterwards."""
    if path is not None:
        yield path
    else:
        with tempfile.TemporaryDirectory(prefix="minirag-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / "demo.usearch"


def _build(opened: Index) -> Usage:
    documents = load_documents()
    report = opened.add(documents, progress=shows_bars(quiet=False))
    end_with(report.failed)
    info = opened.info()
    text = (
        f"{info.documents:,} articles became {info.facts:,} facts and {info.bridges:,} bridging facts "
        f"about {info.bridge_entities:,} names that several articles share ({describe_usage(report.usage)})."
    )
    click.echo(wrap(text))
    return report.usage


def _is_right(answer: Answer, question: DemoQuestion) -> bool:
    from minirag.evaluation.metrics import accuracy

    if not question.answers:
        return not answer.found
    return answer.found and accuracy(answer.text, question.answers) == 1.0


def _echo_question(number: int, question: DemoQuestion, answer: Answer, led_by: list[Hit]) -> None:
    click.echo()
    click.echo(click.style(wrap(question.text, first=f"{number:>2}. ", indent=_INDENT), bold=True))
    click.echo(wrap(answer.text, first=f"{_INDENT}= ", indent=f"{_INDENT}  "))
    click.echo(f"{_INDENT}  {_verdict(answer, question)}")
    echo_citations(answer, indent=_INDENT)
    for hit in led_by:
        label = "bridging fact: " if hit.kind == "bridge" else f"{hit.kind}: "
        click.echo(wrap(label + hit.text, first=f"{_INDENT}- ", indent=f"{_INDENT}  "))
    click.echo(click.style(f"{_INDENT}({describe_usage(answer.usage)})", dim=True))


def _verdict(answer: Answer, question: DemoQuestion) -> str:
    if _is_right(answer, question):
        return click.style("right" if question.answers else "right, the articles do not say", fg="green")
    expected = " or ".join(question.answers) or "no answer, the articles do not say"
    return click.style(f"wrong, expected: {expected}", fg="red")


def _led_by(answer: Answer, opened: Index) -> list[Hit]:
    """The facts of the chain, what the reader used beside whole passages, and what joins the passages that it cites."""
    cited = {citation.passage_id for citation in answer.citations}
    used = [answer.evidence[place] for place in answer.used if answer.evidence[place].kind != "passage"]
    chain = [hit for hit in answer.chain if cited.issuperset(hit.passage_ids)]
    bridges = opened.search(answer.question, k=_BRIDGES, kinds=["bridge"])
    joining = [hit for hit in bridges if cited.issuperset(hit.passage_ids)][:1]
    return list({hit.id: hit for hit in [*chain, *used, *joining]}.values())


def _total(spent: Usage, seconds: float) -> str:
    return describe_usage(Usage(spent.calls, cost=spent.cost, seconds=seconds)) + " in all."
