"""What a question asks for: the kind of answer, the options, the relations on the way, and the terms to look for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from minirag.naming.names import TOKEN
from minirag.naming.words import FUNCTION_WORDS, UNCASED, UNSPACED_LETTER, word_set

Kind = Literal["yes_no", "choice", "number", "date", "year", "place", "nation", "cause", "person", "thing"]

_STEM_ENDINGS = re.compile(r"(?<=\w{3})(?:'s|’s|ies|es|s|ed|ing|er|or|ion|e)\Z")
_YES_NO = re.compile(r"\A\W*(?:are|is|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE)
_CHOICE = re.compile(
    r"\b(?:earlier|later|first|last|older|younger|oldest|youngest|longer|more|most|fewer|less|larger|bigger|higher|taller|"
    r"recent(?:ly)?|which|who|what|between)\b.*\bor\b"
    r"|\A\W*(?:was|is|were|are|did)\b.*\bor\b.*\b(?:first|earlier|later|older|younger)\b",
    re.IGNORECASE,
)
_PLACES = "city|town|village|county|state|province|region|district|continent|island|place|location|municipality"
_PERSONS = "actor|actress|singer|author|writer|director|person|player"
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("person", r"\A\W*whom?\b"),
    ("number", r"\bhow (?:many|much|tall|long|far|high|old|big|large)\b"),
    ("number", r"\b(?:what|which) (?:(?:is|was|are|were) the (?:\w+ )?)?(?:number|population|percentage)\b"),
    ("number", r"\bwhat (?:is|was) the (?:\w+ )?(?:height|length|width|depth|elevation|surface area)\b"),
    ("year", r"\b(?:what|which) (?:year|decade)\b"),
    ("date", r"\bwhen\b|\bdates?\b|\bbirth(?:day|date)\b|\b(?:what|which) (?:day|month)\b"),
    ("cause", r"\b(?:cause of|what caused|why did|how did)\b.*\b(?:death|die)\b"),
    ("nation", r"\b(?:which|what) (?:country|nation|nationality)\b|\bnationality\b"),
    ("place", r"\bwhere\b|\b(?:birthplace|place of|hometown|headquarter)|\bwhat (?:is|was) the (?:capital|seat)\b"),
    ("place", rf"\b(?:which|what) (?:\w+ )?(?:{_PLACES})\b"),
    ("person", rf"\A(?:(?!\b(?:what|which)\b).)*\bwho(?:m|se)?\b|\b(?:which|what) (?:\w+ ){{0,2}}(?:{_PERSONS})\b"),
)

# Words that say the same thing in a question and in a text that answers it.
_SAME = {
    word: group.split()[0]
    for group in (
        "born birth birthplace birthday birthdate",
        "die died dies death dead deceased",
        "direct directed director directors directs directing",
        "film films movie movies",
        "perform performed performer performers performs singer sung sings artist",
        "compose composed composer composers composes music",
        "write wrote written writer writers author authors authored",
        "found founded founder founders established establish establishment formed form formation inception",
        "create created creator creators creates",
        "marry married marries wife husband spouse marriage wed",
        "study studied educated education graduated graduate alma attended",
        "star starring starred stars star's featuring actor actress",
        "release released publish published publication came",
        "locate located location situated lie lies lying",
        "population inhabitants populated",
        "win won wins winner winning award awarded",
        "capital capitol seat",
        "nation country nationality",
        "play played plays portrayed portrays plays",
        "head headquarters headquartered headquarter",
        "lead led leader leads",
        "own owned owns owner",
        "work worked works working employed employer professor lecturer",
        "bury buried burial interred",
        "teach taught teacher teachers pupil trained",
        "begin began begun start started",
    )
    for word in group.split()
}

# Stems of words of which the other forms, and others that say the same, are known.
KNOWN_STEMS = frozenset(_SAME.values())


def stem(word: str) -> str:
    """The form in which words are compared: lower case, a shared form for words that say the same, no ending."""
    lower = word.lower().removesuffix("'s").removesuffix("’s")
    return _SAME.get(lower) or _STEM_ENDINGS.sub("", lower)


_FRAMES = frozenset(
    map(stem, word_set("place date year day film song album from country nation city town person one movie"))
)
_ASKING = frozenset(
    map(stem, word_set("which what who whom whose when where why how many much does did name same both"))
)

_PAIR = re.compile(rf"({UNSPACED_LETTER.pattern})(?=({UNSPACED_LETTER.pattern}))")
_UNSPACED_ASKING = frozenset("的了是在哪里儿裡什么麼谁誰何吗嗎呢几幾怎のはをにがかでと")

# A relation noun of a question and the steps that it takes in texts.
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"paternal grandfather|grandfather", ("father", "father")),
    (r"paternal grandmother", ("father", "mother")),
    (r"maternal grandfather", ("mother", "father")),
    (r"maternal grandmother|grandmother", ("mother", "mother")),
    (r"father- ?in- ?law", ("spouse", "father")),
    (r"mother- ?in- ?law", ("spouse", "mother")),
    (r"step-?father", ("mother", "spouse")),
    (r"step-?mother", ("father", "spouse")),
    (r"father", ("father",)),
    (r"mother", ("mother",)),
    (r"husband|wife|spouse", ("spouse",)),
    (r"child|son|daughter", ("child",)),
    (r"brother|sister|sibling", ("sibling",)),
    (r"directors?", ("director",)),
    (r"performers?|singers?", ("performer",)),
    (r"composers?", ("composer",)),
    (r"authors?|writers?", ("writer",)),
    (r"producers?", ("producer",)),
    (r"founders?|creators?", ("founder",)),
    (r"teachers?|who taught", ("teacher",)),
)
_STEP = re.compile(
    r"\b(?:" + "|".join(f"(?P<s{place}>{pattern})" for place, (pattern, _) in enumerate(_STEPS)) + r")\b"
)
# What follows "which", up to a verb or a preposition.
_TYPE = re.compile(
    r"\b(?:which|what|this)\s(?P<type>(?!(?:is|was|are|were|did|do|does|has|had)\b)(?:[\w'’-]+\s){0,6}?[\w'’-]+)(?=\s(?:is|was|are|were|"
    r"did|do|does|has|had|have|can|could|will|that|who|which|whose|of|in|on|for|from|by|with|at|to|born|stars?|based)\b|\W*\Z)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, taken apart.

    Attributes:
        text: As asked.
        kind: What kind of answer it wants.
        terms: What a text that answers it should speak of; see `terms_of`.
        types: What the answer is, where it says so: of "which American driver" the stems of "American" and "driver".
    """

    text: str
    kind: Kind
    terms: frozenset[str]
    types: frozenset[str]


