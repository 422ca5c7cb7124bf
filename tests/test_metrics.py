from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.evaluation.metrics import (
    accuracy,
    all_gold_at,
    answer_rank,
    exact_match,
    f1,
    gold_ranks,
    mean,
    normalise_answer,
    recall_at,
    reciprocal_rank,
)

# Prediction, gold answers, then what the scorer of the PyPI package flashrag-dev 0.1.2 (SQuAD's code with HotpotQA's
# yes/no rule) gives for them as EM and F1; 200,000 random cases agreed with it too.
PUBLISHED = [
    ("The Picture of Dorian Gray", ["Picture of Dorian Gray"], 1.0, 1.0),
    (
        "It was written by Andrew Lloyd Webber and Tim Rice.",
        ["Andrew Lloyd Webber and Tim Rice", "Andrew Lloyd Webber, Tim Rice"],
        0.0,
        0.7499999999999999,
    ),
    ("Wembley Stadium in London", ["Wembley Stadium", "Wembley Stadium, London"], 0.0, 0.8571428571428571),
    ("yes", ["yes"], 1.0, 1.0),
    ("Yes, both were.", ["yes"], 0.0, 0.0),
    ("no", ["yes"], 0.0, 0.0),
    ("no", ["no way", "no"], 1.0, 1.0),
    ("not in Norway", ["no"], 0.0, 0.0),
    ("noanswer", ["no answer"], 0.0, 0.0),
    ("8 October 1848", ["October 8, 1848"], 0.0, 1.0),
    ("U.S.A.", ["USA"], 1.0, 1.0),
    ("a a b b", ["b b b"], 0.0, 0.8),
    ("Weston-super-Mare, Somerset", ["Weston-super-Mare"], 0.0, 0.6666666666666666),
    ("", ["Paris"], 0.0, 0.0),
    ("the", ["a"], 1.0, 0.0),
    ("  THE   Hague ", ["Hague"], 1.0, 1.0),
    ("Émile Zola", ["Emile Zola"], 0.0, 0.5),
    ("北京", ["北京"], 1.0, 1.0),
    ("Seoul’s mayor", ["Seoul's mayor"], 0.0, 0.5),
    ("one two three", ["four", "two three five six"], 0.0, 0.5714285714285715),
]


@pytest.mark.parametrize(("prediction", "answers", "em", "f1_score"), PUBLISHED)
def test_em_and_f1_as_a_published_scorer(prediction: str, answers: list[str], em: float, f1_score: float) -> None:
    assert exact_match(prediction, answers) == em
    assert f1(prediction, answers) == f1_score


def test_normalisation() -> None:
    assert normalise_answer("The  U.S. (an\tA-team's) thesis!") == "us ateams thesis"
    assert normalise_answer("An « Éclair » – the best") == "« éclair » – best"
    assert normalise_answer("A.") == ""


@pytest.mark.parametrize(
    ("prediction", "answers", "expected"),
    [
        ("He was born in Weston-super-Mare, Somerset [1].", ["weston-super-mare"], 1.0),
        ("Neither; it was the Loire.", ["Seine", "Loire"], 1.0),
        ("Norway, I know.", ["no"], 0.0),
        ("No, they are not.", ["no"], 1.0),
        ("He was 101 years old.", ["10"], 0.0),
        ("答案是北京。", ["北京"], 1.0),
        ("시장은 서울에서 태어났다", ["서울"], 1.0),
        ("Webber Lloyd Andrew", ["Andrew Lloyd Webber"], 0.0),
        ("anything", ["The"], 0.0),
        ("a", ["The"], 1.0),
        ("", ["Paris"], 0.0),
    ],
)
def test_accuracy(prediction: str, answers: list[str], expected: float) -> None:
    assert accuracy(prediction, answers) == expected


@pytest.mark.parametrize("score", [exact_match, f1, accuracy])
def test_no_gold_answer_is_refused(score: Callable[[str, list[str]], float]) -> None:
    with pytest.raises(ValueError, match="without gold answers"):
        score("Paris", [])


# d1 … d5 ranked; of the gold documents d2 is second, d5 fifth, d9 was not found.
RANKS = gold_ranks(["d1", "d2", "d3", "d4", "d5"], ["d2", "d5", "d9"])


