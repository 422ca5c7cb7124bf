"""Names in texts of any script, by rules, and how two names are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set

from minirag.naming.uncased import uncased_names
from minirag.naming.words import (
    COMMON_NAMES,
    DAYS,
    DEMONYMS,
    ERAS,
    FUNCTION_WORDS,
    HAN,
    HANGUL,
    HIRAGANA,
    KATAKANA,
    MONTHS,
    ORDINALS,
    ROLES,
    UNCASED,
    WORD_CHARACTERS,
    word_set,
)

TOKEN = re.compile(rf"[{WORD_CHARACTERS}]+(?:['’.&‐\-][{WORD_CHARACTERS}]+)*")
_QUOTED = re.compile(r"[\"“„«]\s{0,2}([^\"“”„«»]{2,80}?)\s{0,2}[\"”“»]")
_TRAILING_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]\s*\Z")
_SURROUNDING = (
    " \t\n\r!\"$%&'()*,-./:;<=>?@[\\]^_`{|}~«»“”„‟‘’‚‛‹›—–…•·¡¿"
    "、。，．：；！？「」『』《》〈〉【】（）［］｛｝～・،؛؟।॥۔׳״"
)
_FOLDED = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-"})
_HYPHENS = re.compile(r" ?- ?")
_SHORT_SCRIPT = re.compile(rf"[{HAN}{HANGUL}{HIRAGANA}{KATAKANA}]")
_NUMBER = re.compile(r"[\d.,:/'%+°-]*\d[\d.,:/'%+°-]*(?:s|st|nd|rd|th|km|m|kg|am|pm)?\Z")

_JOINS = frozenset((" ", "-", "- ", " -", " & ", "& ", "' ", "’ ", "’", "'", "–"))
_SHORTENED = ROLES | {"bros", "ste", "gov", "sen", "col", "maj", "capt", "sgt"}
_PARTICLES = word_set("""
    of the de del della di da do dos das du la le les los el van von der den dem zu zum zur af av til ten ter
    bin ibn al ben y e und et d' of' upon sur
""")
# First halves of "Anglo-Norman" and the like.
_HALVES = word_set("anglo franco italo sino russo afro indo austro pre post mid pro anti non born based era")
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’]) ")
_BE = re.compile(r"\s*(?:\(|'s\b|’s\b|(?:is|was|has|had|were|are|became|wrote|died)\b)")


def normalise_name(name: str) -> str:
    """The form in which names are compared; equal forms are one name.

    NFKC and casefold; white space, hyphens and apostrophes unified; surrounding punctuation, a possessive 's and a
    leading English article gone. Blank when the name has nothing else.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).translate(_FOLDED)
    folded = _HYPHENS.sub("-", " ".join(folded.split()))
    previous = None
    while folded != previous:
        previous = folded
        folded = folded.strip(_SURROUNDING).removesuffix("'s")
        if folded.startswith("the ") and len(folded) > 7:
            folded = folded[4:]
    return folded


def title_entity(title: str) -> str:
    """The name of what a title is about: without a trailing parenthesis ("Aylwin (1920 film)" → "Aylwin")."""
    bare = _TRAILING_PARENTHESIS.sub("", title) if len(title) <= 300 else title[:300]
    return " ".join((bare or title).split())


def is_bridge_name(name: str, *, min_length: int = 3, max_words: int = 10) -> bool:
    """Whether a name is telling enough to link documents.

    Args:
        name: As found, or already normalised.
        min_length: In characters; names in Chinese, Japanese and Korean script need one less than that.
        max_words: Longer ones are sentences rather than names.

    Returns:
        False for numbers, dates, nationalities, single very common words, and names that are too short or too long.
    """
    normal = normalise_name(name)
    words = normal.split()
    least = min_length - 1 if _SHORT_SCRIPT.search(normal) else min_length
    if len(normal) < least or not 1 <= len(words) <= max_words or len(normal) > 20 * max_words:
        return False
    if all(_says_little(word) for word in words):
        return False
    return len(words) > 1 or not (normal in ROLES or normal in COMMON_NAMES)


def _says_little(word: str) -> bool:
    """Whether a normalised word is a number, part of a date, a nationality, or a function word."""
    bare = word.strip(_SURROUNDING)
    return (
        bare in FUNCTION_WORDS
        or bare in DEMONYMS
        or bare in MONTHS
        or bare in DAYS
        or bare in ERAS
        or bare in ORDINALS
        or not bare
        or _NUMBER.match(bare) is not None
        or bare.isnumeric()
        or ("-" in bare and all(part in _HALVES or _says_little(part) for part in bare.split("-")))
    )


def words_inside_sentences(sentences: Iterable[str]) -> frozenset[str]:
    """Words that are capitalised where they do not start a sentence, hence likely parts of names."""
    found: set[str] = set()
    for sentence in sentences:
        tokens = TOKEN.findall(sentence)
        found.update(token for token in tokens[1:] if token[0].isupper())
    return frozenset(found)


