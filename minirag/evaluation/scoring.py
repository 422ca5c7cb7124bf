"""How answers are scored: by the field's rules, or as the released code of a paper does it, to compare with its tables.

"minirag" is SQuAD's and HotpotQA's scoring, best over all gold answers, over all questions (see `metrics`). "kirag"
(github.com/jyfang6/kirag, `evaluation/`) takes F1 against the first gold answer alone, leaves questions for which
nothing was retrieved out of recall, and finds an answer in a passage's title, too. "indexrag"
(github.com/Continuum-AI-Corp/IndexRAG, `benchmarks/metrics.py`) knows the first gold answer alone, puts spaces in place
of punctuation, counts shared words once for F1, and takes any substring for accuracy; it reports neither recall nor
hits, so that those are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from minirag.evaluation.metrics import accuracy, exact_match, f1

Scoring = Literal["minirag", "kirag", "indexrag"]
SCORINGS: tuple[Scoring, ...] = get_args(Scoring)
DEFAULT: Scoring = "minirag"

Metric = Callable[[str, Sequence[str]], float]
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class Scorer:
    """What scores an answer against its gold answers, each in 0 to 1.

    Attributes:
        exact_match: EM.
        f1: Overlap of words.
        accuracy: Whether the answer contains a gold one.
        skips_unretrieved: Whether questions for which nothing was retrieved are left out of recall and its like.
        reads_titles: Whether hits are looked for in a passage's title, too, which then stands before its text.
    """

    exact_match: Metric
    f1: Metric
    accuracy: Metric
    skips_unretrieved: bool = False
    reads_titles: bool = False


def scorer(scoring: Scoring) -> Scorer:
    """The rules of that name.

    Raises:
        ValueError: If there are none.
    """
    if scoring == "minirag":
        return Scorer(exact_match, f1, accuracy)
    if scoring == "kirag":
        return Scorer(exact_match, _f1_of_first, accuracy, skips_unretrieved=True, reads_titles=True)
    if scoring == "indexrag":
        return Scorer(_exact_match_of_first, _f1_of_sets, _substring_of_first)
    raise ValueError(f"unknown scoring {scoring!r}; there are {', '.join(SCORINGS)}")


def _f1_of_first(answer: str, golds: Sequence[str]) -> float:
    return f1(answer, golds[:1])


# --- IndexRAG's ----------------------------------------------------------------------------------------------------


def _normalise(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", _ARTICLES.sub(" ", text.lower())).split())


def _exact_match_of_first(answer: str, golds: Sequence[str]) -> float:
    return float(_normalise(answer) == _normalise(golds[0]))


def _substring_of_first(answer: str, golds: Sequence[str]) -> float:
    return float(_normalise(golds[0]) in _normalise(answer))


def _f1_of_sets(answer: str, golds: Sequence[str]) -> float:
    """Shared words counted once, over the lengths with repetition, as the released code has it."""
    answered, gold = _normalise(answer).split(), _normalise(golds[0]).split()
    if not answered or not gold:
        return float(answered == gold)
    shared = len({*answered} & {*gold})
    if not shared:
        return 0.0
    precision, recall = shared / len(answered), shared / len(gold)
    return 2 * precision * recall / (precision + recall)
