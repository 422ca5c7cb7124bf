import json
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.json_values import MOST_NESTED, Json, plain_json, same_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@given(values)
def test_json_stays_as_it_is(value: Json) -> None:
    plain = plain_json(value, name="metadata")
    assert plain == value
    assert json.dumps(plain) == json.dumps(value)


@given(values, values)
def test_values_are_the_same_when_they_are_written_the_same(first: Json, second: Json) -> None:
    assert same_json(first, json.loads(json.dumps(first)))
    if json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True):
        assert same_json(first, second)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([1, True], [1, 1], False),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([], {}, False),
        ([1], [1, 1], False),
    ],
)
def test_sameness(first: Json, second: Json, same: bool) -> None:
    assert same_json(first, second) is same
    assert same_json(second, first) is same


def test_subclasses_become_plain() -> None:
    plain: Any = plain_json({"colour": Colour.RED, "sizes": (Size.LARGE,)}, name="metadata")
    assert plain == {"colour": "red", "sizes": [3]}
    assert (type(plain["colour"]), type(plain["sizes"][0])) == (str, int)


def nested(depth: int) -> Any:  # noqa: ANN401
    return [nested(depth - 1)] if depth else 1


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"when": b"x"}, r"metadata\.when is a bytes, which is no JSON value"),
        ({"a": [0, {"b": {1, 2}}]}, r"metadata\.a\[1\]\.b is a set, which is no JSON value"),
        ({"a": {2: 3}}, r"metadata\.a has the key 2 \(int\); keys are strings"),
        ({"\ud800": 1}, r"a key of metadata has a lone surrogate, U\+D800, at character 0"),
        ({"a": "x\ud800"}, r"metadata\.a has a lone surrogate, U\+D800, at character 1"),
        ({"a": float("inf")}, r"metadata\.a is inf, which is no JSON value"),
        ({"a": 1 << 2_000}, r"metadata\.a is an integer of 2,001 bits"),
        (nested(MOST_NESTED + 1), "is nested more than 64 deep"),
        (circle(), "is nested more than 64 deep"),
    ],
)
def test_what_is_no_json_is_named_by_its_place(value: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=message):
        plain_json(value, name="metadata")


def test_as_deep_as_it_may_be() -> None:
    assert plain_json(nested(MOST_NESTED), name="metadata") == nested(MOST_NESTED)