def name_spans(sentence: str, *, known: Set[str] = frozenset()) -> list[tuple[int, int]]:
    """Where names of a script with capitals stand in a sentence.

    Args:
        sentence: One sentence; its first word gets special care.
        known: Words that are names even at the start of a sentence.

    Returns:
        Spans in order, not overlapping. Dates, numbers and function words alone are none.
    """
    if len(sentence) > 20 and sentence.isupper():
        return []
    spans: list[tuple[int, int]] = []
    for tokens in _capitalised_runs(sentence):
        span = _trimmed(sentence, tokens, known)
        if span is not None:
            spans.append(span)
    return spans


def _capitalised_runs(sentence: str) -> Iterator[list[tuple[int, int, str]]]:
    """Runs of capitalised words, with particles and numbers inside: each token with its span."""
    run: list[tuple[int, int, str]] = []
    waiting: list[tuple[int, int, str]] = []
    previous_end, previous, after_number = 0, "", False
    for match in TOKEN.finditer(sentence):
        word, start, end = match.group(), match.start(), match.end()
        gap = sentence[previous_end:start]
        joined = bool(run) and (
            gap in _JOINS or (gap == ". " and (len(previous) <= 2 or previous.lower() in _SHORTENED))
        )
        lower = word.lower()
        is_date = lower in MONTHS and (after_number or sentence[end : end + 3].strip(" ,.–-")[:1].isdigit())
        if word != lower and not is_date and not UNCASED.match(word):
            if run and not joined:
                yield run
                run = []
            run += [*waiting, (start, end, word)] if joined else [(start, end, word)]
            waiting = []
        elif joined and gap == " " and lower in _PARTICLES and len(waiting) < 3:
            waiting.append((start, end, word))
        elif joined and not waiting and word[0].isdigit() and gap in (" ", "-"):
            run.append((start, end, word))
        elif run:
            yield run
            run, waiting = [], []
        previous_end, previous, after_number = end, word, word[0].isdigit()
    if run:
        yield run


def _trimmed(sentence: str, tokens: list[tuple[int, int, str]], known: Set[str]) -> tuple[int, int] | None:
    """The span of a run without what only looks like a name; None when nothing is left."""
    at_start = TOKEN.search(sentence, 0, tokens[0][1]) is not None and not sentence[: tokens[0][0]].strip(_SURROUNDING)
    first, last = 0, len(tokens)
    while first < last and _is_no_start(sentence, tokens[first]) and (at_start or last - first == 1):
        first += 1
    if first < last and all(_says_little(token[2].lower()) for token in tokens[first:last]):
        return None
    if first == last or (last - first == 1 and tokens[first][1] - tokens[first][0] == 1):
        return None
    word = tokens[first][2]
    if at_start and first == 0 and last == 1 and word not in known and not _is_telling(sentence, tokens[0]):
        return None
    end = tokens[last - 1][1]
    if tokens[last - 1][2].endswith(("'s", "’s")):
        end -= 2
    return tokens[first][0], end


def _is_no_start(sentence: str, token: tuple[int, int, str]) -> bool:
    """Whether a capitalised word is one that sentences start with: a function word, or a letter that is no initial."""
    _, end, word = token
    return word.lower() in FUNCTION_WORDS or (len(word) == 1 and sentence[end : end + 1] != ".")


def _is_telling(sentence: str, token: tuple[int, int, str]) -> bool:
    """Whether one capitalised word at the start of a sentence is a name by its shape or by what follows."""
    _, end, word = token
    if not word[1:].islower() and len(word) > 1:
        return True
    return not word.endswith(("ly", "ing", "ed")) and _BE.match(sentence, end) is not None


def find_names(sentence: str, *, known: Set[str] = frozenset()) -> list[str]:
    """The names that a sentence mentions, in any script.

    Args:
        sentence: One sentence.
        known: Words that are names even at the start of a sentence (`words_inside_sentences`).

    Returns:
        Surface forms, each once, in order of appearance; of "King Heonjong of Joseon" also "Heonjong of Joseon", of
        "University of Oxford" also "Oxford".
    """
    found: dict[str, None] = {}
    for start, end in name_spans(sentence, known=known):
        for variant in _variants(sentence[start:end]):
            found[variant] = None
    for match in _QUOTED.finditer(sentence):
        inner = match[1]
        if (inner[0].isupper() or inner[0].isdigit()) and inner.count(" ") < 9 and not inner.isnumeric():
            found[" ".join(inner.strip(" ,.").split())] = None
    if not sentence.isascii() and UNCASED.search(sentence):
        found.update(dict.fromkeys(uncased_names(sentence)))
    found.pop("", None)
    return list(found)


def _variants(name: str) -> Iterator[str]:
    """The name, without titles of rank in front of it, what follows its last "of", and both sides of a possessive."""
    name = " ".join(name.split())
    yield name
    for owned in _POSSESSIVE.split(name)[:3]:
        if owned != name:
            yield owned
    words = name.split(" ")
    first = 0
    while first < len(words) - 1 and words[first].lower().rstrip(".") in ROLES:
        first += 1
    if first > 0 and words[first] not in _PARTICLES:
        yield " ".join(words[first:])
    if "of" in words[1:-1]:
        place = len(words) - 1 - words[::-1].index("of")
        tail = words[place + 1 :]
        yield " ".join(tail[1:] if tail[0] == "the" and len(tail) > 1 else tail)
