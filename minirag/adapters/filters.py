"""Filters in the frameworks' own languages, as `where=` says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HAYSTACK = {
    **{"==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"},
    **{"in": "$in", "not in": "$nin"},
}
_LLAMA_INDEX = {
    **{"==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"},
    **{"in": "$in", "nin": "$nin", "any": "$in", "contains": "$contains", "text_match": "$contains"},
}


def from_haystack(filters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Haystack's comparisons `{field, operator, value}`, and their joins `{operator, conditions}`.

    Raises:
        ValueError: If an operator is unknown, or a part is missing.
    """
    if not filters:
        return None
    if "field" in filters:
        field, name, value = _parts(filters, "field", "operator", "value")
        key = str(field).removeprefix("meta.")
        return {key: {_known(name, _HAYSTACK): value}}
    name, conditions = _parts(filters, "operator", "conditions")
    return _joined(str(name).lower(), [from_haystack(condition) or {} for condition in conditions])


def from_llama_index(filters: Any) -> dict[str, Any] | None:  # noqa: ANN401  there is no LlamaIndex without its extra
    """LlamaIndex's `MetadataFilters`, nested ones too.

    Raises:
        ValueError: If an operator has no counterpart: matching text whatever its case.
    """
    if filters is None or not filters.filters:
        return None
    parts = [from_llama_index(each) or {} if hasattr(each, "filters") else _condition(each) for each in filters.filters]
    return _joined("and" if filters.condition is None else filters.condition.value, parts)


def _condition(condition: Any) -> dict[str, Any]:  # noqa: ANN401
    # The older ExactMatchFilter has no operator.
    name = getattr(condition, "operator", None)
    key, value = condition.key, condition.value
    operator = "==" if name is None else name.value
    if operator == "is_empty":
        return {"$or": [{key: None}, {key: []}]}  # a missing key counts as null
    if operator == "all":
        return {"$and": [{key: {"$eq": each}} for each in value]}
    return {key: {_known(operator, _LLAMA_INDEX): value}}


def _joined(name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    joins: dict[str, dict[str, Any]] = {"and": {"$and": parts}, "or": {"$or": parts}, "not": {"$not": {"$and": parts}}}
    if name not in joins:
        raise ValueError(f"unknown operator {name!r} of conditions; there are and, or, not")
    return joins[name]


def _known(name: str, operators: Mapping[str, str]) -> str:
    if name not in operators:
        raise ValueError(f"unknown operator {name!r}; there are {', '.join(operators)}")
    return operators[name]


def _parts(filters: Mapping[str, Any], *names: str) -> list[Any]:
    if missing := [name for name in names if name not in filters]:
        raise ValueError(f"the filter {dict(filters)!r} has no {missing[0]!r}")
    return [filters[name] for name in names]
