"""Changing the encoder of an index: all vectors anew, from the texts that it holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from minirag import loop
from minirag.embedding import embed, find_refused, texts_of
from minirag.encoder import aligner_of, close_encoder, describe_encoders, open_encoder
from minirag.ending import in_thread, noting
from minirag.errors import EncoderError, MiniragError, TextsRefusedError
from minirag.naming.names import normalise_name
from minirag.progress import Listener, Progress
from minirag.records import Ledger, Usage, counting
from minirag.storage.accounts import usage_in, usage_to_header
from minirag.storage.kept_vectors import KeptVectors
from minirag.storage.store import Store
from minirag.storage.writing import Change

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder
    from minirag.storage.segment_data import SegmentData

_NAMED = 5  # that are told of what is refused
_log = logging.getLogger(__name__)


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
        EncoderError: If the encoder cannot be loaded or run, or does not take a text; the file is then as it was, and
            vectors that were paid for are kept for the next call.
        BudgetExceededError: If all vectors might cost more than `max_cost`; nothing was called.
        InputError: When `max_cost` is given for a hosted encoder of unknown price.
        IndexFileError: When the file cannot be opened.
        IndexLockedError: When somebody else is writing.
        IndexWriteError: When the disk refuses.
    """
    with telling_how_to_go_on(Path(path)):
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
    with store.writing(), KeptVectors(store.path) as kept, counting(ledger), _accounting(store, ledger):
        held = store.read_all()
        with progress.stage("encoding", sum(map(len, texts_of(held.documents, held.bridges)))) as done:
            try:
                data = await in_thread(
                    embed,
                    held.documents,
                    held.bridges,
                    encoder=encoder,
                    aligner=aligner_of(encoder),
                    kept=kept,
                    progress=done,
                )
            except TextsRefusedError as error:
                raise EncoderError(_describe_refused(held, error)) from error
        before = store.snapshot.header
        header = {**before, **describe_encoders(encoder, source)}
        store.replace_all(data, header, account=lambda: usage_to_header(usage_in(before) + ledger.of_part()))
        kept.forget()


@contextmanager
def telling_how_to_go_on(path: Path) -> Iterator[None]:
    """Around a call that may be interrupted."""
    how = "The file is as it was, and vectors that were paid for are kept; run the same reembed again to go on."
    with noting(how, f"{path}: reembed", _log):
        yield


@contextmanager
def _accounting(store: Store, ledger: Ledger) -> Iterator[None]:
    """Keep what it took also where it ends in the middle."""
    ledger.begin_part()
    try:
        yield
    except BaseException:
        header, spent = store.snapshot.header, ledger.of_part()
        if spent.calls:
            header = {**header, **usage_to_header(usage_in(header) + spent)}
            with suppress(MiniragError):  # the user must hear of what ended it
                store.commit(Change(header, store.snapshot.pending))
        raise


def _describe_refused(held: SegmentData, error: TextsRefusedError) -> str:
    """The documents and bridge entities that stand in the way, and the reason of the first."""
    of_bridges = {f"bridge entity {bridge.entity}": error.among([bridge.text]) for bridge in held.bridges}
    found = find_refused(held.documents, error)
    found |= {name: reason for name, reason in of_bridges.items() if reason is not None}
    first, *others = found
    more = f" and {len(others):,} more ({', '.join(others[:_NAMED])})" if others else ""
    return f"{first}{more}: {found[first]}. The file is as it was. Delete what is named, or take another encoder"
