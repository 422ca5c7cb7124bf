"""Filters over metadata: `where={"tenant": "a", "year": {"$gte": 2000}}` as a predicate, parsed once.

The language is that of MongoDB, as vector stores have it. Where it leaves a choice:

* A key reaches into objects by dots ("author.name"), and into each object of a list. A key that itself holds dots is
  found as it stands, and comes first.
* A list matches what one of its elements matches: `{"tags": "x"}` finds `{"tags": ["x", "y"]}`.
* A missing key counts as null. `$ne`, `$nin` and `$not` are the exact opposites of `$eq`, `$in` and what is negated, so
  documents without the key pass them; `$exists` tells missing and null apart.
* `$gt` and its like compare numbers with numbers and strings with strings; all else is no match, and never an error.
* `$contains` looks for an element in a list, and for a part in a string; case counts.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minirag.json_values import Json, plain_object, same_json

Where = Mapping[str, Any]
Metadata = Mapping[str, Any]
Predicate = Callable[[Metadata], bool]
Test = Callable[[Sequence[Json]], bool]  # of the values that a key reaches, none where it is missing

_EXAMPLE = "such as {'year': {'$gte': 2000}}"


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; two are equal when they are written alike.

    Attributes:
        text: As JSON, with sorted keys.
        passes: Whether a document with these metadata does.
    """

    text: str
    passes: Predicate = field(compare=False, repr=False)


def parse_filter(where: Where | None) -> Filter | None:
    """A filter as users write it, ready to be applied.

    Args:
        where: Conditions by key, all of which must hold: a value to be equal to, or operators with their operands
            ($eq $ne $in $nin $gt $gte $lt $lte $contains $exists $not); `$and` and `$or` join a list of such filters,
            `$not` negates one.

    Returns:
        None when everything passes: for None and for an empty mapping.

    Raises:
        ValueError: If it is no mapping, an operator is unknown or its operand of the wrong type, or something in it is
            no JSON value.
    """
    if where is None:
        return None
    if not isinstance(where, Mapping):
        raise ValueError(f"where must be a mapping {_EXAMPLE}, not {where!r}")
    plain = plain_object(where, name="where")
    if not plain:
        return None
    return Filter(json.dumps(plain, ensure_ascii=False, sort_keys=True), _parse(plain, "where"))


def join_filters(first: Filter | None, second: Filter | None) -> Filter | None:
    """What passes both."""
    if first is None or second is None or first == second:
        return first or second
    return parse_filter({"$and": [json.loads(first.text), json.loads(second.text)]})


def group_of(metadata: Metadata, key: str | None) -> str:
    """What documents have in common that agree in a key, as text: equal values, or that all lack it. None is one group.

    Args:
        metadata: Of a document.
        key: As in a filter, with dots.
    """
    return "" if key is None else json.dumps(list(_reach(metadata, key)), sort_keys=True)


# --- parsing -------------------------------------------------------------------------------------------------------


def _parse(where: Json, name: str) -> Predicate:
    if not isinstance(where, dict):
        raise ValueError(f"{name} must be a mapping {_EXAMPLE}, not {where!r}")
    return _all_of([_parse_entry(key, value, name) for key, value in where.items()])


def _parse_entry(key: str, value: Json, name: str) -> Predicate:
    if key in ("$and", "$or"):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{key} in {name} takes a list of filters, at least one, not {value!r}")
        parts = [_parse(part, f"{key}[{place}]") for place, part in enumerate(value)]
        return _all_of(parts) if key == "$and" else _any_of(parts)
    if key == "$not":
        negated = _parse(value, key)
        return lambda metadata: not negated(metadata)
    if key in _OPERATORS:
        raise ValueError(f"{key} in {name} stands inside a key: write {{'year': {{{key!r}: …}}}}")
    if key.startswith("$"):
        raise ValueError(_unknown(key, name, ["$and", "$or", "$not"]))
    test = _parse_condition(value, key)
    return lambda metadata: test(list(_reach(metadata, key)))


def _parse_condition(value: Json, name: str) -> Test:
    """What a key's values must be: equal to one, or what operators say."""
    if not isinstance(value, dict) or not any(key.startswith("$") for key in value):
        return _equal_to_one([value])
    if plain := [key for key in value if not key.startswith("$")]:
        raise ValueError(f"{name} has operators beside the key {plain[0]!r}: write {f'{name}.{plain[0]}'!r} for that")
    tests = [_parse_operator(key, operand, name) for key, operand in value.items()]
    return lambda reached: all(test(reached) for test in tests)


