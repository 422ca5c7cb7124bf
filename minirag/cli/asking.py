"""`minirag ask` and `search`: what reads a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from minirag import answering
from minirag.cli.choices import SECONDS, Choice
from minirag.cli.customising import prompts_option
from minirag.cli.options import (
    FILE,
    chosen_options,
    cost_options,
    index_option,
    json_option,
    k_option,
    model_arguments,
    model_options,
    note_offline,
    strategy_option,
    strategy_options,
    where_option,
)
from minirag.cli.places import require_file, require_index
from minirag.cli.printing import echo_answer, echo_hit, echo_json
from minirag.cli.running import command
from minirag.cli.streaming import echo_stream, shows_stream
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.output import check_not_over
from minirag.pages import write_page
from minirag.records import KINDS, Kind, Prompts
from minirag.retrieving import SearchMode
from minirag.wording import one_line


@command(epilog='\b\nExample:\n  minirag ask "Where was the director of Aylwin born?" --index notes.usearch')
@click.argument("question")
@index_option
@strategy_option
@k_option
@where_option
@strategy_options
@model_options
@cost_options
@prompts_option
@json_option
@click.option("--time-limit", type=SECONDS, metavar="SECONDS", help="Give up after so long.")
@click.option("--no-stream", is_flag=True, help="Show the answer when it is whole, on a terminal too.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer's text alone.")
@click.option("--html", "page", type=FILE, metavar="FILE", help="Also write a page with the steps and the passages.")
def ask(
    question: str,
    *,
    path: Path,
    strategy: str | None,
    k: int | None,
    where: dict[str, Any] | None,
    model: str | None,
    api_base: str | None,
    max_cost: float | None,
    price: tuple[float, float] | None,
    prompts: Prompts | None,
    time_limit: float | None,
    as_json: bool,
    no_stream: bool,
    quiet: bool,
    page: Path | None,
    **options: int | str | bool | None,
) -> None:
    """Answer QUESTION from an index, with the passages that say so.

    On a terminal the answer appears while the model writes it. An index that holds no answer is not an error: the
    output says so, and the exit code is 0.
    """
    chosen = chosen_options(strategy, model, options)
    require_index(path)
    require_file(page, "--html")
    if page is not None:
        check_not_over(page, path)
    with Index(path, mode="r", **model_arguments(model, api_base, price)) as opened:
        built_by = opened.built_by
        how: dict[str, Any] = {"strategy": strategy, "k": k, "where": where, "prompts": prompts, "max_cost": max_cost}
        how |= {"time_limit": time_limit, **chosen}
        streams = shows_stream(as_json=as_json) and not (no_stream or quiet)
        if streams:
            answer = echo_stream(answering.stream(question, opened, **how))
        else:
            answer = answering.ask(question, opened, **how)
    if not quiet:
        note_offline(model, "answered", built_by=built_by)
    if page is not None:
        write_page(page, answer.to_html())
    if as_json:
        echo_json(answer.to_dict())
    elif quiet:
        click.echo(one_line(answer.text))
    else:
        echo_answer(answer, text_is_shown=streams)


@command(epilog='\b\nExample:\n  minirag search "lighthouse" -k 5 --kind passage --index notes.usearch')
@click.argument("query")
@index_option
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many hits at most.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=Choice(KINDS),
    help="What to search for; may be given several times [fact and bridge; by words passage].",
)
@click.option(
    "--mode",
    type=Choice(get_args(SearchMode)),
    default="dense",
    show_default=True,
    help="By meaning, by words, or both; the latter two find passages.",
)
@where_option
@json_option
def search(
    query: str,
    *,
    path: Path,
    k: int,
    kinds: tuple[Kind, ...],
    mode: SearchMode,
    where: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Find what is most similar to QUERY, without any model.

    Each hit is shown with its score and its documents: the cosine similarity, of words BM25's score, and of both the
    sum of the ranks' reciprocals.
    """
    require_index(path)
    with Index(path, mode="r", model=OFFLINE) as opened:
        hits = opened.search(query, k=k, kinds=kinds or None, mode=mode, where=where)
        passes = bool(hits) or len(opened.filtered(where)) > 0
    if as_json:
        echo_json({"query": query, "hits": [asdict(hit) for hit in hits]})
        return
    for number, hit in enumerate(hits, start=1):
        echo_hit(number, hit)
    if not hits:
        click.echo("Nothing found." if passes or where is None else "Nothing found: no document passes --where.")
