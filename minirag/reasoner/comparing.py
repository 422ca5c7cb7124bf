"""Questions that compare two subjects: which came first, are both the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minirag.naming.names import TOKEN, normalise_name
from minirag.naming.words import DEMONYMS, word_set
from minirag.reasoner.context import Statement, follow, match_subject
from minirag.reasoner.dates import DATE, when
from minirag.reasoner.questions import Question, stem, steps_of
from minirag.records import Reading

Subject = tuple[str, int, int]
Moment = tuple[int, int, int]

_LATER = re.compile(
    r"\b(?:later|younger|youngest|last|(?:more|most) recent(?:ly)?|newer|newest|latest)\b", re.IGNORECASE
)
ORDER = re.compile(r"\b(?:before|after|(?:earlier|later|older|younger|newer|more recent(?:ly)?) than)\b", re.IGNORECASE)
_LIVED = re.compile(r"\blived? longer\b|\blonger li(?:fe|ved)\b", re.IGNORECASE)
_AGE = re.compile(r"\b(?:how old|(?:at )?(?:what|which) age)\b", re.IGNORECASE)
_LIFE = re.compile(r"\([^()]*\)")
_DIED = re.compile(r"\d\s?[–—-]|\bdied\b")
_COUNTRIES = word_set("""
    us:american u.s:american usa:american states:american america:american uk:british kingdom:british
    england:british scotland:british wales:british english:british scottish:british welsh:british france:french
    germany:german italy:italian spain:spanish portugal:portuguese netherlands:dutch belgium:belgian
    switzerland:swiss austria:austrian denmark:danish sweden:swedish norway:norwegian finland:finnish
    poland:polish hungary:hungarian romania:romanian bulgaria:bulgarian greece:greek turkey:turkish
    russia:russian ukraine:ukrainian ireland:irish israel:israeli egypt:egyptian iran:iranian india:indian
    pakistan:pakistani china:chinese japan:japanese korea:korean taiwan:taiwanese vietnam:vietnamese
    philippines:filipino indonesia:indonesian malaysia:malaysian australia:australian canada:canadian
    mexico:mexican brazil:brazilian argentina:argentine argentinian:argentine chile:chilean peru:peruvian
    colombia:colombian cuba:cuban nigeria:nigerian kenya:kenyan africa:african zealand:zealander
    bollywood:indian hindi:indian tamil:indian telugu:indian malayalam:indian kannada:indian bengali:indian
    punjabi:indian syria:syrian lebanon:lebanese iraq:iraqi jordan:jordanian morocco:moroccan algeria:algerian
    tunisia:tunisian ethiopia:ethiopian ghana:ghanaian serbia:serbian croatia:croatian slovenia:slovenian
    slovakia:slovak czechoslovakia:czech bohemia:czech iceland:icelandic estonia:estonian latvia:latvian
    lithuania:lithuanian georgia:georgian armenia:armenian kazakhstan:kazakh nepal:nepalese
    bangladesh:bangladeshi thailand:thai venezuela:venezuelan ecuador:ecuadorian bolivia:bolivian
    uruguay:uruguayan jamaica:jamaican
""")
_NATIONS = dict(pair.split(":") for pair in _COUNTRIES)


def subjects_in(question: str, statements: Sequence[Statement]) -> list[Subject]:
    """The documents' subjects that a question names, each with where, in the order of the question."""
    text = question.lower()
    found: list[Subject] = []
    for about in sorted(
        {statement.about for statement in statements if len(statement.about) > 1}, key=len, reverse=True
    ):
        place = _find_name(text, about)
        if place is not None and all(place[1] <= start or place[0] >= end for _, start, end in found):
            found.append((about, *place))
    return sorted(found, key=lambda subject: subject[1])


def _find_name(text: str, about: str) -> tuple[int, int] | None:
    """Where a name stands in a text as whole words, its words parted by whatever punctuation."""
    words = [re.escape(word) for word in re.split(r"\W+", about) if word]
    if not words or len(words) > 20:
        return None
    match = re.search(r"(?<!\w)" + r"\W{1,3}".join(words) + r"(?!\w)", text)
    return match.span() if match else None


def compare(question: Question, statements: Sequence[Statement], subjects: Sequence[Subject]) -> Reading | None:
    """Answer a question about two subjects; None when the context does not tell enough of both."""
    first, second = subjects[0], subjects[1]
    steps = steps_of(question.text, first[1], first[1])
    ends = [_walk(statements, subject[0], steps) for subject in (first, second)]
    if any(end is None for end in ends):
        ends = [(subject[0], frozenset()) for subject in (first, second)]
    (left, left_items), (right, right_items) = (end for end in ends if end is not None)
    items = left_items | right_items
    order = ORDER.search(question.text, first[2], second[1])
    if question.kind == "yes_no" and order is None:
        return _same(statements, (left, right), items, question)
    if _LIVED.search(question.text):
        return _compare_lives(question, statements, (first, second))
    dates = [_date(statements, about, question.terms) for about in (left, right)]
    if dates[0] is None or dates[1] is None or dates[0][0] == dates[1][0]:
        return None
    earlier = 0 if dates[0][0] < dates[1][0] else 1
    is_after = order is not None and order[0].lower() == "after"
    wanted = 1 - earlier if is_after or _LATER.search(question.text) else earlier
    used = items | {dates[0][1], dates[1][1]}
    if question.kind == "yes_no":
        return Reading("no" if wanted else "yes", found=True, items=tuple(sorted(used)))
    chosen = (first, second)[wanted]
    return Reading(question.text[chosen[1] : chosen[2]], found=True, items=tuple(sorted(used)))


