from __future__ import annotations

import pytest

from minirag.reasoner.dates import DATE, when


@pytest.mark.parametrize(
    ("text", "quoted", "moment"),
    [
        ("born 12 June 1929 in Rome", "12 June 1929", (1929, 6, 12)),
        ("on June 12, 1929.", "June 12, 1929", (1929, 6, 12)),
        ("on the 1st of May 1900", "1st of May 1900", (1900, 5, 1)),
        ("in Sept. 1871", "Sept. 1871", (1871, 9, 0)),
        ("in 1066 there", "1066", (1066, 0, 0)),
        ("in the year 843", "843", (843, 0, 0)),
    ],
)
def test_dates_are_found_as_they_are_written(text: str, quoted: str, moment: tuple[int, int, int]) -> None:
    match = DATE.search(text)
    assert match is not None
    assert (match.group(), when(match)) == (quoted, moment)


@pytest.mark.parametrize("text", ["12,500 people", "1,929", "it may be", "99 boats", "500 boats", "$1999", "300%"])
def test_other_numbers_are_no_dates(text: str) -> None:
    assert DATE.search(text) is None
