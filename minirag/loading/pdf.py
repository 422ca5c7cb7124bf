"""PDF, by pypdfium2: the text of each page, with lines put together to paragraphs again."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdfium2

from minirag.errors import InputError
from minirag.loading.assembling import Assembly, Converted

_PDFIUM = threading.Lock()  # pdfium has state of its own for the whole process, and crashes when threads meet in it
_HYPHEN = "\ufffe"  # stands for a hyphen at the end of a line, whose end is then left out
_LINES = re.compile(rf"(?<={_HYPHEN})|\n")
_BROKEN_WORD = re.compile(rf"(\w+){_HYPHEN}(\w+)")
_SHORT = 0.75  # of the usual length: a line so short ends its paragraph
_EDGE = 3  # lines at the top and at the bottom of a page
_REPEATED = 0.5  # of the pages: lines at the edge of more than so many are running heads
_FEWEST_PAGES = 4
_DOTS = re.compile(r"(?:\s?\.){4,}")  # that lead to the numbers of a table of contents
_NO_TITLE = re.compile(r"^(untitled|\(.*\)|microsoft \w+ - .*|.*\.(docx?|indd|tex|dvi|pdf|pptx?|xlsx?|qxd))$", re.I)
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


def convert(path: Path) -> Converted:
    """All pages that have text.

    Raises:
        InputError: If it is encrypted, broken, or has no text.
    """
    with _PDFIUM:
        pages, info = _read(path)
    if not any(page.strip() for page in pages):
        raise InputError(f"has no text on {len(pages):,} pages: scanned? Recognise it first: ocrmypdf IN.pdf OUT.pdf")
    assembly = Assembly()
    for number, text in enumerate(_joined(pages), start=1):
        assembly.add(text, unit="page", number=number)
    title, author = (info.get(name, "").strip() for name in ("Title", "Author"))
    return assembly.finish(
        title="" if _NO_TITLE.match(title) else title,
        author="" if author in ("anonymous", "(anonymous)", "(unspecified)") else author,
        pages=len(pages),
        created=_date(info.get("CreationDate", "")),
        modified=_date(info.get("ModDate", "")),
    )


def _read(path: Path) -> tuple[list[str], dict[str, str]]:
    try:
        document: Any = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise InputError("is encrypted: it opens with a password only. Save it without one") from error
        raise InputError(f"is broken, or no PDF: {error}") from error
    try:
        return [_page_text(document, number) for number in range(len(document))], document.get_metadata_dict()
    finally:
        document.close()


def _page_text(document: Any, number: int) -> str:  # noqa: ANN401
    try:
        page = document[number]
    except pypdfium2.PdfiumError as error:
        raise InputError(f"is broken at page {number + 1}: {error}") from error
    text_page = page.get_textpage()
    text: str = text_page.get_text_range()
    text_page.close()
    page.close()
    return text.replace("\r\n", "\n").replace("\r", " ")


def _date(stamp: str) -> str:
    found = _DATE.match(stamp)
    return "-".join(found.groups()) if found else ""


# --- lines into paragraphs -----------------------------------------------------------------------------------------


def _joined(pages: Sequence[str]) -> list[str]:
    lines = [[line.strip() for line in _LINES.split(page) if line.strip()] for page in pages]
    whole = [_paragraphs(of_page) for of_page in _without_running_heads(lines)]
    compounds = set(re.findall(r"\w+-\w+", " ".join(whole).casefold()))

    def mended(found: re.Match[str]) -> str:
        before, after = found.groups()
        keeps = not after[0].islower() or f"{before}-{after}".casefold() in compounds
        return f"{before}-{after}" if keeps else before + after

    return [_DOTS.sub(" …", _BROKEN_WORD.sub(mended, page).replace(_HYPHEN, "-")) for page in whole]


def _without_running_heads(pages: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Each page's lines without what stands at the edge of most pages, where it does so for the first time excepted."""
    running = _running_heads(pages)
    seen: set[str] = set()
    for page in pages:
        yield [line for line in page if _shape(line) not in running & seen]
        seen.update(_shape(line) for line in page)


def _running_heads(pages: Iterable[Sequence[str]]) -> set[str]:
    """What stands at the edge of most pages, but for its numbers: titles and page numbers."""
    edges = [{_shape(line) for line in [*page[:_EDGE], *page[-_EDGE:]]} for page in pages if page]
    counts = Counter(shape for edge in edges for shape in edge)
    least = max(_FEWEST_PAGES, _REPEATED * len(edges))
    return {shape for shape, count in counts.items() if count >= least}


def _shape(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _paragraphs(lines: Sequence[str]) -> str:
    """A line that is much shorter than most ends its paragraph; others go on, hyphens included."""
    lengths = sorted(len(line) for line in lines)
    usual = lengths[int(len(lengths) * 0.8)] if lengths else 0
    text = ""
    for line in lines:
        text += line if line.endswith(_HYPHEN) else line + ("\n" if len(line) < _SHORT * usual else " ")
    return text
