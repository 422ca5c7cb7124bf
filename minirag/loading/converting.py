"""Which file is read by what.

The converters of the extra `files` were chosen by what they did to real files, their weight and their upkeep:

* **pypdfium2** (9 MB) reads PDF about ten times as fast as pypdf, keeps a table's row on its line, and marks hyphens at
  the ends of lines. It is Chrome's own engine, hardened against broken files.
* **trafilatura** (64 MB with lxml) finds the main text of a page, which none of the others looks for.
* **python-docx**, **python-pptx** and **openpyxl** (22 MB more, of which Pillow 15) know the files' own structure:
  headings, slides, sheets.
* markitdown turns all of them to Markdown, but loses the pages, keeps navigation, and brings 341 MB (`[all]`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from minirag.errors import InputError
from minirag.loading.assembling import Converted
from minirag.wording import one_line

LARGEST_FILE = 256_000_000  # bytes
_BY_EXTRA = {
    ".pdf": "pdf",
    ".html": "web",
    ".htm": "web",
    ".xhtml": "web",
    ".docx": "word",
    ".pptx": "slides",
    ".xlsx": "sheets",
    ".xlsm": "sheets",
    ".epub": "epub",
}
_BY_ITSELF = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "markdown",
    ".csv": "delimited",
    ".tsv": "delimited",
}
CONVERTED_SUFFIXES = (*_BY_ITSELF, *_BY_EXTRA)


def convert(path: Path) -> Converted:
    """The text of a file whose suffix is one of `CONVERTED_SUFFIXES`.

    Raises:
        InputError: If it is encrypted, scanned, broken, too large or without text, or if the extra is not installed.
    """
    suffix = path.suffix.lower()
    converted = _converter(suffix)(path)
    if not converted.text.strip():
        raise InputError("has no text")
    return converted


def check_size(path: Path) -> None:
    """Make sure that a file fits into memory.

    Raises:
        InputError: If it is larger than 256 MB.
    """
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise InputError(
            f"is too large: {size / 1e6:,.0f} MB, at most {LARGEST_FILE / 1e6:,.0f} are read at once. Split it, or "
            "write its records as .jsonl, which is read line by line"
        )


def _converter(suffix: str) -> Callable[[Path], Converted]:
    try:
        module = import_module(f"minirag.loading.{_BY_EXTRA.get(suffix) or _BY_ITSELF[suffix]}")
    except ImportError as error:
        raise InputError(
            f'needs what reads {suffix} files: pip install "minirag[files]" ({one_line(str(error))})'
        ) from error
    convert_file: Callable[[Path], Converted] = module.convert
    return lambda path: _guarded(convert_file, path)


def _guarded(convert_file: Callable[[Path], Converted], path: Path) -> Converted:
    """Call a library on bytes that may be anything: whatever it raises is a reason, and stops nothing else."""
    try:
        return convert_file(path)
    except (InputError, OSError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"is broken, or no {path.suffix.lower()} file: {reason}") from error
