"""The vectors that an answer of an embedding model holds, in the shape that openai and LiteLLM share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirag.llm.faults import Fault, fault_in_answer, misshapen


def find_fault(response: Any, texts: Sequence[str]) -> Fault | None:  # noqa: ANN401
    """What is wrong with an answer that came with status 200: it holds no vectors, or not one for each of these texts.

    Whatever passes can be read by `vectors_of`.
    """
    items = getattr(response, "data", None)
    if not items:
        return fault_in_answer(getattr(response, "error", None), sent=texts)
    count = len(texts)
    if not isinstance(items, list) or len(items) != count:
        return misshapen(f"{len(items) if isinstance(items, list) else 'not'} vectors for {count} texts")
    places = [_of(item, "index") for item in items]
    if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
        return misshapen("vectors that do not say which text each is of (index)")
    if not all(map(_is_vector, (_of(item, "embedding") for item in items))):
        return misshapen("vectors that are no lists of numbers")
    return None


def vectors_of(response: Any) -> list[list[float]]:  # noqa: ANN401
    """The vectors, in the order of the texts."""
    items = sorted(response.data, key=lambda item: int(_of(item, "index")))
    return [[float(number) for number in _of(item, "embedding")] for item in items]


def _of(item: Any, name: str) -> Any:  # noqa: ANN401
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _is_vector(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a list of numbers that floats hold."""
    if not isinstance(value, list) or not all(isinstance(number, int | float) for number in value):
        return False
    try:
        return bool(list(map(float, value)))
    except OverflowError:
        return False
