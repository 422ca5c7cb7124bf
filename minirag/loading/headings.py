"""The headings of Markdown and reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_TITLE_LENGTH = 200
FRONT_MATTER = re.compile(r"---\n(.*?\n)(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
FENCED_CODE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t](.+)$|^(?=.*\w)(\S.*)\n(={3,}|-{3,}|~{3,})[ \t]*$", re.MULTILINE)
UNDERLINED = "=-~"  # by level
MARKED = re.compile(r"(\*{1,3}|`+)(?=\S)(.+?)(?<=\S)\1")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def first_heading(text: str) -> str:
    """The front matter's `title:`, else the first heading (`# …` or underlined) that is not in a block of code.

    Returns:
        At most 200 characters without the marks for links, emphasis and code; empty if there is no heading.
    """
    front = FRONT_MATTER.match(text)
    named = FRONT_TITLE.search(front[1]) if front else None
    if named and named[1].strip(" \t'\""):
        return named[1].strip(" \t'\"")[:MAX_TITLE_LENGTH]
    return next((heading for _, _, heading in find_headings(text[front.end() :] if front else text)), "")


def find_headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each heading begins, its level from 1, and its text; those in blocks of code are none."""
    without_code = FENCED_CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for found in HEADING.finditer(without_code):
        level = len(found[1]) if found[1] else UNDERLINED.index(found[4][0]) + 1
        if heading := _plain((found[2] or found[3])[:MAX_TITLE_LENGTH]):
            yield found.start(), level, heading


def _plain(heading: str) -> str:
    heading = heading.strip()
    without_closing = heading.rstrip("#")
    if without_closing.endswith((" ", "\t")):  # "# Title ##", but not "# C#"
        heading = without_closing
    return MARKED.sub(r"\2", LINK.sub(r"\1", heading)).strip()
