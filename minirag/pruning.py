"""Which documents of a folder are gone from it: by the file that each was read from, never by guessing from ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from minirag.errors import InputError
from minirag.records import Document, Failure

if TYPE_CHECKING:
    from minirag.storage.snapshot import Snapshot

MOST = 0.5  # of a folder's documents go without being asked
REFUSED = "not pruned: "
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")  # how ids and sources write what is no Unicode


class Seen:
    """What a run of `load` came upon."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.ids: set[str] = set()
        self._sources: set[str] = set()
        self._failed: set[str] = set()

    def watch(self, items: Iterator[Document | Failure]) -> Iterator[Document | Failure]:
        """The items as they are, remembered."""
        for item in items:
            if isinstance(item, Document):
                self.ids.add(item.id)
                self._sources.add(item.source)
            else:
                self._failed.add(item.id)
            yield item

    def misses(self, document_id: str, source: str) -> bool:
        """Whether a file was read from end to end, and the document was not in it."""
        if document_id in self.ids or document_id in self._failed or source not in self._sources:
            return False
        return not any(name == source or name.startswith((f"{source}:", f"{source}[")) for name in self._failed)


def find_gone(snapshot: Snapshot, folder: Path, *, most: float = MOST, seen: Seen | None = None) -> list[str]:
    """The documents that were read from files below a folder which are not there any more.

    Args:
        snapshot: What the index holds.
        folder: As it was given when they were added.
        most: The share of the folder's documents that may be gone, from 0 to 1: a folder that is only not mounted
            looks as if all were.
        seen: What was just read from the folder: then records that vanished from files that are there are gone, too.

    Returns:
        Ids, in the order of the file.

    Raises:
        InputError: If it is no folder that can be read, or more is gone.
        ValueError: If `most` is out of range.
    """
    if not 0 <= most <= 1:
        raise ValueError(f"the share that may be pruned must lie between 0 and 1, not {most}")
    _check_folder(folder)
    known = {name: source for name, source in _sources(snapshot).items() if _is_below(source, folder)}
    gone = [name for name, source in known.items() if _is_gone(source) or (seen and seen.misses(name, source))]
    if len(gone) > most * len(known):
        raise InputError(
            f"{REFUSED}{len(gone):,} of the {len(known):,} documents that came from {folder.as_posix()} are gone from "
            f"it, more than {most:.0%}. If that is right, allow it: prune_most=1.0, or --yes on the command line"
        )
    return gone


def _check_folder(folder: Path) -> None:
    try:
        with os.scandir(folder):
            pass
    except OSError as error:
        raise InputError(f"{REFUSED}{folder.as_posix()} is no folder that can be read: {error.strerror}") from error


def _sources(snapshot: Snapshot) -> Mapping[str, str]:
    found = {}
    for segment in snapshot.segments:
        alive = segment.alive("documents")
        for row in range(segment.count("documents")):
            if (alive is None or alive[row]) and (source := segment.source(row)):
                found[segment.head(row)[0]] = source
    return found


def _is_below(source: str, folder: Path) -> bool:
    path = PurePosixPath(source)
    if folder == Path():
        return not path.is_absolute() and path.parts[0] != ".."
    return source.startswith(folder.as_posix().rstrip("/") + "/")


def _is_gone(source: str) -> bool:
    """Whether nothing has this name; what cannot be looked at is not gone."""
    return all(_is_missing(name) for name in {source, _BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), source)})


def _is_missing(name: str) -> bool:
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
