import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minirag.storage.tables import MultiMap, Rows, encode_rows, hash_key, hash_keys, starts_of

json_rows = st.lists(st.lists(st.one_of(st.text(), st.integers(), st.none(), st.booleans()), max_size=4), max_size=8)


@given(rows=json_rows)
def test_rows_come_back_one_by_one(rows: list[object]) -> None:
    block, offsets = encode_rows(rows)
    read = Rows(memoryview(block), np.frombuffer(offsets, "<u8"))
    assert [read[number] for number in range(len(read))] == rows
    assert block.count(b"\n") == len(rows)


def test_a_row_may_hold_what_utf8_cannot() -> None:
    block, offsets = encode_rows([["caf\udce9.txt", "\x00\n\u2028"]])
    assert Rows(memoryview(block), np.frombuffer(offsets, "<u8"))[0] == ["caf\udce9.txt", "\x00\n\u2028"]


@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=40))
def test_a_multimap_finds_all_rows_of_a_key(pairs: list[tuple[int, int]]) -> None:
    keys = np.array([key * (1 << 61) for key, _ in pairs], "<u8")
    built = MultiMap.build(keys, np.array([row for _, row in pairs], "<u4"))
    for key in range(7):
        assert built.find(key * (1 << 61)).tolist() == sorted(row for k, row in pairs if k == key)


def test_hashes_are_64_bits_and_stable() -> None:
    assert hash_key("Henry Edwards") == 0x0 + int(hash_keys(["Henry Edwards"])[0])
    assert 0 <= hash_key("") < 1 << 64


def test_starts_are_running_sums() -> None:
    assert starts_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert starts_of([]).tolist() == [0]
