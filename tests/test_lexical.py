import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.storage.lexical import Postings, score_passages, terms_of

TEXTS = ["Henry Edwards was an actor", "Lake Lugano lies in Switzerland", "Edwards met the actor Edwards"]


def test_terms() -> None:
    assert terms_of("The directors of Naïve CAFÉS, 2001") == ["director", "naïv", "café", "2001"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("紅楼夢", ["紅楼", "楼夢"]),
        ("字", ["字"]),
        ("iPhone発売2007", ["iphon", "発売", "2007"]),
        ("Война и мир", ["война", "и", "мир"]),
        ("", []),
    ],
)
def test_terms_of_other_scripts(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_scores_are_those_of_the_formula() -> None:
    (scores,) = score_passages([Postings.build(TEXTS)], [None], "actor Edwards actor")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = (3 + 4 + 4) / 3  # "was", "an", "in" and "the" do not count

    def weight(often: int, length: int) -> float:
        return idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean))

    expected = [2 * weight(1, 3), 0.0, weight(1, 4) + weight(2, 4)]
    assert scores.tolist() == pytest.approx(expected, rel=1e-6)


def test_the_dead_do_not_count() -> None:
    alive = np.array([True, True, False])
    (scores,) = score_passages([Postings.build(TEXTS)], [alive], "actor Edwards")
    (alone,) = score_passages([Postings.build(TEXTS[:2])], [None], "actor Edwards")
    assert scores[:2].tolist() == alone.tolist()
    assert scores[2] == 0


def test_segments_score_as_one() -> None:
    (whole,) = score_passages([Postings.build(TEXTS)], [None], "actor in Switzerland")
    parts = score_passages([Postings.build(TEXTS[:1]), Postings.build(TEXTS[1:])], [None, None], "actor in Switzerland")
    assert np.concatenate(parts).tolist() == pytest.approx(whole.tolist())


@given(st.lists(st.text()), st.text())
def test_any_text(texts: list[str], query: str) -> None:
    (scores,) = score_passages([Postings.build(texts)], [None], query)
    assert scores.shape == (len(texts),)
    assert bool((scores >= 0).all())