def test_gold_ranks() -> None:
    assert RANKS == (2, 5, None)
    assert gold_ranks([], ["d1"]) == (None,)
    assert gold_ranks(["d1"], []) == ()


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 3), (4, 1 / 3), (5, 2 / 3), (100, 2 / 3)])
def test_recall(k: int, expected: float) -> None:
    assert recall_at(RANKS, k) == expected


def test_all_gold() -> None:
    assert [all_gold_at((2, 5), k) for k in (1, 2, 4, 5, 10)] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert all_gold_at(RANKS, 100) == 0.0


def test_reciprocal_rank() -> None:
    assert reciprocal_rank(RANKS) == 0.5
    assert reciprocal_rank((7, 3)) == 1 / 3
    assert reciprocal_rank((None, None)) == 0.0


def test_answer_rank() -> None:
    texts = ["Paris lies on the Seine.", "The Loire is longer.", "Tours on the Loire"]
    assert answer_rank(texts, ["Loire", "Rhône"]) == 2
    assert answer_rank(texts, ["Rhône"]) is None
    assert answer_rank([], ["Loire"]) is None
    with pytest.raises(ValueError, match="without gold answers"):
        answer_rank(texts, [])


# Passage, answer, and whether DPR's released `has_answer` finds the one in the other; 900 questions over some passages
# each and 200,000 random cases agreed with it, too.
HELD = [
    ("Johnny Depp's first film", "Johnny Depp", True),
    ("in the war (1939–1945)", "1939", True),
    ("born 1939-07-02", "1939", True),
    ("an Anglo-French treaty", "French", True),
    ("a treaty, Anglo - French", "anglo-french", True),
    ("the U.S. army", "U.S.", True),
    ("the US army", "U.S.", False),
    ("in Norway", "no", False),
    ("seen in 19391", "1939", False),
    ("the 1st Earl", "1", False),
    ("ÉMILE ZOLA", "Émile Zola", True),
    ("Émile Zola", "Emile Zola", False),
    ("Emile\u0301 Zola", "Emile\u0301", True),
    ("हिन्दी भाषा", "हिन्दी", True),
    ("हिन्दी भाषा", "हिन", False),
    ("the\u00a0Loire\nriver", "the Loire river", True),
    ("zero\u200bwidth", "zero width", True),
    ("Hague", "The Hague", False),
    ("snake_case", "snake", True),
    ("北京市", "北京", False),
    ("ΟΔΥΣΣΕΥΣ.", "Οδυσσευς", True),
    ("costs $5 million", "$5 million", True),
    ("costs 5 million", "$5 million", False),
    ("Webber, Lloyd", "Webber Lloyd", False),
]


@pytest.mark.parametrize(("text", "answer", "is_held"), HELD)
def test_answers_are_found_as_dpr_finds_them(text: str, answer: str, is_held: bool) -> None:
    assert answer_rank(["-", text], [answer]) == (2 if is_held else None)


def test_an_answer_without_anything_to_see_is_nowhere() -> None:
    assert answer_rank(["a", "\u200b", ""], ["\u200b"]) is None


@pytest.mark.parametrize("score", [partial(recall_at, k=5), partial(all_gold_at, k=5), reciprocal_rank])
def test_rank_scores_without_gold_are_refused(score: Callable[[tuple[int, ...]], float]) -> None:
    with pytest.raises(ValueError, match="without a gold document"):
        score(())


def test_k_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        recall_at((1,), 0)


def test_mean() -> None:
    assert mean([1.0, 0.0, 0.5, 0.5]) == 0.5
    assert mean([]) == 0.0


VOCABULARY = ["the", "a", "Yes", "no", "paris", "London", "1848", "in", "of", ",", ".", "Zola", "北京"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_scores_are_ordered(prediction: str, answers: list[str]) -> None:
    em, overlap = exact_match(prediction, answers), f1(prediction, answers)
    assert 0.0 <= overlap <= 1.0
    if em and normalise_answer(prediction):
        assert overlap == 1.0
    assert accuracy(prediction, answers) >= em


@given(st.permutations(["a", "b", "c", "d"]), st.sets(st.sampled_from("abcdxy"), min_size=1))
def test_recall_grows_with_k(ranking: list[str], gold: set[str]) -> None:
    ranks = gold_ranks(ranking, sorted(gold))
    recalls = [recall_at(ranks, k) for k in range(1, 6)]
    assert recalls == sorted(recalls)
    assert recalls[-1] == len(gold & set(ranking)) / len(gold)
    assert all(all_gold_at(ranks, k) == float(recall_at(ranks, k) == 1.0) for k in range(1, 6))
