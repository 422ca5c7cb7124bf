"""What a model answered while chains are found, kept beside them until they are written: nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import xxhash

from minirag.errors import LLMError
from minirag.reasoner import Reasoner, who_does
from minirag.records import Extension
from minirag.storage.journal import Journal

_SEPARATOR = "\x1f"


@contextmanager
def kept_replies(chains: Path) -> Iterator[Journal]:
    """The journal `<name>.replies` beside the chains; where a model's fault ends the work, that says what is kept.

    Args:
        chains: Where the chains will be written; its folder is made.

    Raises:
        IndexWriteError: When the disk refuses.
    """
    chains.parent.mkdir(parents=True, exist_ok=True)
    with Journal(chains) as journal:
        try:
            yield journal
        except LLMError as error:
            if len(journal):
                kept = "1 reply" if len(journal) == 1 else f"{len(journal):,} replies"
                error.args = (f"{error}. What was paid for is kept, {kept}: the same command goes on from there",)
            raise


async def extend_once(
    reasoner: Reasoner, journal: Journal | None, question: str, chain: Sequence[str], candidates: Sequence[str]
) -> Extension:
    """`Reasoner.extend`, unless the journal has what the same model said to the same.

    Raises:
        LLMError: When the model cannot be called, or its reply not be used.
        IndexWriteError: When the disk refuses.
    """
    if journal is None:
        return await reasoner.extend(question, chain, candidates)
    parts = ["extend", who_does(reasoner, "extend").model, question, str(len(chain)), *chain, *candidates]
    key = xxhash.xxh3_128_hexdigest(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass"))
    kept = journal.get(key)
    if kept is not None:
        choice, answer = kept
        return Extension(choice, answer)
    extension = await reasoner.extend(question, chain, candidates)
    journal.put(key, [extension.choice, extension.answer])
    return extension
