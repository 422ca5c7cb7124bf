import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.ranking import select_balanced
from minirag.records import Hit, Kind


def hit(kind: Kind, name: str, score: float, *passages: str) -> Hit:
    return Hit(kind, name, name, score, tuple(p.rpartition("#")[0] for p in passages), passages)


RANKED = [
    hit("bridge", "b1", 0.9, "a#0", "b#0"),
    hit("bridge", "b2", 0.8, "b#0", "c#0"),
    hit("fact", "f1", 0.7, "a#0"),
    hit("bridge", "b3", 0.6, "d#0", "a#0"),
    hit("fact", "f2", 0.5, "e#0"),
]


def test_at_most_so_many_bridges_are_kept() -> None:
    assert [h.id for h in select_balanced(RANKED, k=3, max_bridges=1)] == ["b1", "f1", "f2"]


def test_no_bridges_at_all() -> None:
    assert [h.id for h in select_balanced(RANKED, k=5, max_bridges=0)] == ["f1", "f2"]


def test_k_counts_everything() -> None:
    assert [h.id for h in select_balanced(RANKED, k=2, max_bridges=3)] == ["b1", "b2"]


@pytest.mark.parametrize(("k", "max_bridges", "message"), [(0, 3, "k must be at least 1"), (1, -1, "must not be neg")])
def test_impossible_numbers(k: int, max_bridges: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_balanced(RANKED, k=k, max_bridges=max_bridges)


hits = st.lists(
    st.builds(
        hit, st.sampled_from(["fact", "bridge"]), st.text(max_size=3), st.floats(-1, 1), st.sampled_from(["a#0", "b#0"])
    )
)


@given(hits, st.integers(1, 12), st.integers(0, 5))
def test_selection_is_a_subsequence_within_both_limits(ranked: list[Hit], k: int, most: int) -> None:
    kept = select_balanced(ranked, k=k, max_bridges=most)
    rest = iter(ranked)
    assert all(any(one is other for other in rest) for one in kept)
    bridges = sum(h.kind == "bridge" for h in ranked)
    assert len(kept) == min(k, len(ranked) - bridges + min(bridges, most))
    assert sum(h.kind == "bridge" for h in kept) <= most
