"""Keeping prompts within a model's window: how long a text is, and which of the given material stays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from minirag.llm.tokens import estimate_tokens
from minirag.records import SharedEntity

__all__ = ["count_fitting", "estimate_tokens", "fit_entity", "json_tokens", "split_fitting"]

Item = TypeVar("Item")

_SHORT = 200  # characters; a prompt that is too long with less than that is not so because of the text


def json_tokens(value: Any) -> int:  # noqa: ANN401
    """About how many tokens a value has as JSON, with the comma after it."""
    return estimate_tokens(json.dumps(value, ensure_ascii=False)) + 1


def count_fitting(items: Sequence[Any], room: int) -> int:
    """How many of the first items, each written as JSON, fit into so many tokens; at least one, if there is any."""
    left = room
    for count, item in enumerate(items):
        left -= json_tokens(item)
        if left < 0:
            return max(count, 1)
    return len(items)


def fit_entity(entity: SharedEntity, room: int) -> tuple[int, ...]:
    """The positions of the facts that fit into so many tokens, in order; at least one of each of two documents.

    All documents keep as many as each other, as far as they have them: their first ones.
    """
    places: Counter[str] = Counter()
    order: list[tuple[int, int]] = []
    for position, fact in enumerate(entity.facts):
        order.append((places[fact.document_id], position))
        places[fact.document_id] += 1
    order.sort()
    facts = [
        {"n": 1000, "document": "A", "title": entity.facts[position].title, "text": entity.facts[position].text}
        for _, position in order
    ]
    kept = order[: max(2, count_fitting(facts, room))]
    return tuple(sorted(position for _, position in kept))


def split_fitting(items: Sequence[Item], sizes: Sequence[int], room: int) -> Iterator[list[Item]]:
    """The items in runs whose sizes add up to at most `room`, in order; an item that is larger is alone."""
    run: list[Item] = []
    left = room
    for item, size in zip(items, sizes, strict=True):
        if run and size > left:
            yield run
            run, left = [], room
        run.append(item)
        left -= size
    if run:
        yield run


def halve(text: str) -> tuple[str, str] | None:
    """A text in two, where the sentence nearest its middle begins, else at a space; None when it is short already."""
    from minirag.reasoner.sentences import split_sentences

    if len(text) < _SHORT:
        return None
    middle = len(text) // 2
    starts = [start for start, _ in split_sentences(text)[1:]]
    cut = min(starts, key=lambda start: abs(start - middle), default=0)
    if not len(text) // 8 < cut < len(text) * 7 // 8:
        cut = text.rfind(" ", 0, middle) + 1 or middle
    return text[:cut].rstrip(), text[cut:]
