"""`minirag index`, `delete`, `compact`: what changes a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from minirag.cli.customising import prompts_option
from minirag.cli.options import (
    cost_options,
    encoder_option,
    index_either_way,
    index_option,
    model_arguments,
    model_options,
    note_offline,
    quiet_option,
    shows_bars,
)
from minirag.cli.places import require_index, require_index_place
from minirag.cli.printing import echo_failures, end_with
from minirag.cli.running import command
from minirag.encoder import is_hosted
from minirag.errors import BudgetExceededError
from minirag.index import Index, open_to_estimate
from minirag.models import OFFLINE
from minirag.pruning import MOST, REFUSED
from minirag.records import AddReport, Budget, DeleteReport, Estimate, Failure, Prompts, Settings
from minirag.storage.discarding import leaving_nothing_empty
from minirag.storage.journal import keeps_replies
from minirag.storage.kept_vectors import keeps_vectors
from minirag.storage.store import find_file
from minirag.telling import Interrupted
from minirag.wording import count, describe_usage, dollars, one_line

_NOT_KEPT = "is not kept, as nothing came into it"
_ANYTHING = click.Path(readable=False, path_type=Path)  # what cannot be read is named, and the rest goes on


@command(
    epilog="\b\nExample:\n  minirag index docs/ corpus.jsonl --index notes.usearch \\\n    --model openai/gpt-4o-mini"
)
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...", type=_ANYTHING)
@index_option
@model_options
@cost_options
@encoder_option
@click.option("--passage-tokens", type=int, metavar="N", help="Window of a passage [the encoder's].")
@click.option("--bridge-min-documents", type=int, metavar="N", help="A name bridges if N documents share it [2].")
@click.option("--bridge-max-documents", type=int, metavar="N", help="And if no more than N do [10].")
@click.option("--bridge-min-length", type=int, metavar="N", help="Shorter names do not bridge, in characters [3].")
@click.option("--bridge-facts-per-document", type=int, metavar="N", help="What one bridging call sees of each [8].")
@click.option("--bridge-within", metavar="KEY", help="Bridge only documents that agree in this key of the metadata.")
@click.option("--prune", is_flag=True, help="Delete what came from the folders among PATHS and is gone from them.")
@click.option("--yes", is_flag=True, help="Prune even if more than half of a folder's documents would go.")
@prompts_option
@click.option("--reextract", is_flag=True, help="Derive afresh also what is unchanged: for another model or prompt.")
@click.option("--estimate", is_flag=True, help="Say what it would take, and do nothing.")
@quiet_option
def index(
    paths: tuple[Path, ...],
    *,
    path: Path,
    model: str | None,
    api_base: str | None,
    max_cost: float | None,
    price: tuple[float, float] | None,
    encoder: str | None,
    prompts: Prompts | None,
    reextract: bool,
    prune: bool,
    yes: bool,
    estimate: bool,
    quiet: bool,
    **building: Any,  # noqa: ANN401
) -> None:
    """Index files and folders, or bring an index up to date.

    Takes .txt, .md, .rst, .csv, .tsv, .json and .jsonl, the latter two as documents {id, title, text, metadata}; with
    minirag[files] also .pdf, .html, .docx, .pptx, .xlsx and .epub. Folders are walked; hidden and other files are
    skipped. A document that is there with the same content costs nothing, with other content it is replaced. How
    passages and bridges are made is fixed when the file is created.
    """
    given = {name: value for name, value in building.items() if value is not None}
    settings = Settings(**given) if given else None
    skipped: list[Path] = []
    if estimate:
        options = {"encoder": encoder, "settings": settings, "prompts": prompts}
        arguments = options | model_arguments(model, api_base, price)
        bars = shows_bars(quiet=quiet)
        _echo_estimate(
            lambda opened: opened.estimate(paths, progress=bars, reextract=reextract, prune=prune), path, **arguments
        )
        return
    require_index_place(path, "--index")
    with (
        leaving_nothing_empty(path) as would_go,
        Index(
            path, encoder=encoder, settings=settings, prompts=prompts, **model_arguments(model, api_base, price)
        ) as opened,
    ):
        if not quiet:
            note_offline(model, "indexing", built_by=opened.built_by)
        try:
            budget = Budget.of(max_cost)  # of both runs together
            add = partial(opened.add, paths, progress=shows_bars(quiet=quiet), max_cost=budget, prune=prune)
            report = add(reextract=reextract, on_skip=skipped.append, prune_most=1.0 if yes else MOST)
            if _was_refused(report) and _may_prune(report):
                again = add(prune_most=1.0)
                took = report.usage + again.usage
                report = replace(again, added=report.added, updated=report.updated, usage=took)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(_what_is_kept(opened, goes=would_go())) from interrupt
        except BudgetExceededError as error:
            if not quiet:
                _echo_report(error.report, skipped, opened, goes=would_go())
            echo_failures(error.report.failed)
            raise
        if not quiet:
            _echo_report(report, skipped, opened, goes=bool(report.failed) and would_go())
        end_with(report.failed)


@command(epilog="\b\nExample:\n  minirag delete docs/old.md docs/older.md --index notes.usearch")
@click.argument("ids", nargs=-1, required=True, metavar="IDS...")
@index_option
@model_options
@cost_options
@quiet_option
def delete(
    ids: tuple[str, ...],
    *,
    path: Path,
    model: str | None,
    api_base: str | None,
    max_cost: float | None,
    price: tuple[float, float] | None,
    quiet: bool,
) -> None:
    """Delete documents by id, with everything derived from them.

    Names that other documents still share are bridged afresh, by the model. What --max-cost does not pay for waits for
    the next index; the documents are gone all the same.
    """
    require_index(path)
    with Index(path, **model_arguments(model, api_base, price)) as opened:
        try:
            report = opened.delete(ids, progress=shows_bars(quiet=quiet), max_cost=max_cost)
        except BudgetExceededError as error:
            if error.report is not None:  # else nothing was deleted, as its vectors could not be paid for
                _echo_deleted(error.report, opened, quiet=quiet)
                echo_failures(_failures_of(error.report))
            raise
        _echo_deleted(report, opened, quiet=quiet)
    end_with(_failures_of(report))


@command(epilog="\b\nExample:\n  minirag compact notes.usearch")
@index_either_way
@quiet_option
def compact(*, path: Path, quiet: bool) -> None:
    """Write the file afresh, without what was deleted or replaced.

    Happens by itself when much has gathered.
    """
    require_index(path)
    with Index(path, model=OFFLINE) as opened:
        before = opened.info().bytes
        opened.compact()
        if not quiet:
            click.echo(f"{path}: {before / 1e6:,.2f} MB before, {opened.info().bytes / 1e6:,.2f} MB now")


def _echo_deleted(report: DeleteReport, opened: Index, *, quiet: bool) -> None:
    if not quiet:
        click.echo(f"deleted {len(report.deleted):,}, missing {len(report.missing):,}")
        click.echo(f"{', '.join(opened.models_of(report.usage))}: {describe_usage(report.usage)}")


def _failures_of(report: DeleteReport) -> list[Failure]:
    return [*(Failure(missing, "the index has no such document") for missing in report.missing), *report.failed]


def _was_refused(report: AddReport) -> bool:
    return any(failure.reason.startswith(REFUSED) and "more than" in failure.reason for failure in report.failed)


def _may_prune(report: AddReport) -> bool:
    """Ask, where somebody can answer."""
    if not sys.stdin.isatty():
        return False
    for failure in report.failed:
        if failure.reason.startswith(REFUSED):
            click.echo(one_line(failure.reason.partition(". ")[0]), err=True)
    return click.confirm("Delete them?", err=True)


def _what_is_kept(opened: Index, *, goes: bool) -> str:
    opened.refresh()
    held = _NOT_KEPT if goes else f"holds {count(len(opened), 'document')}"
    file = find_file(opened.path)
    paid = [name for name, keeps in (("replies", keeps_replies), ("vectors", keeps_vectors)) if keeps(file)]
    beside = f", and {' and '.join(paid)} that were paid for are kept beside it" if paid else ""
    going_on = " to go on: what is there is not done again" if paid or len(opened) else ""
    return f"Interrupted. {one_line(str(opened.path))} {held}{beside}. Run the same command again{going_on}."


def _echo_estimate(estimating: Callable[[Index], Estimate], path: Path, **arguments: Any) -> None:  # noqa: ANN401
    """What `add` would take."""
    with open_to_estimate(path, **arguments) as opened:
        if arguments["model"] == OFFLINE and not is_hosted(opened.encoder):
            raise click.UsageError("--estimate needs a --model: offline indexing takes no calls")
        found = estimating(opened)
    extracting = found.calls - found.bridging_calls
    click.echo(f"{count(found.documents, 'document')} to index, {count(found.passages, 'passage')}")
    if found.calls:
        calls = f"{count(found.calls, 'call')}: {extracting:,} for passages, {found.bridging_calls:,} for "
        click.echo(f"{calls}{found.bridge_entities:,} bridge entities")
    encoded = f", {found.encoding_tokens:,} to the encoder" if found.encoding_tokens else ""
    click.echo(f"about {found.prompt_tokens:,} tokens sent, {found.completion_tokens:,} received{encoded}")
    click.echo("price unknown" if found.cost is None else f"about {dollars(found.cost)}")


def _echo_report(report: AddReport, skipped: Iterable[Path], opened: Index, *, goes: bool) -> None:
    """What was done, and what the file holds; `goes` where it is about to be taken away, as nothing came into it."""
    click.echo(str(report).partition("; ")[0])
    if skipped:
        click.echo(_describe_skipped(skipped))
    click.echo(f"{', '.join(opened.models_of(report.usage))}: {describe_usage(report.usage)}")
    info = opened.info()
    if goes:
        click.echo(f"{one_line(info.path)} {_NOT_KEPT}")
        return
    click.echo(
        f"{one_line(info.path)} holds {count(info.documents, 'document')}, {count(info.facts, 'fact')}, "
        f"{count(info.bridges, 'bridging fact')}; {info.bytes / 1e6:,.2f} MB"
    )


def _describe_skipped(skipped: Iterable[Path]) -> str:
    kinds = Counter(_kind_of(path) for path in skipped)
    told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"skipped {kinds.total():,} ({told})"


def _kind_of(path: Path) -> str:
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink():
        return "linked"
    return one_line(path.suffix.lower()) or "without suffix"
