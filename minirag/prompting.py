"""The prompts that an index was given: kept in its file, and told of when they change what is extracted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from minirag.records import Prompts, Thinking
from minirag.storage.store import Store
from minirag.storage.writing import Change

INDEXING: tuple[Thinking, ...] = ("bridge", "extract")


def prompts_in(header: Mapping[str, Any]) -> Prompts:
    """What a file's header holds of prompts; the standard ones where it says nothing."""
    return Prompts.from_dict(header.get("prompts", {}))


def check_prompts(prompts: object) -> Prompts:
    """The prompts, if they are some.

    Raises:
        ValueError: If they are not, or an example does not fit its task.
    """
    if not isinstance(prompts, Prompts):
        raise ValueError(f"prompts is a minirag.Prompts, not {prompts!r}; Prompts.from_dict makes one of a dict")
    from minirag.reasoner.prompts import check_examples

    check_examples(prompts)
    return prompts


def check_prompts_of_asking(prompts: object) -> Prompts:
    """The prompts for one question.

    Raises:
        ValueError: If they are none, or also for what indexing does.
    """
    checked = check_prompts(prompts)
    if wrong := [task for task in INDEXING if task in checked.own]:
        raise ValueError(
            f"prompts for a question are of read, extend and think; {' and '.join(wrong)} is done while indexing: "
            "Index(path, prompts=...)"
        )
    return checked


def keep_prompts(store: Store, prompts: Prompts) -> None:
    """Write prompts into an index file, in the place of those that it holds.

    Warns, at the line that opened the index, when they change how the documents that it holds would be extracted or
    bridged.

    Raises:
        IndexLockedError: When somebody else is writing.
        IndexWriteError: When the disk refuses.
    """
    if prompts_in(store.snapshot.header) == prompts:
        return
    with store.writing():
        snapshot = store.snapshot
        before = prompts_in(snapshot.header)
        store.commit(Change({**snapshot.header, "prompts": prompts.to_dict()}, snapshot.pending))
    changed = [task for task in INDEXING if before.of(task) != prompts.of(task)]
    count = store.snapshot.count("documents")
    if changed and count:
        warnings.warn(
            f"{store.path.name}: the prompt of {' and '.join(changed)} has changed. It is used for what is added from "
            f"now on; add(documents, reextract=True) (minirag index --reextract) uses it for the {count:,} documents "
            "that are there",
            stacklevel=3,
        )