def read_question(text: str) -> Question:
    """Take a question apart; one in a language that the rules do not know asks for a "thing"."""
    asked = _TYPE.search(text[:1000])
    types = terms_of(asked["type"]) if asked else frozenset()
    return Question(text, _kind(text), terms_of(text) - _ASKING, types - _ASKING)


def _kind(text: str) -> Kind:
    if _CHOICE.search(text[:1000]):
        return "choice"
    if _YES_NO.match(text):
        return "yes_no"
    return next((kind for kind, pattern in _KINDS if re.search(pattern, text[:1000], re.IGNORECASE)), "thing")


def focus_of(question: Question, start: int, end: int) -> frozenset[str]:
    """What the question asks of the one that its relations lead to: its terms without names, relations, question words.

    Args:
        question: Taken apart.
        start: Where the name that it starts from begins in its text.
        end: Where that name ends.
    """
    rest = f"{question.text[:start]} {question.text[end:]}".lower()
    terms = terms_of(_STEP.sub(" ", rest)) - _ASKING - _FRAMES
    return terms & question.terms


def asks_what_it_is(question: Question, start: int, end: int) -> bool:
    """Whether besides the name at `text[start:end]` the question says nothing but "who is" or "what is"."""
    rest = f"{question.text[:start]} {question.text[end:]}"
    return question.kind in ("thing", "person") and not terms_of(rest) - _ASKING


def steps_of(text: str, start: int, end: int) -> list[str]:
    """The relations that lead from the name at `text[start:end]` to what is asked, nearest first.

    In "the spouse of X's mother" what follows the name is nearer; before it, what stands closer is nearer.
    """
    after = [
        step for match in _STEP.finditer(text.lower(), min(end, len(text.lower()))) for step in _STEPS[_group(match)][1]
    ]
    before = [_STEPS[_group(match)][1] for match in _STEP.finditer(text.lower()[:start])]
    return [*after, *(step for steps in reversed(before) for step in steps)]


def _group(match: re.Match[str]) -> int:
    return int(str(match.lastgroup)[1:])


def terms_of(text: str) -> frozenset[str]:
    """Stems of the content words; of scripts without spaces, pairs of characters."""
    # "die" is a German article too.
    tokens = [word for word in TOKEN.findall(text) if word.lower() not in FUNCTION_WORDS or word == "die"]
    if text.isascii() or not UNCASED.search(text):
        return frozenset(stem(word) for word in tokens)
    pairs = (match[1] + match[2] for match in _PAIR.finditer(text) if not _UNSPACED_ASKING.intersection(match.groups()))
    return frozenset([*(stem(word) for word in tokens if not UNSPACED_LETTER.match(word)), *pairs])