def _parse_operator(key: str, operand: Json, name: str) -> Test:
    if key == "$not":
        negated = _parse_condition(operand, name)
        return lambda reached: not negated(reached)
    if key in ("$and", "$or"):
        raise ValueError(f"{key} stands around keys: write {{{key!r}: [{{{name!r}: …}}, …]}}")
    if key not in _OPERATORS:
        raise ValueError(_unknown(key, name, [*_OPERATORS, "$not"]))
    return _OPERATORS[key](operand, name)


def _unknown(key: str, name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    names = [name[1:] for name in (*_OPERATORS, "$and", "$or", "$not")]
    near = get_close_matches(key[1:].lower(), names, n=1)
    meant = f" Did you mean '${near[0]}'?" if near else ""
    return f"unknown operator {key!r} in {name}.{meant} There are {' '.join(known)}"


def _all_of(parts: Sequence[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else lambda metadata: all(part(metadata) for part in parts)


def _any_of(parts: Sequence[Predicate]) -> Predicate:
    return lambda metadata: any(part(metadata) for part in parts)


# --- operators -----------------------------------------------------------------------------------------------------


def _equal_to_one(wanted: Iterable[Json]) -> Test:
    """Whether a value, or an element of one, is among those wanted; scalars are looked up, however many there are."""
    scalars, others = set(), []
    for value in wanted:
        if isinstance(value, list | dict):
            others.append(value)
        else:
            scalars.add(_scalar_key(value))

    def is_wanted(value: Json) -> bool:
        if isinstance(value, list | dict):
            return any(same_json(value, other) for other in others)
        return _scalar_key(value) in scalars

    def test(reached: Sequence[Json]) -> bool:
        return any(is_wanted(value) for value in _with_elements(reached or (None,)))

    return test


def _scalar_key(value: Json) -> tuple[bool, Json]:
    """Equal for equal scalars; Python takes true for 1, JSON does not."""
    return isinstance(value, bool), value


def _eq(operand: Json, _name: str) -> Test:
    return _equal_to_one([operand])


def _ne(operand: Json, _name: str) -> Test:
    equal = _equal_to_one([operand])
    return lambda reached: not equal(reached)


def _in(operand: Json, name: str) -> Test:
    if not isinstance(operand, list):
        raise ValueError(f"$in and $nin of {name!r} take a list, not {operand!r}")
    return _equal_to_one(operand)


def _nin(operand: Json, name: str) -> Test:
    among = _in(operand, name)
    return lambda reached: not among(reached)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Json, str], Test]:
    def parse(operand: Json, name: str) -> Test:
        kind = _order_of(operand)
        if kind is None:
            raise ValueError(f"{name!r} is compared with {operand!r}: $gt, $gte, $lt, $lte take a number or a string")
        return lambda reached: any(
            _order_of(value) == kind and compare(value, operand) for value in _with_elements(reached)
        )

    return parse


def _order_of(value: Json) -> str | None:
    """Values of the same kind have an order; None for those without any."""
    if isinstance(value, str):
        return "string"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else None


def _contains(operand: Json, _name: str) -> Test:
    def holds(value: Json) -> bool:
        if isinstance(value, str):
            return isinstance(operand, str) and operand in value
        return isinstance(value, list) and any(same_json(element, operand) for element in value)

    return lambda reached: any(holds(value) for value in reached)


def _exists(operand: Json, name: str) -> Test:
    if not isinstance(operand, bool):
        raise ValueError(f"$exists of {name!r} takes true or false, not {operand!r}")
    return lambda reached: bool(reached) is operand


_OPERATORS: Mapping[str, Callable[[Json, str], Test]] = {
    "$eq": _eq,
    "$ne": _ne,
    "$in": _in,
    "$nin": _nin,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$contains": _contains,
    "$exists": _exists,
}


# --- reaching into metadata ----------------------------------------------------------------------------------------


def _reach(value: Any, path: str) -> Iterator[Json]:  # noqa: ANN401
    """The values under a key: one, or none, or of each object in a list."""
    if isinstance(value, list):
        for element in value:
            if isinstance(element, dict):
                yield from _reach(element, path)
    elif isinstance(value, Mapping):
        if path in value:
            yield value[path]
            return
        place = path.find(".")
        while place >= 0:
            if path[:place] in value:
                yield from _reach(value[path[:place]], path[place + 1 :])
            place = path.find(".", place + 1)


def _with_elements(values: Iterable[Json]) -> Iterator[Json]:
    for value in values:
        yield value
        if isinstance(value, list):
            yield from value
