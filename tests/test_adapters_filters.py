"""Each framework's filters pass what `where` passes; Haystack's own matcher says what they mean."""

from typing import Any

import pytest

from minirag.adapters.filters import from_haystack, from_llama_index
from minirag.filtering import parse_filter
from tests.extras import need

METADATA: list[dict[str, Any]] = [
    {},
    {"year": 1920, "tenant": "a"},
    {"year": 1999.5, "tenant": "b", "author": {"name": "Ada"}},
    {"year": None, "tenant": "a", "tags": ["x", "y"]},
    {"tenant": "c", "tags": []},
]


def passing(where: dict[str, Any] | None) -> list[int]:
    parsed = parse_filter(where)
    return [place for place, metadata in enumerate(METADATA) if parsed is None or parsed.passes(metadata)]


def test_no_filter_passes_all() -> None:
    assert from_haystack(None) is from_haystack({}) is from_llama_index(None) is None


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            {"field": "meta.year", "operator": "~", "value": 1},
            "unknown operator '~'; there are ==, !=, >, >=, <, <=, in",
        ),
        ({"operator": "XOR", "conditions": []}, "unknown operator 'xor' of conditions; there are and, or, not"),
        ({"field": "meta.year", "operator": "=="}, "has no 'value'"),
        ({"conditions": []}, "has no 'operator'"),
    ],
)
def test_wrong_filters_of_haystack(filters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_haystack(filters)


YEAR = {"field": "meta.year", "operator": ">=", "value": 1920}
TENANT = {"field": "meta.tenant", "operator": "==", "value": "a"}
HAYSTACK = [
    YEAR,
    TENANT,
    {"field": "tenant", "operator": "!=", "value": "a"},
    {"field": "meta.year", "operator": "<", "value": 1920.5},
    {"field": "meta.tenant", "operator": "in", "value": ["b", "c"]},
    {"field": "meta.tenant", "operator": "not in", "value": ["b", "c"]},
    {"field": "meta.author.name", "operator": "==", "value": "Ada"},
    {"operator": "AND", "conditions": [YEAR, TENANT]},
    {"operator": "OR", "conditions": [YEAR, TENANT]},
    {"operator": "NOT", "conditions": [YEAR, TENANT]},
    {"operator": "AND", "conditions": [{"operator": "NOT", "conditions": [YEAR]}, TENANT]},
]


@pytest.mark.extra
@pytest.mark.parametrize("filters", HAYSTACK, ids=str)
def test_haystack_s_filters_mean_the_same(filters: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    haystack, matching = need("haystack"), need("haystack.utils.filters")

    documents = [haystack.Document(content="any", meta=metadata) for metadata in METADATA]
    matched = [place for place, each in enumerate(documents) if matching.document_matches_filter(filters, each)]

    assert passing(from_haystack(filters)) == matched


LLAMA_INDEX: list[tuple[dict[str, Any], list[int]]] = [
    ({"filters": [("tenant", "==", "a")]}, [1, 3]),
    ({"filters": [("tenant", "==", "a"), ("year", ">", 1900)]}, [1]),
    ({"filters": [("tenant", "==", "c"), ("year", ">", 1900)], "condition": "or"}, [1, 2, 4]),
    ({"filters": [("tenant", "==", "a")], "condition": "not"}, [0, 2, 4]),
    ({"filters": [("tenant", "nin", ["a", "b"])]}, [0, 4]),
    ({"filters": [("tags", "any", ["y", "z"])]}, [3]),
    ({"filters": [("tags", "all", ["x", "y"])]}, [3]),
    ({"filters": [("tags", "all", ["x", "z"])]}, []),
    ({"filters": [("tags", "contains", "x")]}, [3]),
    ({"filters": [("author.name", "text_match", "Ad")]}, [2]),
    ({"filters": [("tags", "is_empty", None)]}, [0, 1, 2, 4]),
    ({"filters": []}, [0, 1, 2, 3, 4]),
]


@pytest.mark.extra
@pytest.mark.parametrize(("filters", "expected"), LLAMA_INDEX, ids=str)
def test_llama_index_s_filters(filters: dict[str, Any], expected: list[int]) -> None:
    kinds = need("llama_index.core.vector_stores")
    conditions = [kinds.MetadataFilter(key=k, operator=o, value=v) for k, o, v in filters["filters"]]
    given = kinds.MetadataFilters(filters=conditions, condition=filters.get("condition", "and"))

    assert passing(from_llama_index(given)) == expected
    nested = kinds.MetadataFilters(filters=[given]) if conditions else given
    assert passing(from_llama_index(nested)) == expected


@pytest.mark.extra
def test_other_filters_of_llama_index() -> None:
    kinds = need("llama_index.core.vector_stores")
    exact = kinds.MetadataFilters(filters=[kinds.ExactMatchFilter(key="tenant", value="b")])
    insensitive = kinds.MetadataFilter(key="tenant", operator="text_match_insensitive", value="A")

    assert passing(from_llama_index(exact)) == [2]
    with pytest.raises(ValueError, match="unknown operator 'text_match_insensitive'; there are =="):
        from_llama_index(kinds.MetadataFilters(filters=[insensitive]))
