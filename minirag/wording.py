"""Text for people: lines that fit and are safe to print, parts of passages, numbers with their nouns."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Protocol

IS_ADDRESS = "is an address, and minirag fetches nothing. Download it, and give the file"
_ADDRESS = re.compile(r"(https?|ftp|file|s3|gs)://?([^/\s]\S*)\Z", re.IGNORECASE)
SNIPPET = 200  # characters of a passage
_LEAD = 120  # of them, at most, before what the snippet is about
_MOST_PLACES = 12  # of dollars, behind the point


class Spent(Protocol):
    """What was spent, as far as it is told; see `minirag.records.Usage`."""

    @property
    def calls(self) -> int: ...  # noqa: D102
    @property
    def cost(self) -> float | None: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def uncounted(self) -> int: ...  # noqa: D102


def reason_of(error: Exception) -> str:
    """Why something went wrong, in the system's words without its number where the system refused."""
    return getattr(error, "strerror", None) or str(error)


def cut_name(name: str, *, most: int) -> str:
    """The beginning of a file's name that has at most so many bytes; a whole name may have 255."""
    while len(name.encode("utf-8", "surrogatepass")) > most:
        name = name[:-1]
    return name


def address_in(text: str) -> str | None:
    """The address that stands where a file should, also one that lost a slash as a path did; None for all else."""
    found = _ADDRESS.match(text)
    return None if found is None else f"{found[1]}://{found[2]}"


def one_line(text: str) -> str:
    """The text without line breaks, runs of spaces, and control characters, which could command a terminal."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text with blanks for line breaks and without other control characters, which could command a terminal."""
    spaced = (" " if character.isspace() else character for character in text)
    return "".join("" if unicodedata.category(character) == "Cc" else character for character in spaced)


def wrap(text: str, *, first: str = "", indent: str = "") -> str:
    """The text in lines that fit the terminal.

    Args:
        text: Any; white space is squeezed.
        first: Stands before the first line, not styled.
        indent: Before each other line.
    """
    width = min(max(shutil.get_terminal_size().columns, 40), 100)
    return textwrap.fill(one_line(text), width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def snippet(text: str, *, about: Iterable[str]) -> str:
    """The part of a passage that is worth showing, of about 200 characters.

    Args:
        text: The passage.
        about: What it should hold, best first: the first that the passage holds counts. Else it is the beginning.
    """
    text = one_line(text)
    folded = text.casefold()
    wanted = (one_line(each).casefold() for each in about)
    place, length = next(((folded.find(each), len(each)) for each in wanted if each and each in folded), (0, 0))
    start = 0
    if place + length > SNIPPET:
        sentence = max(text.rfind(mark, max(0, place - _LEAD), place + 1) for mark in (". ", "! ", "? "))
        start = sentence + 2 if sentence >= 0 else text.rfind(" ", 0, max(1, place - _LEAD)) + 1
    end = min(start + SNIPPET, len(text))
    if end < len(text) and (space := text.rfind(" ", start + SNIPPET // 2, end)) > 0:
        end = space
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")


def count(number: int, noun: str) -> str:
    """The number with its noun: "1 fact", "1,204 facts"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def did_you_mean(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A question to put behind a complaint about a name: " Did you mean 'kirag'?", or "" where none is near.

    Args:
        given: The name.
        known: Those that there are. One with the same letters is nearest: "modle" is "model", not "mode".
        cutoff: How much alike they have to be, from 0 to 1; see `difflib.get_close_matches`.
    """
    by_folded = {name.casefold(): name for name in known}
    folded = given.casefold()
    near = [name for name in by_folded if sorted(name) == sorted(folded)]
    near = near or get_close_matches(folded, by_folded, n=1, cutoff=cutoff)
    return f" Did you mean {by_folded[near[0]]!r}?" if near else ""


def describe_usage(usage: Spent) -> str:
    """Calls, cost and time in a few words."""
    untold = f"tokens of {usage.uncounted:,} of them" if usage.uncounted < usage.calls else "tokens"
    if usage.cost is None:
        cost = f"{untold} and cost unknown" if usage.uncounted else "price unknown"
    elif usage.cost and usage.uncounted:
        cost = f"at least {dollars(usage.cost)} ({untold} unknown)"
    else:
        cost = dollars(usage.cost)
    return f"{count(usage.calls, 'call')}, {cost}, {usage.seconds:.2f} s"


def dollars(cost: float, *, places: int = 4) -> str:
    """A sum with its sign, from one dollar on in cents: "$0", "$0.0012", "$0.00001", "$1,234.50".

    Args:
        cost: 0 or more.
        places: Behind the point below one dollar; more where two digits would not be seen otherwise, zeros at the end
            aside, so that only nothing looks like nothing.
    """
    if cost == 0:
        return "$0"
    if cost >= 1:
        return f"${cost:,.2f}"
    seen = 1 - math.floor(math.log10(cost))
    if seen > _MOST_PLACES:
        return f"${cost:.1e}"
    point, shown = len("0."), f"{cost:.{max(places, seen)}f}"
    return "$" + shown[: point + places] + shown[point + places :].rstrip("0")
