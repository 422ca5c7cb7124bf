"""JSON values: what documents carry as metadata, and what filters over it are written in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MOST_NESTED = 64  # lists and objects inside each other
_LONGEST_INTEGER = 1_024  # bits; longer ones no other reader of JSON takes


def plain_json(value: object, *, name: str, depth: int = 0) -> Json:
    """A value as plain JSON of its own: tuples as lists, subclasses of str, int and float as these.

    Args:
        value: Anything.
        name: What it is called in errors, which say where in it the trouble is: "metadata.author.born".
        depth: In how many lists and objects it stands.

    Raises:
        ValueError: If something in it is no JSON value, a key is no string, a number is not finite or too long, a text
            has a lone surrogate, or it is nested more than MOST_NESTED deep.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _plain_text(value, name)
    if isinstance(value, int | float):
        return _plain_number(value, name)
    if not isinstance(value, Mapping | list | tuple):
        raise ValueError(
            f"{name} is a {type(value).__name__}, which is no JSON value: use strings, numbers, true, false, null, "
            "lists and objects (a date as a string such as '2026-03-31')"
        )
    if depth == MOST_NESTED:
        raise ValueError(f"{name[:80]}… is nested more than {MOST_NESTED} deep")
    if isinstance(value, Mapping):
        return plain_object(value, name=name, depth=depth)
    return [plain_json(item, name=f"{name}[{place}]", depth=depth + 1) for place, item in enumerate(value)]


def plain_object(value: Mapping[Any, Any], *, name: str, depth: int = 0) -> dict[str, Json]:
    """`plain_json` of a mapping."""
    return {
        _plain_key(key, name): plain_json(item, name=f"{name}.{key}", depth=depth + 1) for key, item in value.items()
    }


def same_json(first: Json, second: Json) -> bool:
    """Whether two values are equal as JSON: 1 equals 1.0, true does not equal 1, the order of keys means nothing."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same_json, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same_json(value, second[key]) for key, value in first.items())
    return first == second


def _plain_key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{name} has the key {key!r} ({type(key).__name__}); keys are strings")
    return _plain_text(key, f"a key of {name}")


def _plain_text(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise ValueError(f"{name} has a lone surrogate, {code}, at character {error.start}: replace it") from error
    return str.__str__(text)


def _plain_number(number: float, name: str) -> int | float:
    if isinstance(number, int):
        if number.bit_length() > _LONGEST_INTEGER:
            raise ValueError(f"{name} is an integer of {number.bit_length():,} bits; write it as a string")
        return int(number)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}, which is no JSON value: use null, or leave the key out")
    return float(number)
