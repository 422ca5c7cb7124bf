import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.filtering import Filter, join_filters, parse_filter

FILM: dict[str, Any] = {
    "title": "Aylwin",
    "year": 1920,
    "rating": 6.5,
    "silent": True,
    "sound": None,
    "genres": ["drama", "romance"],
    "scores": [1, 9],
    "director": {"name": "Henry Edwards", "born": {"year": 1882, "place": "Weston-super-Mare"}},
    "cast": [{"name": "Chrissie White", "age": 25}, {"name": "Gerald Ames"}, "extras"],
    "imdb.id": "tt0010988",
    "a": {"b.c": 1, "b": {"c": 2}},
    "empty": [],
}


def passes(where: Any, metadata: dict[str, Any] = FILM) -> bool:  # noqa: ANN401
    parsed = parse_filter(where)
    return parsed is None or parsed.passes(metadata)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # equality
        ({"title": "Aylwin"}, True),
        ({"title": "aylwin"}, False),
        ({"year": 1920.0}, True),
        ({"year": "1920"}, False),
        ({"silent": True}, True),
        ({"silent": 1}, False),
        ({"title": {"$eq": "Aylwin"}}, True),
        ({"title": "Aylwin", "year": 1921}, False),
        ({"genres": "drama"}, True),
        ({"genres": ["drama", "romance"]}, True),
        ({"genres": ["romance", "drama"]}, False),
        ({"director.born": {"place": "Weston-super-Mare", "year": 1882}}, True),
        ({"director": {"name": "Henry Edwards"}}, False),
        ({"empty": []}, True),
        ({"empty": {}}, False),
        # null and missing
        ({"sound": None}, True),
        ({"missing": None}, True),
        ({"year": None}, False),
        ({"missing": {"$ne": None}}, False),
        ({"year": {"$ne": None}}, True),
        ({"missing": {"$in": [None, 1]}}, True),
        ({"sound": {"$exists": True}}, True),
        ({"missing": {"$exists": True}}, False),
        ({"missing": {"$exists": False}}, True),
        ({"director.born.place": {"$exists": True}}, True),
        ({"missing": {"$gt": 0}}, False),
        ({"missing": {"$lte": 0}}, False),
        ({"missing": {"$ne": 1}}, True),
        ({"missing": {"$nin": [1]}}, True),
        ({"missing": {"$contains": "x"}}, False),
        # in
        ({"year": {"$in": [1919, 1920]}}, True),
        ({"year": {"$in": []}}, False),
        ({"year": {"$nin": []}}, True),
        ({"silent": {"$in": [1]}}, False),
        ({"genres": {"$in": ["war", "romance"]}}, True),
        ({"genres": {"$nin": ["war", "romance"]}}, False),
        ({"genres": {"$ne": "drama"}}, False),
        ({"director.born": {"$in": [{"year": 1882, "place": "Weston-super-Mare"}]}}, True),
        # order
        ({"year": {"$gt": 1919, "$lt": 1921}}, True),
        ({"year": {"$gte": 1920, "$lte": 1920}}, True),
        ({"year": {"$gt": 1920}}, False),
        ({"rating": {"$gt": 6}}, True),
        ({"title": {"$gt": "A", "$lt": "B"}}, True),
        ({"title": {"$gt": 5}}, False),
        ({"title": {"$lte": 5}}, False),
        ({"year": {"$lt": "z"}}, False),
        ({"silent": {"$gt": 0}}, False),
        ({"sound": {"$lt": 1}}, False),
        ({"director": {"$gt": 0}}, False),
        ({"scores": {"$gt": 8}}, True),
        ({"scores": {"$gt": 9}}, False),
        # contains
        ({"genres": {"$contains": "drama"}}, True),
        ({"genres": {"$contains": "dra"}}, False),
        ({"title": {"$contains": "ylw"}}, True),
        ({"title": {"$contains": "YLW"}}, False),
        ({"title": {"$contains": 5}}, False),
        ({"year": {"$contains": 19}}, False),
        ({"scores": {"$contains": 9.0}}, True),
        ({"cast.name": {"$contains": "Ames"}}, True),
        # joins
        ({"$and": [{"year": 1920}, {"silent": True}]}, True),
        ({"$and": [{"year": 1920}, {"silent": False}]}, False),
        ({"$or": [{"year": 1921}, {"silent": True}]}, True),
        ({"$or": [{"year": 1921}, {"silent": False}]}, False),
        ({"$not": {"year": 1921}}, True),
        ({"$not": {"year": 1920, "silent": False}}, True),
        ({"$not": {"$or": [{"year": 1920}]}}, False),
        ({"year": {"$not": {"$gt": 1920}}}, True),
        ({"missing": {"$not": {"$gt": 1920}}}, True),
        ({"year": {"$not": 1920}}, False),
        ({"year": 1920, "$or": [{"genres": "war"}, {"genres": "drama"}]}, True),
        ({"$and": [{}]}, True),
        ({"$not": {}}, False),
        # keys
        ({"director.name": "Henry Edwards"}, True),
        ({"director.born.year": {"$lt": 1900}}, True),
        ({"director.name.first": "Henry"}, False),
        ({"cast.name": "Gerald Ames"}, True),
        ({"cast.age": {"$exists": True}}, True),
        ({"cast.age": {"$gt": 30}}, False),
        ({"imdb.id": "tt0010988"}, True),
        ({"a.b.c": 1}, True),
        ({"a.b.c": 2}, False),  # the key as it stands comes before the one by dots
        ({"": None}, True),
        ({".": None}, True),
    ],
)
def test_what_passes(where: dict[str, Any], expected: bool) -> None:
    assert passes(where) is expected


