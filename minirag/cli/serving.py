"""`minirag mcp`: an index for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from minirag.cli.options import (
    chosen_options,
    index_either_way,
    k_option,
    model_arguments,
    model_options,
    note_offline,
    strategy_option,
    strategy_options,
    where_option,
)
from minirag.cli.places import require_index, require_index_place
from minirag.cli.running import command
from minirag.index import Index
from minirag.telling import FailedError
from minirag.version import __version__


@command("mcp", epilog="\b\nExample:\n  minirag mcp notes.usearch --about 'minutes of the board'")
@index_either_way
@click.option("--writable", is_flag=True, help="Also offer to add documents; starts the index where there is none.")
@click.option("--about", metavar="TEXT", default="", help="What the documents are, for agents to choose by.")
@where_option
@strategy_option
@k_option
@strategy_options
@model_options
def mcp(
    *,
    path: Path,
    writable: bool,
    about: str,
    where: dict[str, Any] | None,
    strategy: str | None,
    k: int | None,
    model: str | None,
    api_base: str | None,
    **options: int | str | bool | None,
) -> None:
    """Serve an index to agents over standard input and output, by the Model Context Protocol.

    Offers search, ask, list_documents and read_document. An agent's program starts it; the README shows what its
    configuration says. Needs the extra: pip install 'minirag[mcp]'
    """
    if writable and where:
        raise click.UsageError("--where and --writable do not go together: add could replace what is not to be seen")
    given = chosen_options(strategy, model, options)
    try:
        from minirag.adapters.finding import Way
        from minirag.adapters.mcp import build_server
    except ImportError as error:
        raise FailedError(str(error)) from error
    if writable:
        require_index_place(path, "FILE")
    else:
        require_index(path)
    with Index(path, mode="a" if writable else "r", **model_arguments(model, api_base)) as opened:
        opened.require_encoder()
        note_offline(model, "answering", built_by=opened.built_by)
        way = Way(strategy, k, where=where, options=given)
        build_server(opened, way=way, writable=writable, about=about, version=__version__).run()
