"""Turning what the user gives into documents: one at a time, and what cannot be used is named, not raised."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from minirag.loading.checking import check, content_hash, document_from
from minirag.loading.files import SUFFIXES, Items, OnPath, Told, count_converted, read_path
from minirag.records import Document, Failure

__all__ = ["SUFFIXES", "Source", "check", "content_hash", "count_files", "find_folders", "load"]

Source: TypeAlias = Document | Mapping[str, Any] | os.PathLike[str] | str

MAX_GUESSED_LENGTH = 255
SENTENCE_ENDS = tuple(".!?…。！？")


def load(
    sources: Source | Iterable[Source], *, on_skip: OnPath | None = None, on_convert: OnPath | None = None
) -> Items:
    r"""Give each source's documents, in order, holding no more than one file at a time.

    * A `Document` is checked (see `check`).
    * A mapping `{id?, title?, text, metadata?}` is a document. Whole numbers are taken as id or title. Its other keys
      join the metadata, which win where both have a key. Without an id it is named after the hash of title and text,
      so that other content is another document.
    * A `Path` is a file or a folder. So is a `str` if there is such a file or folder, or if it looks like one: a line
      of at most 255 characters which ends in one of `SUFFIXES`, or has a slash, no space, and no full stop at its end.
      Any other `str` is a text, named after its hash; a text in a mapping is never taken for a path.
    * Folders are walked in the order of their names. Files of other suffixes, whatever is hidden, linked folders and
      links out of the folder are skipped. A file given by itself is read whatever its suffix, as text if unknown.
    * A text file is UTF-8, or UTF-16 or UTF-32 with a byte order mark; line ends become `\n`. Other files are converted
      (see `minirag.loading.converting`), most of them by the extra `files`; one that is encrypted, scanned, broken or
      larger than 256 MB is a failure.
    * A file's id is its path as given, with forward slashes (bytes that are no Unicode as `\udce9`), so that the same
      call again changes nothing. Its title is its own: the title or first heading that it has, else its name without
      suffix. Its metadata are `path`, and what it says of itself: `author`, `created`, `modified`, `pages`, `slides`,
      `sheets`, `rows`, and the front matter of Markdown. When the disk says that it was changed is not among them: that
      changes without the content. Its `places` are its pages, slides, rows and headings.
    * `.json` holds one record as above, a list of them, or `{"documents": [...]}`. `.jsonl` holds one a line, and a
      broken line fails alone.
    * The same id again is passed over if the content is the same, and is a failure if it differs.

    Args:
        sources: One source or any number; an iterator is drawn from as documents are taken.
        on_skip: Called with each file or folder that is skipped.
        on_convert: Called with each file that was converted, or could not be; `count_files` says how many there are.

    Yields:
        Documents that passed `check`, and failures. A failure is named after the document where its id is known, else
        after the place: the path, `path:17` for a line, `path[3]` for an item (from 0), "source #2" (from 1).

    Raises:
        ValueError: If `sources` are nothing of the kind.
    """
    seen: dict[str, str] = {}
    for item in _each(sources, Told(on_skip or _ignore, on_convert or _ignore)):
        if isinstance(item, Failure):
            yield item
        elif item.id not in seen:
            seen[item.id] = content_hash(item)
            yield item
        elif seen[item.id] != content_hash(item):
            yield Failure(item.id, "came before with other content; ids must be unique, so only the first is used")


def find_folders(sources: Source | Iterable[Source]) -> tuple[list[Source], list[Path]]:
    """The sources, and the folders among them that are there, each once."""
    several = _several(sources)
    paths = dict.fromkeys(path for source in several if (path := _path_of(source)) is not None)
    return several, [path for path in paths if path.is_dir()]


def count_files(sources: Source | Iterable[Source]) -> int:
    """How many files `load` would convert; 0 where the sources come from an iterator, which must not be drawn from."""
    if isinstance(sources, Iterator):
        return 0
    return sum(count_converted(path) for source in _several(sources) if (path := _path_of(source)) is not None)


def _ignore(_: Path) -> None:
    """Nobody wants to know."""


def _several(sources: Source | Iterable[Source]) -> list[Source]:
    return list(_singly(sources))


def _singly(sources: Source | Iterable[Source]) -> Iterable[Source]:
    if isinstance(sources, Document | Mapping | os.PathLike | str):
        return (sources,)
    if isinstance(sources, bytes | bytearray | memoryview) or not isinstance(sources, Iterable):
        raise ValueError(f"documents are Documents, mappings, texts or paths, one or several of them, not {sources!r}")
    return sources


def _each(sources: Source | Iterable[Source], told: Told) -> Items:
    for number, source in enumerate(_singly(sources), start=1):
        path = _path_of(source)
        if path is not None:
            yield from read_path(path, told)
        else:
            yield document_from({"text": source} if isinstance(source, str) else source, place=f"source #{number}")


def _path_of(source: Source) -> Path | None:
    if isinstance(source, os.PathLike):
        return Path(source)
    if not isinstance(source, str) or not source.strip() or "\n" in source:
        return None
    path = Path(source)
    try:
        path.lstat()
    except PermissionError:
        return path
    except (OSError, ValueError):  # ValueError: characters that no path can have
        return path if _looks_like_path(source) else None
    return path


def _looks_like_path(text: str) -> bool:
    if len(text) > MAX_GUESSED_LENGTH:
        return False
    if text.lower().endswith(SUFFIXES):
        return True
    return ("/" in text or os.sep in text) and len(text.split()) == 1 and not text.endswith(SENTENCE_ENDS)
