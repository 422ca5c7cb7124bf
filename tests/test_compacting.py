from hypothesis import given
from hypothesis import strategies as st

from minirag.storage.compacting import FAN, count_to_merge


def append(sizes: list[int], added: int) -> int:
    """Append as the store does; gives the rows written."""
    merged = count_to_merge(sizes, added)
    written = added + sum(sizes[len(sizes) - merged :])
    sizes[len(sizes) - merged :] = [written]
    return written


def test_four_of_one_size_become_one() -> None:
    sizes: list[int] = []
    shapes = []
    for _ in range(9):
        append(sizes, 5)
        shapes.append(list(sizes))
    assert shapes[:5] == [[5], [5, 5], [5, 5, 5], [20], [20, 5]]
    assert shapes[8] == [20, 20, 5]


def test_a_large_segment_is_not_copied_for_a_small_one() -> None:
    assert count_to_merge([10_000], 5) == 0
    assert count_to_merge([10_000, 5, 5, 5], 5) == 3
    assert count_to_merge([5, 5, 5], 10_000) == 3


def test_ten_thousand_commits_copy_each_row_a_few_times() -> None:
    sizes: list[int] = []
    written = most = 0
    for _ in range(10_000):
        written += append(sizes, 10)
        most = max(most, len(sizes))
    assert sum(sizes) == 100_000
    assert written <= 8 * 100_000
    assert most <= 3 * 9


@given(added=st.lists(st.integers(0, 5_000), max_size=200))
def test_nothing_is_lost_and_few_are_left(added: list[int]) -> None:
    sizes: list[int] = []
    for rows in added:
        append(sizes, rows)
    assert sum(sizes) == sum(added)
    assert len(sizes) <= (FAN - 1) * 12
