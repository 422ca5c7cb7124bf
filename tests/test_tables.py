import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.storage.tables import (
    PAGE,
    Lines,
    MultiMap,
    Pages,
    decode_numbers,
    decode_page,
    encode_numbers,
    encode_pages,
    hash_key,
    hash_keys,
    starts_of,
)
from tests.older_files import encode_lines

json_rows = st.lists(st.lists(st.one_of(st.text(), st.integers(), st.none(), st.booleans()), max_size=4), max_size=8)


@given(rows=json_rows)
def test_rows_come_back_one_by_one(rows: list[object]) -> None:
    assert list(read_pages(rows)) == rows
    block, offsets = encode_lines(rows)
    assert list(Lines(memoryview(block), np.frombuffer(offsets, "<u8"))) == rows


def read_pages(rows: list[object]) -> Pages:
    pages, table = encode_pages(rows)
    return Pages(memoryview(pages), np.frombuffer(table, "<u8"))


def test_a_row_may_hold_what_utf8_cannot() -> None:
    assert read_pages([["caf\udce9.txt", "\x00\n\u2028"]])[0] == ["caf\udce9.txt", "\x00\n\u2028"]


@pytest.mark.parametrize("length", [1, 100, PAGE - 3, PAGE, 3 * PAGE])
def test_rows_of_any_length_find_a_page(length: int) -> None:
    rows: list[object] = ["a", "b" * length, *map(str, range(2_000)), "c" * length, "d"]
    read = read_pages(rows)
    assert [read[row] for row in reversed(range(len(rows)))] == rows[::-1]
    with pytest.raises(IndexError):
        read[len(rows)]


def made_up(page: bytes, *, count: int) -> Pages:
    return Pages(memoryview(page), np.array([(0, 0, 0), (len(page), count, 0)], "<u8"))


@pytest.mark.parametrize(
    ("page", "count", "message"),
    [
        (zlib.compress(b'"a"\n' * 2 + b" " * PAGE), 2, "a page of 2 rows holds something else"),
        (zlib.compress(b'"a"\n' * 3), 2, "a page of 2 rows holds something else"),
        (zlib.compress(b'"a"\n' * 2)[:-4], 2, "a page of 2 rows holds something else"),
        (b"no page", 1, "a page cannot be inflated: "),
        (b"", 1, "a page of 1 rows holds something else"),
    ],
)
def test_a_page_that_somebody_made_up_is_refused(page: bytes, count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made_up(page, count=count)[0]
    damaged = Pages(memoryview(page), made_up(page, count=count)._table, damaged=KeyError)
    with pytest.raises(KeyError, match=message):
        damaged[0]


def test_no_page_is_inflated_beyond_what_it_may_hold() -> None:
    stream = zlib.compressobj(9)
    bomb = b"".join(stream.compress(bytes(1 << 20)) for _ in range(100)) + stream.flush()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="holds something else"):
            decode_page(bomb, 2)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(bomb)  # what is not inflated is copied
    finally:
        tracemalloc.stop()


def test_pages_are_small() -> None:
    rows: list[object] = [f"The harbour of Karsund was built in {1800 + row}." for row in range(200)]
    pages, _ = encode_pages(rows)
    assert len(pages) < sum(len(str(row)) for row in rows) / 3


@pytest.mark.parametrize(("largest", "width"), [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4)])
def test_numbers_take_as_few_bytes_as_the_largest_needs(largest: int, width: int) -> None:
    column = np.array([0, largest, 7], "<u4")
    data = encode_numbers(column)
    assert len(data) == 3 * width
    read = decode_numbers(data, 3)
    assert (read.tolist(), read.dtype) == (column.tolist(), np.dtype("<u4"))
    assert decode_numbers(column.tobytes(), 3).tolist() == column.tolist(), "as format 1 has them"


@pytest.mark.parametrize(("data", "count"), [(b"", 1), (b"abc", 2), (b"abc", 1), (b"a", 0), (bytes(8), 1)])
def test_numbers_that_do_not_fit_are_told(data: bytes, count: int) -> None:
    with pytest.raises(ValueError, match=f"{len(data)} bytes do not hold {count} numbers"):
        decode_numbers(data, count)


def test_no_numbers_take_no_bytes() -> None:
    assert encode_numbers(np.empty(0, "<u4")) == b""
    assert decode_numbers(b"", 0).tolist() == []


@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=40))
def test_a_multimap_finds_all_rows_of_a_key(pairs: list[tuple[int, int]]) -> None:
    keys = np.array([key * (1 << 61) for key, _ in pairs], "<u8")
    built = MultiMap.build(keys, np.array([row for _, row in pairs], "<u4"))
    for key in range(7):
        assert built.find(key * (1 << 61)).tolist() == sorted(row for k, row in pairs if k == key)
    asked = np.array([3 << 61, 6 << 61, 0, 3 << 61], "<u8")
    places, rows = built.find_all(asked)
    found = [(place, row) for place, key in enumerate(asked.tolist()) for row in built.find(key).tolist()]
    assert list(zip(places.tolist(), rows.tolist(), strict=True)) == found


def test_hashes_are_64_bits_and_stable() -> None:
    assert hash_key("Henry Edwards") == 0x0 + int(hash_keys(["Henry Edwards"])[0])
    assert 0 <= hash_key("") < 1 << 64


def test_starts_are_running_sums() -> None:
    assert starts_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert starts_of([]).tolist() == [0]
