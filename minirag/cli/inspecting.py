"""`minirag info`: what is in a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from minirag.cli.options import index_either_way, json_option
from minirag.cli.places import require_index
from minirag.cli.printing import echo_failures, echo_json
from minirag.cli.running import command
from minirag.index import Index
from minirag.models import OFFLINE
from minirag.records import IndexInfo
from minirag.telling import FAILED
from minirag.wording import count, describe_usage, one_line


@command(epilog="\b\nExample:\n  minirag info notes.usearch\n  minirag info --verify notes.usearch")
@index_either_way
@click.option(
    "--verify", "verifies", is_flag=True, help="Check the whole last commit instead, and say what is damaged."
)
@click.option("--documents", "lists", is_flag=True, help="List the ids of all documents instead.")
@json_option
def info(*, path: Path, verifies: bool, lists: bool, as_json: bool) -> None:
    """Say what is in an index: counts, encoder, model, settings, size.

    With --verify the exit code is 1 when something is damaged.
    """
    require_index(path)
    if verifies:
        _verify(path, as_json=as_json)
        return
    with Index(path, mode="r", model=OFFLINE) as opened:
        if lists:
            _echo_ids(opened.document_ids(), as_json=as_json)
            return
        found = opened.info()
    if as_json:
        echo_json({**asdict(found), "usage": found.usage.to_dict()})
    else:
        _echo_info(found)


def _echo_ids(ids: list[str], *, as_json: bool) -> None:
    if as_json:
        echo_json(ids)
    else:
        for document_id in ids:
            click.echo(one_line(document_id))


def _verify(path: Path, *, as_json: bool) -> None:
    report = Index.verify(path)
    if as_json:
        echo_json({**asdict(report), "whole": report.whole})
    else:
        click.echo(str(report))
    if not report.whole:
        click.get_current_context().exit(FAILED)


def _echo_info(found: IndexInfo) -> None:
    rows = [
        ("file", found.path),
        ("size", f"{found.bytes / 1e6:,.2f} MB, commit {found.commit:,}, {count(found.segments, 'segment')}"),
        *((name, f"{getattr(found, name):,}") for name in ("documents", "passages", "facts", "triples")),
        ("bridging facts", f"{found.bridges:,}, of {count(found.bridge_entities, 'name')}"),
        ("to be bridged", count(found.pending, "name")),
        ("encoder", f"{found.encoder}, {found.dimensions:,} dimensions"),
        ("model", found.model or "none yet"),
        ("built by", describe_usage(found.usage)),
        *((f"  {task}", describe_usage(part)) for task, part in found.usage.tasks.items() if part.calls),
        *((name.replace("_", " "), value) for name, value in asdict(found.settings).items()),
    ]
    unset = {"passage tokens": "the encoder's"}
    rows = [(name, unset.get(name, "none") if value is None else value) for name, value in rows]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {one_line(str(value))}")
    echo_failures(found.failed)
