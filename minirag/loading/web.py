"""HTML, by trafilatura: the main text of a page, not its navigation, advertisements and footers."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import trafilatura
from trafilatura.utils import decode_file

from minirag.errors import InputError
from minirag.loading.assembling import Assembly, Converted, Outline
from minirag.loading.markup import add_blocks

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ELEMENT = re.compile(r"<[a-z][a-z0-9]*(\s[^<>]*)?/?>", re.IGNORECASE)
_LEAST = 0.1  # of a page's words: if the main text has less, the page is of another kind than articles


def convert(path: Path) -> Converted:
    """The main text with its headings; all text of a page in which no main text is found.

    Raises:
        InputError: If there is no text at all.
    """
    _hush()
    content = _page(path.read_bytes())
    page = trafilatura.load_html(content)
    whole = _assembled(page, Outline())
    found: Any = trafilatura.bare_extraction(content, with_metadata=True, include_comments=False, favor_recall=True)
    title = _title(page, found)
    chosen = _assembled(found.body, Outline(title=title)) if found is not None else whole
    if len(chosen.text.split()) < _LEAST * len(whole.text.split()):
        chosen = _assembled(trafilatura.load_html(content), Outline(title=title))
    if not chosen.text:
        raise InputError("has no text (is it filled by a script?)")
    if found is None:
        return chosen._replace(title=title)
    metadata = {"author": found.author, "created": _published(page), "url": found.url, "description": found.description}
    return chosen._replace(title=title, metadata=metadata)


def _page(content: bytes) -> str:
    """What `trafilatura.load_html` takes for a page: it wants "html" early on, or several elements side by side.

    Raises:
        InputError: If there is not one HTML element.
    """
    text: str = decode_file(content)
    if trafilatura.load_html(text) is not None:
        return text
    if "\0" in text or not _ELEMENT.search(text):
        raise InputError("is no HTML, or empty")
    return f"<!DOCTYPE html>\n{text}"


def _hush() -> None:
    """Keep trafilatura's log, of what is raised or mended here anyway, from a terminal where nobody asked for logs."""
    logger = logging.getLogger("trafilatura")
    if not logger.hasHandlers():
        logger.addHandler(logging.NullHandler())


def _title(page: Any, found: Any) -> str:  # noqa: ANN401
    """What trafilatura takes for it, or the main text's first heading, if the page's `<title>` agrees; else that."""
    named = " ".join((page.findtext(".//title") or "").split())
    guesses = [found.title, next(found.body.itertext("head"), "")] if found is not None else []
    agreed = (guess for guess in guesses if guess and (guess in named or not named))
    return str(next(agreed, named))


def _published(page: Any) -> str:  # noqa: ANN401
    """The date that the page states, not one guessed from what is printed on it."""
    stated = page.xpath("//meta[@property='article:published_time' or @name='date']/@content")
    return next((str(value)[:10] for value in stated if _DATE.match(value)), "")


def _assembled(root: Any, outline: Outline) -> Converted:  # noqa: ANN401
    assembly = Assembly()
    add_blocks(root, assembly, outline)
    return assembly.finish()
