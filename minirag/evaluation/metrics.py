"""Scores of one question; a run's score is their mean over all of its questions, none skipped.

Retrieval is scored on documents (`recall_at`, `all_gold_at`, `reciprocal_rank`) or by passages that
hold the answer (`answer_rank`), answers on strings (`exact_match`, `f1`, `accuracy`). All scores lie in 0 to 1.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum

# HotpotQA's evaluation gives these no credit for partial overlap.
CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean; 0.0 of nothing."""
    numbers = list(values)
    return fsum(numbers) / len(numbers) if numbers else 0.0


# --- retrieval -----------------------------------------------------------------------------------------------------


def gold_ranks(ranking: Sequence[str], gold: Sequence[str]) -> tuple[int | None, ...]:
    """The rank, from 1, of every gold document; None where the ranking does not hold it.

    Args:
        ranking: Document ids, best first, each once.
        gold: Document ids.
    """
    places: dict[str, int] = {}
    for place, document_id in enumerate(ranking, start=1):
        places.setdefault(document_id, place)
    return tuple(places.get(document_id) for document_id in gold)


def recall_at(ranks: Sequence[int | None], k: int) -> float:
    """Recall@k: the share of the gold documents that stand among the first k (as IndexRAG and KiRAG report it).

    Args:
        ranks: One per gold document, as `gold_ranks` gives them.
        k: At least 1.

    Raises:
        ValueError: If there is no gold document: recall is then undefined, not 0.
    """
    return mean(_within(ranks, k))


def all_gold_at(ranks: Sequence[int | None], k: int) -> float:
    """All-gold@k: 1.0 when every gold document stands among the first k, else 0.0.

    The support that a question of several hops needs; also called full or joint recall (MDR, Xiong et al. 2021).

    Args:
        ranks: One per gold document, as `gold_ranks` gives them.
        k: At least 1.

    Raises:
        ValueError: If there is no gold document.
    """
    return float(all(_within(ranks, k)))


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """1 / the rank of the first gold document, 0.0 when none was ranked; its mean is MRR (TREC-8, Voorhees 1999).

    Args:
        ranks: One per gold document, as `gold_ranks` gives them.

    Raises:
        ValueError: If there is no gold document.
    """
    _require_gold(ranks)
    found = [rank for rank in ranks if rank is not None]
    return 1.0 / min(found) if found else 0.0


def answer_rank(texts: Iterable[str], answers: Sequence[str]) -> int | None:
    """The rank, from 1, of the first text that holds an answer; None where none does.

    `recall_at` of this one rank is DPR's top-k accuracy (Karpukhin et al. 2020), which stands in for recall where a
    data set names no gold documents. As there, both sides are decomposed (Unicode NFD) and split into runs of letters,
    numbers and marks, and single other characters that are seen; the answer's tokens must stand in the text one after
    the other, in any case. So "1939" is in "1939–1945", and "Johnny Depp" in "Johnny Depp's", but "no" not in "Norway".
    An answer without a token is found nowhere; by DPR's code it is in every text.

    Args:
        texts: The retrieved passages, best first; read as far as the first that holds one.
        answers: The gold answers.

    Raises:
        ValueError: If there is no gold answer.
    """
    _require_answers(answers)
    apart = _Apart()
    wanted = [tokens for answer in answers if (tokens := _spell_tokens(answer, apart)).strip()]
    for rank, text in enumerate(texts, start=1):
        found = _spell_tokens(text, apart)
        if any(tokens in found for tokens in wanted):
            return rank
    return None


class _Apart(dict[int, str]):
    """For `str.translate`: what belongs to a word stays, other visible characters stand alone, the rest parts."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)[0]
        self[code] = spelt = character if kind in "LNM" else " " if kind in "ZC" else f" {character} "
        return spelt


def _spell_tokens(text: str, apart: _Apart) -> str:
    """The tokens with a space on either side of each, so that a run of tokens is a substring."""
    return f" {' '.join(unicodedata.normalize('NFD', text).translate(apart).split()).lower()} "


def _within(ranks: Sequence[int | None], k: int) -> list[bool]:
    """For each gold document, whether it stands among the first k."""
    _require_gold(ranks)
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return [rank is not None and rank <= k for rank in ranks]


def _require_gold(ranks: Sequence[int | None]) -> None:
    if not ranks:
        raise ValueError("without a gold document neither recall nor rank is defined")


# --- answers -------------------------------------------------------------------------------------------------------


def normalise_answer(text: str) -> str:
    """SQuAD's normalisation (Rajpurkar et al. 2016, evaluate-v1.1): what is left of a text for comparing.

    Lower case; ASCII punctuation removed, not replaced by a space; the articles a, an, the removed; white space
    squeezed to single spaces.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """EM: 1.0 when the prediction equals one of the gold answers, both normalised, else 0.0 (SQuAD).

    Raises:
        ValueError: If there is no gold answer.
    """
    _require_answers(answers)
    return float(normalise_answer(prediction) in {normalise_answer(answer) for answer in answers})


def f1(prediction: str, answers: Sequence[str]) -> float:
    """F1 of the words that prediction and gold answer share, counted with repetition; the best over the golds.

    SQuAD's definition with HotpotQA's rule (Yang et al. 2018, hotpot_evaluate_v1): where either side is "yes", "no" or
    "noanswer", only equality counts.

    Raises:
        ValueError: If there is no gold answer.
    """
    _require_answers(answers)
    predicted = normalise_answer(prediction)
    return max(_f1_of(predicted, normalise_answer(answer)) for answer in answers)


def accuracy(prediction: str, answers: Sequence[str]) -> float:
    """1.0 when the normalised prediction contains one of the normalised gold answers, else 0.0.

    IndexRAG's and KiRAG's accuracy, for answers that are sentences; but an answer must be there in whole words, so that
    "no" is not found in "Norway". Answers in scripts that write no spaces (Chinese, Japanese, also Korean, which glues
    particles to its words) are looked for as they are.

    Raises:
        ValueError: If there is no gold answer.
    """
    _require_answers(answers)
    predicted = normalise_answer(prediction)
    return float(any(_contains(predicted, normalise_answer(answer)) for answer in answers))


def _f1_of(predicted: str, gold: str) -> float:
    """F1 of two normalised strings."""
    if predicted != gold and not CLOSED_ANSWERS.isdisjoint((predicted, gold)):
        return 0.0
    predicted_words, gold_words = predicted.split(), gold.split()
    shared = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted_words), shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def _contains(text: str, answer: str) -> bool:
    """Whether a normalised answer stands in a normalised text."""
    if not answer:  # "The" or "?" leaves nothing, and nothing is in everything
        return not text
    if any(unicodedata.east_asian_width(character) in "WF" for character in answer):
        return answer in text
    return f" {answer} " in f" {text} "


def _require_answers(answers: Sequence[str]) -> None:
    if not answers:
        raise ValueError("a question without gold answers cannot be scored")
