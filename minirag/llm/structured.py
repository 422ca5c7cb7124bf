"""Structured output: the schema that a provider is given, and a tolerant reading of what comes back."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

R = TypeVar("R", bound="BaseModel")

_THOUGHT = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_OPENING = re.compile(r"\{\s*(?:\"[^\"]*\"|'[^']*')\s*:")  # of an object; other braces may be prose's
_GAP = re.compile(r"\s{100,}")  # which some models write until their tokens end
_MOST_LOOKS = 3_000_000  # about a second


class UnreadableReplyError(Exception):
    """Why a reply is no object of the wanted form, in words that the model can act on."""


class _Watched(str):
    """A text of which somebody may look at characters so often, and not for ever.

    json_repair has no limit of its own (its issue 203), and what it does may grow with the square of the length: 25
    seconds for a reply of 64,000 characters with an apostrophe in every word, in which no other call would go on.
    """

    __slots__ = ("_looks",)
    _looks: list[int]

    @classmethod
    def over(cls, text: str, looks: list[int] | None = None) -> _Watched:
        watched = cls(text)
        watched._looks = [_MOST_LOOKS] if looks is None else looks
        return watched

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        found = super().__getitem__(place)
        if isinstance(place, slice):
            return _Watched.over(found, self._looks)
        self._looks[0] -= 1
        if self._looks[0] < 0:
            raise UnreadableReplyError("It is no JSON, and mending it takes too long.")
        return found

    def __add__(self, other: str) -> str:
        return _Watched.over(super().__add__(other), self._looks)


def strict_schema(reply: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a reply as OpenAI's strict mode wants it: every property required, no others allowed."""
    schema = reply.model_json_schema()
    _make_strict(schema)
    return schema


def describe_schema(reply: type[BaseModel]) -> str:
    """The same schema as one line, for a prompt."""
    return json.dumps(strict_schema(reply), ensure_ascii=False)


def read_reply(text: str, reply: type[R]) -> R:
    """Find the object of the wanted form in a model's text.

    Code fences, prose (with braces, too) and thoughts around it, trailing commas, missing closing brackets, the same
    object twice and an object that was encoded twice are tolerated. Prose alone, an object that ends in the middle of a
    value, and other types are not.

    Raises:
        UnreadableReplyError: If there is none.
    """
    from pydantic import ValidationError

    problem = "There is no JSON object in it."
    for value in reversed(_objects(text)):
        try:
            return reply.model_validate(value)
        except ValidationError as error:
            problem = _describe(error)
    raise UnreadableReplyError(problem)


def _objects(text: str) -> list[dict[str, Any]]:
    text = _behind_prose(_unquoted(_THOUGHT.sub("", text).strip()))
    if "{" not in text:
        return []
    if _is_cut(text):
        raise UnreadableReplyError("The JSON ends in the middle of a value.")
    try:
        found: Any = _mend(text)
        values = found if isinstance(found, list) else [found]
        return [_storable(value) for value in values if isinstance(value, dict)]
    except (RecursionError, ValueError) as error:
        raise UnreadableReplyError("It cannot be read as JSON.") from error


def _behind_prose(text: str) -> str:
    """From the first object on, where braces stand before it that prose has closed again."""
    found = _OPENING.search(text)
    before = text[: found.start()] if found is not None else ""
    return text[len(before) :] if "{" in before and before.count("{") == before.count("}") else text


def _mend(text: str) -> Any:  # noqa: ANN401
    import json_repair

    try:
        return json.loads(text)
    except ValueError:
        return json_repair.loads(_Watched.over(_GAP.sub(" ", text)), skip_json_loads=True)


def _unquoted(text: str) -> str:
    """The text within, where all of it is one string of JSON: some models encode their JSON once more."""
    if not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        within = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return within if isinstance(within, str) else text


def storable_text(text: str) -> str:
    """The text with halves of characters joined or, alone, replaced by U+FFFD: models write lone surrogates as escapes.

    No UTF-8 holds them, so they could neither be stored nor sent back to be repaired.
    """
    return str(text) if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _storable(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, float) and not isfinite(value):  # NaN, and 1e999, which are no JSON
        return None
    return {storable_text(key): _storable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _is_cut(text: str) -> bool:
    """Whether the text stops inside an object: after a closing bracket only further brackets can be missing."""
    text = text.rstrip().removesuffix("```").rstrip()
    if text.endswith(("}", "]")):
        return False
    depth, in_string, escaped = 0, False, False
    for character in text[text.index("{") :]:
        if in_string:
            in_string, escaped = escaped or character != '"', not escaped and character == "\\"
        elif character == '"':
            in_string = True
        else:
            depth += (character in "{[") - (character in "}]")
            if depth == 0:
                return False
    return True


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    places = (".".join(map(str, problem["loc"])) or "reply" for problem in problems)
    described = [f"{place}: {problem['msg']}" for place, problem in zip(places, problems, strict=True)]
    rest = f"; and {len(described) - 5} more" if len(described) > 5 else ""
    return "; ".join(described[:5]) + rest


def _make_strict(node: Any) -> None:  # noqa: ANN401
    if isinstance(node, dict):
        if node.get("type") == "object" and "properties" in node:
            node["additionalProperties"] = False
            node["required"] = list(node["properties"])
        node.pop("default", None)
        for value in node.values():
            _make_strict(value)
    elif isinstance(node, list):
        for value in node:
            _make_strict(value)
