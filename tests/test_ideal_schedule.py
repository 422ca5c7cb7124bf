from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.evaluation.ideal_schedule import Turn, schedule


@pytest.mark.parametrize(
    ("chains", "seconds"),
    [
        ([], 0.0),
        ([[Turn(1)]], 1.0),
        ([[Turn(1)], [Turn(1)], [Turn(1)]], 2.0),
        ([[Turn(1), Turn(1)], [Turn(1)], [Turn(1)]], 2.0),  # what is tried again goes first
        ([[Turn(1)], [Turn(1)], [Turn(1), Turn(1)]], 3.0),  # nobody knew that the last one would fail
        ([[Turn(1, wait=3), Turn(1)], [Turn(1)], [Turn(1)]], 5.0),
        ([[Turn(1, wait=1), Turn(1)], [Turn(1)], [Turn(1)], [Turn(1)]], 3.0),  # who waits holds no slot
        ([[Turn(5)], [Turn(1)], [Turn(1)]], 5.0),
    ],
)
def test_by_hand(chains: list[list[Turn]], seconds: float) -> None:
    assert schedule(chains, slots=2) == seconds


TURNS = st.builds(Turn, st.integers(1, 5), st.integers(0, 3))


@given(st.lists(st.lists(TURNS, min_size=1, max_size=4), max_size=12), st.integers(1, 4))
def test_is_no_shorter_than_must_be_and_no_longer_than_one_after_the_other(
    chains: list[list[Turn]], slots: int
) -> None:
    seconds = schedule(chains, slots=slots)
    open_for = sum(turn.seconds for chain in chains for turn in chain)
    longest = max((sum(t.seconds for t in chain) + sum(t.wait for t in chain[:-1]) for chain in chains), default=0)
    waits = sum(turn.wait for chain in chains for turn in chain[:-1])
    assert max(math.ceil(open_for / slots), longest) <= seconds <= open_for + waits
