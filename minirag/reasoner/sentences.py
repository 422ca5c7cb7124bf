"""Where sentences end, in any script: exact spans, in linear time, for texts without any full stop too."""

from __future__ import annotations

import re

from minirag.naming.words import word_set

_LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"
_CLOSERS = "\"'”’»›)\\]」』）】》〉"
# The lookbehind lets a run of full stops be tried once only, not once per character.
_CANDIDATE = re.compile(
    rf"(?P<line>[{_LINE_ENDS}]\s*+)"
    rf"|(?P<plain>(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?:\[\d{{1,4}}\])*+)(?=\s|$)"
    rf"|[。！？｡．︒؟۔।॥։።፧᙮\u037e។๚]++[{_CLOSERS}]*+"
)
_LAST_WORD = re.compile(r"[^\s(\[\"“”'‘—–/]+\Z")
_NEXT_WORD = re.compile(r"[\"'“‘«(\[]*([^\W\d_]+)")
_LIST_ITEM = re.compile(r"(?:[-*•·+#>|–—]+|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s")
_LIST_NUMBER = re.compile(r"\(?\d{1,3}\Z")
_KEY = re.compile(r"([^:;|]{1,60}): \S")
_MARKED_HEADING = re.compile(r"#{1,6} ")
_UNDERLINE = re.compile(r"([=~-])\1{2,}[ \t]*(?:\n|\Z)")
_ROW_LOOK = 400  # characters of a line in which it shows that it is a row
_WRAPPED_LINE = 45

_NEVER_LAST = word_set("""
    mr mrs ms dr prof st gen lt col rev hon capt cpt sgt maj cmdr adm gov sen rep pres supt mt ft messrs mme
    mlle fr sr. vs v c ca cf eg e.g i.e ie viz al fig figs vol vols no nos pp p ed eds trans nr bros ave blvd
    approx est fl r hr hrn bzw z.b d.h u.a ggf bspw m mm sig sra dra ing arq av ul г гг им ул т.е
""")
_SELDOM_LAST = word_set("""
    inc ltd co corp llc plc jr sr esq etc dept univ assn phd ph.d m.d b.a m.a u.s u.k a.m p.m b.c a.d
""")
_SHORT_MONTHS = word_set("""
    jan feb mar apr jun jul aug sep sept oct nov dec
""")
_STARTERS = word_set("""
    he she it they we i you his her its their our my this that these those the a an in on at as after before
    during while when since although though however there then from by for with to and but or if not no one some
    many most both all also later born according among another because despite each following it's until upon
    what who where why how
""")


def split_sentences(text: str, *, max_length: int = 500) -> list[tuple[int, int]]:
    """Find the sentences of a text.

    A sentence ends at a full stop of any script, at a blank line, a list item, or a line that is no wrapped one.

    Args:
        text: Any text.
        max_length: In characters, at least 2. A longer sentence is cut at a semicolon, a comma or a space, whichever of
            them, in this order, is in the second half of what is allowed; else in the middle of a word.

    Returns:
        Spans `(start, end)` in order, not overlapping, without surrounding white space, none blank.

    Raises:
        ValueError: If max_length < 2.
    """
    if max_length < 2:
        raise ValueError(f"max_length is {max_length}, but a sentence needs at least 2 characters")
    capitals_tell = text != text.lower()
    spans: list[tuple[int, int]] = []
    start = 0
    for candidate in _CANDIDATE.finditer(text):
        if _is_boundary(text, start, candidate, capitals_tell=capitals_tell):
            _append(spans, text, start, candidate.end(), max_length)
            start = candidate.end()
    _append(spans, text, start, len(text), max_length)
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int, max_length: int) -> None:
    """Add `text[start:end]`, cut into pieces that are short enough, without surrounding white space."""
    while start < end:
        cut = end if end - start <= max_length else _cut(text, start, start + max_length)
        piece = text[start:cut]
        bare = piece.strip()
        if bare:
            first = start + len(piece) - len(piece.lstrip())
            spans.append((first, first + len(bare)))
        start = cut


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut in the second half of `text[start:end]`."""
    half = (start + end + 1) // 2
    for separator in ("; ", "；", ", ", "，", "、", "، ", " ", "\n"):
        place = text.rfind(separator, half, end)
        if place >= 0:
            return place + len(separator)
    return end


def _is_boundary(text: str, start: int, candidate: re.Match[str], *, capitals_tell: bool) -> bool:
    if candidate["line"] is not None:
        return _is_line_boundary(text, start, candidate)
    if candidate["plain"] is None:
        return True
    following = text[candidate.end() : candidate.end() + 60].lstrip()
    if not following:
        return True
    if following[0].islower() and capitals_tell and not _LIST_ITEM.match(following):
        return False
    if candidate["plain"][0] != "." or candidate["plain"].startswith(".."):
        return True
    before = _LAST_WORD.search(text, max(start, candidate.start() - 24), candidate.start())
    return before is None or _full_stop_ends(before.group(), following, at_start=before.start() <= start + 1)


def _full_stop_ends(word: str, following: str, *, at_start: bool) -> bool:
    """Whether the one full stop after `word` ends a sentence rather than an abbreviation."""
    lower = word.lower()
    if at_start and _LIST_NUMBER.match(word):
        return False
    if lower in _NEVER_LAST:
        return lower == "no" and not following[0].isdigit()
    if lower in _SHORT_MONTHS:
        return not following[0].isdigit()
    initial = len(word) == 1 and word.isalpha() and word == word.upper() and word != lower
    if initial or lower in _SELDOM_LAST or ("." in word and len(word) <= 8 and not word[-1].isdigit()):
        next_word = _NEXT_WORD.match(following)
        return next_word is not None and next_word[1].lower() in _STARTERS
    return not (len(word) == 1 and word.isalpha() and word.isascii() and not at_start)


def _is_line_boundary(text: str, start: int, candidate: re.Match[str]) -> bool:
    """A line end ends a sentence unless the line is long, unfinished, and the next one goes on as prose."""
    breaks = candidate["line"]
    if breaks.count("\n") > 1 or breaks.count("\r") > 1 or candidate.end() == len(text):
        return True
    if _LIST_ITEM.match(text, candidate.end()):
        return True
    if (
        _are_rows(text, start, candidate)
        or _MARKED_HEADING.match(text, start)
        or _UNDERLINE.match(text, candidate.end())
    ):
        return True
    if text[candidate.end()].islower():
        return False
    line = text[max(start, candidate.start() - 2 * _WRAPPED_LINE) : candidate.start()]
    line_start = max(line.rfind("\n"), line.rfind("\r")) + 1
    bare = line[line_start:].rstrip()
    return len(bare) < _WRAPPED_LINE or bare[-1] in ":;|"


def _are_rows(text: str, start: int, candidate: re.Match[str]) -> bool:
    """Whether the lines before and after are rows of one table: "Film: Aylwin; Year: 1920", or "Aylwin | 1920"."""
    before = text[max(start, text.rfind("\n", start, candidate.start()) + 1) : candidate.start()]
    after = text[candidate.end() : candidate.end() + _ROW_LOOK].partition("\n")[0]
    if " | " in before and " | " in after:
        return True
    first, second = _KEY.match(before), _KEY.match(after)
    if first is None or second is None:
        return False
    return first[1] == second[1] or ("; " in before and "; " in after)