def _compare_lives(
    question: Question, statements: Sequence[Statement], pair: tuple[Subject, Subject]
) -> Reading | None:
    """Who of two lived longer."""
    lives = [_life_of(statements, about) for about, _, _ in pair]
    if lives[0] is None or lives[1] is None:
        return None
    ages = [
        died[0] - born[0] + (died[1] - born[1]) / 12 + (died[2] - born[2]) / 365
        for born, died, _ in filter(None, lives)
    ]
    chosen = pair[0] if ages[0] > ages[1] else pair[1]
    items = {item for _, _, items in filter(None, lives) for item in items}
    return Reading(question.text[chosen[1] : chosen[2]], found=True, items=tuple(sorted(items)))


def age_at_death(question: Question, statements: Sequence[Statement], about: str) -> Reading | None:
    """How old somebody became, where that is asked; in years alone the birthday leaves two numbers."""
    if not _AGE.search(question.text) or "die" not in question.terms:
        return None
    life = _life_of(statements, about)
    if life is None:
        return None
    born, died, items = life
    years = died[0] - born[0] - (died[1:] < born[1:])
    told = str(years) if born[1] and died[1] else f"{years - 1} or {years}"
    return Reading(told, found=True, items=tuple(sorted(set(items))))


def _life_of(statements: Sequence[Statement], about: str) -> tuple[Moment, Moment, tuple[int, ...]] | None:
    """When somebody was born and died, and the items that tell; None where one is not told."""
    ends = [_date(statements, about, frozenset((end,))) for end in ("born", "die")]
    if ends[0] is None or ends[1] is None or ends[0][0] >= ends[1][0]:
        return None
    return ends[0][0], ends[1][0], (ends[0][1], ends[1][1])


def _walk(statements: Sequence[Statement], about: str, steps: Sequence[str]) -> tuple[str, frozenset[int]] | None:
    """The subject at the end of the relations, with the items that they stand in; None when one leads nowhere."""
    items: set[int] = set()
    subjects = frozenset(statement.about for statement in statements if statement.about)
    for step in steps:
        taken = follow(statements, about, step)
        target = match_subject(normalise_name(taken.name), subjects) if taken else ""
        if taken is None or not target:
            return None
        items.add(taken.statement.item)
        about = target
    return about, frozenset(items)


def _date(statements: Sequence[Statement], about: str, wanted: frozenset[str]) -> tuple[Moment, int] | None:
    """The date that the question wants of a subject, and the item that gives it."""
    best: tuple[float, Moment, int] | None = None
    own = [statement for statement in statements if statement.about == about]
    for order, statement in enumerate(own):
        for date in DATE.finditer(statement.text):
            fit = _date_fit(statement.text, date, wanted) - 0.5 * order
            if best is None or fit > best[0]:
                best = (fit, when(date), statement.item)
    return best[1:] if best is not None else None


def _date_fit(text: str, date: re.Match[str], wanted: frozenset[str]) -> float:
    """How well a date fits: words of the question around it, and which end of a life in parentheses it is."""
    near = {stem(word) for word in TOKEN.findall(text[max(0, date.start() - 40) : date.end() + 25])}
    fit = 2.0 * len(near & wanted)
    life = _LIFE.search(text)
    if life is not None and life.start() <= date.start() < life.end():
        is_last = _DIED.search(text[life.start() : date.start()]) is not None
        fit += 2.0 if is_last == ("die" in wanted) else 0.0
    return fit


def _same(
    statements: Sequence[Statement], pair: tuple[str, str], items: frozenset[int], question: Question
) -> Reading | None:
    """Whether both subjects are of one nation, or both what the question says of them."""
    own = [[statement for statement in statements if statement.about == about] for about in pair]
    if not own[0] or not own[1]:
        return None
    used = items | {own[0][0].item, own[1][0].item}
    if "nation" in question.terms:
        nations = [_nations(texts) for texts in own]
        if not nations[0] or not nations[1]:
            return None
        same = bool(nations[0] & nations[1])
    else:
        named = {stem(word) for about in pair for word in about.split()}
        claim = {term for term in question.terms if term not in named and len(term) > 2}
        same = all(any(term in statement.terms for statement in texts) for texts in own for term in claim)
    return Reading("yes" if same else "no", found=True, items=tuple(sorted(used)))


def _nations(statements: Sequence[Statement]) -> frozenset[str]:
    """The nations that the first telling statement names."""
    for statement in statements:
        words = [
            word.lower().removesuffix("'s") for token in TOKEN.findall(statement.text) for word in token.split("-")
        ]
        found = [_NATIONS.get(word, word) for word in words if word in DEMONYMS or word in _NATIONS]
        if found:
            return frozenset(found)
    return frozenset()
