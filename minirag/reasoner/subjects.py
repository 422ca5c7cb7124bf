"""Whom a passage is about: what a pronoun at the start of a sentence may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from minirag.naming.names import TOKEN, name_spans, title_entity
from minirag.naming.words import FUNCTION_WORDS, ROLES, UNCASED, word_set

THINGS = word_set("""
    film movie picture series show sitcom documentary album song single record track ep novel book story play
    poem magazine newspaper journal opera musical game band group duo orchestra company firm corporation brand
    label studio organization organisation institution foundation party club team school college university
    academy institute museum library hospital church cathedral temple monastery castle palace building house
    tower bridge station airport road street park city town village municipality commune district county
    province region state country kingdom empire island lake river mountain species genus family language ship
    battle war award prize festival event project product character episode work site area system programme
    program
""")
_PEOPLE = word_set("""
    poet athlete nun monk coach pilot scholar nurse chef student girl boy son daughter diplomat critic spy aristocrat
    heir heiress friend slave saint cleric mystic
""")
_OCCUPATION = re.compile(r"\w{2,}(?:er|or|ist|ian|man|woman|ess)\Z")
_DEFINITION = re.compile(r"(?:\s?\([^()]*\))?,?\s(?:is|was)\s(?:an?|the|one of the)\s(?P<what>[^,.;:()]+)")
_NOUN_ENDS = re.compile(r"\s(?:of|by|in|from|at|on|for|with|who|that|which|and|\w+ed)\b")
_PERSONAL = word_set("he she his her")
_WORD = re.compile(r"[^\W_]+")
_STEM = re.compile(r"(?=.*\d)(?=.*[^\W\d_])\w+\Z")
_DIGITS = "0123456789"
# What any document may be called. Titles of function words alone ("Once") are not among them.
_GENERIC = word_set("""
    notes note readme chapter part section volume page introduction appendix preface prologue epilogue contents document
    untitled text draft report minutes meeting log diary letter memo scan file data readings entry entries summary
""")
_FEWEST_TELLING = 2
# Words that tell no more where one of those, or a number, stands beside them.
_BESIDE = word_set("ch chap sec vol pt pp doc final copy new old")


def passage_topic(title: str, sentences: Sequence[str]) -> str:
    """The name that pronouns of a passage may stand for, by the title of its document.

    A title with a capital is one. One without is spelt as the passage has it as a name, else stays as it is, words and
    not underscores. What looks like a file's name and has no two words that tell ("ch1"), and what any document may be
    called ("Notes"), has to stand in the passage as a name.

    Args:
        title: May be empty.
        sentences: The passage's, cleaned.

    Returns:
        The name; empty when the title names nothing in this passage.
    """
    name = title_entity(title)
    if not name or UNCASED.search(name) or not (name == name.lower() or "_" in name or _tells_nothing(name)):
        return name
    spaced = " ".join(name.replace("_", " ").split())
    kept = "" if _tells_nothing(name) else spaced
    if all(sentence == sentence.lower() for sentence in sentences):
        return name if any(name.lower() in sentence for sentence in sentences) else kept
    if spaced != spaced.lower() or spaced == spaced.upper():
        literal = re.compile(rf"(?<!\w){re.escape(spaced)}(?!\w)")
        if any(literal.search(sentence) for sentence in sentences):
            return spaced
    spelt = next(_spelt(spaced, sentences), "")
    opening = opening_subject(sentences)
    return spelt if spelt and (opening is None or opening[0] == spelt or _is_same(spelt, spaced)) else kept


def _tells_nothing(name: str) -> bool:
    """Whether it is what any document may be called, or looks like a file's name without words that tell."""
    words = _WORD.findall(name.lower())
    bare = {word.rstrip(_DIGITS) or word for word in words}
    if all(map(_is_generic, bare)) and (bare & _GENERIC or (bare & _BESIDE and name[-1] in _DIGITS)):
        return True
    telling = [word for word in words if word.isalpha() and not _is_generic(word)]
    return name == name.lower() and _STEM.match(name) is not None and len(telling) < _FEWEST_TELLING


def _is_generic(word: str) -> bool:
    return word.isnumeric() or word in _GENERIC or word in _BESIDE or word in FUNCTION_WORDS


def _is_same(spelt: str, name: str) -> bool:
    return [word.lower() for word in _WORD.findall(spelt)] == [word.lower() for word in _WORD.findall(name)]


def _spelt(name: str, sentences: Sequence[str]) -> Iterator[str]:
    """Names in sentences that are a title's words, or that have them all; else the words as a sentence has them."""
    words = [word.lower() for word in _WORD.findall(name)]
    if all(map(_is_generic, words)):
        return
    spans = [sentence[start:end] for sentence in sentences for start, end in name_spans(sentence)]
    yield from (span for span in spans if _is_same(span, name))
    yield from (span for span in spans if {*words} <= {word.lower() for word in re.findall(r"\w+", span)})
    first = re.compile(r"[\W_]+".join(map(re.escape, words)) + r"\b", re.IGNORECASE)
    for sentence in sentences:
        if found := first.match(sentence) or (first.search(sentence) if len(words) > 1 else None):
            yield found.group()


def opening_subject(sentences: Sequence[str]) -> tuple[str, bool] | None:
    """What the first sentence defines: "Ada Brook was a Norwegian painter", "Tides is a film".

    Returns:
        Its name, and whether it is a person; None when it defines nothing, or nothing that is clearly one or the other.
    """
    for sentence in sentences[:1]:
        spans = name_spans(sentence)
        defined = _DEFINITION.match(sentence, spans[0][1]) if spans and spans[0][0] <= 4 else None
        if defined is None:
            return None
        words = _NOUN_ENDS.split(defined["what"])[0].lower().split()
        if words and words[-1] in THINGS:
            return sentence[spans[0][0] : spans[0][1]], False
        if words and (words[-1] in _PEOPLE or words[-1] in ROLES or _OCCUPATION.match(words[-1])):
            return sentence[spans[0][0] : spans[0][1]], True
    return None


def pronouns_of_opening(sentences: Sequence[str]) -> Iterator[str]:
    """For each sentence the name that a pronoun at its start stands for, by what the passage opens with; else empty.

    That holds until a sentence starts with another name.
    """
    opening = opening_subject(sentences)
    holds = opening is not None
    for sentence in sentences:
        first = TOKEN.match(sentence)
        word = first.group().lower() if first else ""
        if opening is None or not holds:
            yield ""
            continue
        name, is_person = opening
        spans = name_spans(sentence)
        if spans and spans[0][0] <= 4 and not {*_WORD.findall(sentence[slice(*spans[0])])} & {*_WORD.findall(name)}:
            holds = False
        fits = word in _PERSONAL if is_person else word in ("it", "its")
        yield name if holds and fits else ""