@pytest.mark.parametrize("where", [None, {}])
def test_nothing_asked_is_no_filter(where: dict[str, Any] | None) -> None:
    assert parse_filter(where) is None


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("tenant", r"where must be a mapping such as \{'year': \{'\$gte': 2000\}\}, not 'tenant'"),
        ([("a", 1)], "where must be a mapping"),
        ({1: 2}, r"where has the key 1 \(int\); keys are strings"),
        ({"a": {1, 2}}, r"where\.a is a set, which is no JSON value"),
        ({"a": {"$gt": float("nan")}}, r"where\.a\.\$gt is nan"),
        ({"year": {"$gtr": 1}}, r"unknown operator '\$gtr' in year\. Did you mean '\$gte?'\? There are \$eq \$ne"),
        ({"year": {"$GTE": 1}}, r"unknown operator '\$GTE' in year\. Did you mean '\$gte'\?"),
        ({"year": {"$regex": "x"}}, r"unknown operator '\$regex' in year\. There are \$eq"),
        ({"$nor": []}, r"unknown operator '\$nor' in where\. Did you mean '\$or'\? There are \$and \$or \$not$"),
        ({"$or": [{"$an": []}]}, r"unknown operator '\$an' in \$or\[0\]\. Did you mean '\$and'\?"),
        ({"$gt": 5}, r"\$gt in where stands inside a key: write \{'year': \{'\$gt': …\}\}"),
        ({"a": {"$or": []}}, r"\$or stands around keys: write \{'\$or': \[\{'a': …\}, …\]\}"),
        ({"a": {"$gt": 1, "b": 2}}, r"a has operators beside the key 'b': write 'a\.b' for that"),
        ({"$and": []}, r"\$and in where takes a list of filters, at least one, not \[\]"),
        ({"$or": {"a": 1}}, r"\$or in where takes a list of filters"),
        ({"$or": [1]}, r"\$or\[0\] must be a mapping"),
        ({"$not": [1]}, r"\$not must be a mapping"),
        ({"a": {"$in": "abc"}}, r"\$in and \$nin of 'a' take a list, not 'abc'"),
        ({"a": {"$nin": None}}, r"\$in and \$nin of 'a' take a list, not None"),
        ({"a": {"$gt": None}}, r"'a' is compared with None: \$gt, \$gte, \$lt, \$lte take a number or a string"),
        ({"a": {"$lt": [1]}}, r"'a' is compared with \[1\]"),
        ({"a": {"$lt": True}}, r"'a' is compared with True"),
        ({"a": {"$exists": 1}}, r"\$exists of 'a' takes true or false, not 1"),
    ],
)
def test_malformed_filters(where: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=message):
        parse_filter(where)


def test_a_filter_too_deep_is_an_error_of_its_own() -> None:
    where: dict[str, Any] = {"a": 1}
    for _ in range(2_000):
        where = {"$not": where}
    with pytest.raises(ValueError, match="is nested more than 64 deep"):
        parse_filter(where)


def test_filters_are_equal_when_they_are_written_alike() -> None:
    first, second = parse_filter({"a": 1, "b": (2,)}), parse_filter({"b": [2], "a": 1})
    assert first == second
    assert hash(first) == hash(second)
    assert first != parse_filter({"a": 1, "b": [True]})


def test_a_filter_does_not_change_with_what_it_was_made_from() -> None:
    tenants = ["a"]
    parsed = parse_filter({"tenant": {"$in": tenants}})
    tenants.append("b")
    assert isinstance(parsed, Filter)
    assert [parsed.passes({"tenant": name}) for name in "ab"] == [True, False]


def test_joined_filters_pass_what_both_pass() -> None:
    first, second = parse_filter({"a": 1}), parse_filter({"b": {"$ne": 2}})
    joined = join_filters(first, second)
    assert joined is not None
    assert [joined.passes(m) for m in ({"a": 1}, {"a": 1, "b": 2}, {"b": 1})] == [True, False, False]
    assert (join_filters(first, None), join_filters(None, second), join_filters(None, None)) == (first, second, None)


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
metadata = st.dictionaries(st.sampled_from(["a", "b", "a.b"]), values, max_size=3)
keys = st.sampled_from(["a", "b", "a.b", "a.a.b", "c"])
ordered = st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2)
conditions = st.one_of(
    values.filter(lambda value: not isinstance(value, dict)),
    st.fixed_dictionaries({}, optional={"$eq": values, "$ne": values, "$contains": values, "$exists": st.booleans()}),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), ordered)),
    st.fixed_dictionaries({}, optional={"$in": st.lists(values, max_size=3), "$nin": st.lists(values, max_size=3)}),
)
filters = st.recursive(
    st.dictionaries(keys, conditions, max_size=3),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=6,
)


@given(filters, metadata)
def test_no_filter_fails_on_any_metadata(where: dict[str, Any], found: dict[str, Any]) -> None:
    passed = passes(where, found)
    assert passes({"$not": where}, found) is not passed
    assert passes({"$and": [where, where]}, found) is passed
    assert passes(json.loads(json.dumps(where)), json.loads(json.dumps(found))) is passed


@given(keys, values, metadata)
def test_opposites(key: str, value: Any, found: dict[str, Any]) -> None:  # noqa: ANN401
    assert passes({key: {"$eq": value}}, found) is not passes({key: {"$ne": value}}, found)
    assert passes({key: {"$in": [value]}}, found) is passes({key: {"$eq": value}}, found)
    assert passes({key: {"$nin": [value]}}, found) is passes({key: {"$not": {"$in": [value]}}}, found)
