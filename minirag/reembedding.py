"""Changing the encoder of an index: all vectors anew, from the texts that it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minirag import loop
from minirag.embedding import embed, texts_of
from minirag.encoder import aligner_of, close_encoder, describe_encoders, open_encoder
from minirag.ending import in_thread
from minirag.naming.names import normalise_name
from minirag.progress import Listener, Progress
from minirag.records import Ledger, Usage, counting
from minirag.storage.accounts import usage_in, usage_to_header
from minirag.storage.store import Store

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder


def reembed(
    path: str | PathLike[str],
    encoder: str | Path | Encoder | None = None,
    *,
    progress: bool | Listener = True,
    max_cost: float | None = None,
    prices: Mapping[str, Sequence[float]] | None = None,
) -> Usage:
    """Change the encoder of an index whose own is not to be had, without opening it first.

    So it is with an index of an older minirag, which shipped another encoder. `Index.reembed` does the same to an index
    that is open. Passages, facts, triples and bridging facts stay as they are, and no LLM is called.

    Args:
        path: The file.
        encoder: As for `Index`; None is the one that minirag ships.
        progress: As for `Index.add`.
        max_cost: Dollars that a hosted encoder may take; None for no limit.
        prices: What it costs where LiteLLM does not know it: dollars per million tokens by its name, as for `Index`.

    Returns:
        What it took.

    Raises:
        EncoderError: If the encoder cannot be loaded or run; the file is then as it was.
        BudgetExceededError: If all vectors might cost more than `max_cost`; nothing was called.
        InputError: When `max_cost` is given for a hosted encoder of unknown price.
        IndexFileError: When the file cannot be opened.
        IndexLockedError: When somebody else is writing.
        IndexWriteError: When the disk refuses.
    """
    return loop.run(_reembed(path, encoder, prices, Progress(progress), Ledger(max_cost=max_cost)))


async def _reembed(
    path: str | PathLike[str],
    encoder: str | Path | Encoder | None,
    prices: Mapping[str, Sequence[float]] | None,
    progress: Progress,
    ledger: Ledger,
) -> Usage:
    store = Store(Path(path), mode="a", normalise=normalise_name)
    opened: Encoder | None = None
    try:
        with store.writing():
            pass  # what keeps us from writing is told before an encoder is loaded
        opened = await asyncio.to_thread(open_encoder, encoder, prices=prices)
        await reembed_store(store, opened, encoder, progress=progress, ledger=ledger)
    finally:
        store.close()
        if opened is not None and opened is not encoder:
            await asyncio.to_thread(close_encoder, opened)
    return ledger.total(seconds=ledger.now())


async def reembed_store(
    store: Store, encoder: Encoder, source: str | Path | Encoder | None, *, progress: Progress, ledger: Ledger
) -> None:
    """Write all vectors anew, in one commit.

    Args:
        store: Open for writing.
        encoder: The new one.
        source: As the user gave it.
        progress: Of the encoding.
        ledger: Gets what a hosted encoder takes.
    """
    with store.writing(), counting(ledger):
        ledger.begin_part()
        held = store.read_all()
        with progress.stage("encoding", sum(map(len, texts_of(held.documents, held.bridges)))) as done:
            data = await in_thread(
                embed, held.documents, held.bridges, encoder=encoder, aligner=aligner_of(encoder), progress=done
            )
        before = store.snapshot.header
        header = {**before, **describe_encoders(encoder, source)}
        store.replace_all(data, header, account=lambda: usage_to_header(usage_in(before) + ledger.of_part()))
