from __future__ import annotations

import pytest

from minirag.evaluation.results import QuestionResult, Run
from minirag.evaluation.scoring import SCORINGS, scorer

# Answer, gold answers, and what the rules of each released scorer come to, worked out by hand: KiRAG's qa_eval.py takes
# the best EM and F1 against gold_answers[0]; IndexRAG's metrics.py normalises differently and knows one gold answer.
CASES = [
    # Two golds, the second is right.
    ("Weston", ["Weston-super-Mare", "Weston"], {"minirag": (1.0, 1.0, 1.0), "kirag": (1.0, 0.0, 1.0)}),
    ("Weston", ["Weston-super-Mare", "Weston"], {"indexrag": (0.0, 0.5, 0.0)}),
    # A hyphen is removed by SQuAD's rule (one word), and a space by IndexRAG's (three words, of which "super" is lost).
    ("Weston Mare", ["Weston-super-Mare"], {"minirag": (0.0, 0.0, 0.0), "indexrag": (0.0, 0.8, 0.0)}),
    # Repeated words: 2 of 4 and 2 of 3 with repetition; as sets 1 of 4 and 1 of 3.
    ("x b b c", ["b b d"], {"minirag": (0.0, 2 * 0.5 * (2 / 3) / (0.5 + 2 / 3), 0.0)}),
    ("x b b c", ["b b d"], {"indexrag": (0.0, 2 * 0.25 * (1 / 3) / (0.25 + 1 / 3), 0.0)}),
    # Part of a word is a substring, and no word.
    ("Norway", ["no"], {"minirag": (0.0, 0.0, 0.0), "kirag": (0.0, 0.0, 0.0), "indexrag": (0.0, 0.0, 1.0)}),
    # Yes and no get nothing for partial overlap from HotpotQA's rule, which IndexRAG does without.
    ("yes it is", ["yes"], {"minirag": (0.0, 0.0, 1.0), "kirag": (0.0, 0.0, 1.0), "indexrag": (0.0, 0.5, 1.0)}),
    # Nothing left on both sides is equal for IndexRAG.
    ("the", ["a"], {"indexrag": (1.0, 1.0, 1.0), "minirag": (1.0, 0.0, 1.0)}),
]


@pytest.mark.parametrize(("answer", "golds", "expected"), CASES)
def test_each_scores_by_its_own_rules(
    answer: str, golds: list[str], expected: dict[str, tuple[float, float, float]]
) -> None:
    for scoring in SCORINGS:
        if scoring in expected:
            rules = scorer(scoring)
            found = tuple(metric(answer, golds) for metric in (rules.exact_match, rules.f1, rules.accuracy))
            assert found == pytest.approx(expected[scoring]), scoring


def test_kirag_leaves_out_what_was_not_retrieved() -> None:
    results = (QuestionResult("q1", ranks=(1, None), documents=("d1",)), QuestionResult("q2", ranks=(None,)))
    ours = Run("films", "naive", "offline", results, 1, 1)
    assert ours.recall(5) == 0.25
    assert Run("films", "naive", "offline", results, 1, 1, {"scoring": "kirag"}).recall(5) == 0.5


def test_kirag_alone_looks_for_answers_in_titles() -> None:
    assert [name for name in SCORINGS if scorer(name).reads_titles] == ["kirag"]


def test_unknown_scoring() -> None:
    with pytest.raises(ValueError, match="unknown scoring 'best'; there are minirag, kirag, indexrag"):
        scorer("best")  # type: ignore[arg-type]
