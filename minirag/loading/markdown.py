"""Markdown and reStructuredText: front matter into metadata, headings into places."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from minirag.loading.assembling import Converted, Outline
from minirag.loading.decoding import decoded
from minirag.loading.headings import find_headings, first_heading
from minirag.records import Place

_YAML = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)


def convert(path: Path) -> Converted:
    """The text as it is, without its front matter.

    Raises:
        InputError: If it is no Unicode, or empty.
    """
    metadata, text = split_front_matter(decoded(path.read_bytes()))
    named = metadata.pop("title", None)
    title = str(named).strip() if named else first_heading(text)
    outline = Outline(title=title)
    places: list[Place] = []
    for start, level, heading in find_headings(text):
        outline.enter(level, heading)
        if outline.path or places:
            places.append(Place(start, headings=outline.path))
    return Converted(text, title, metadata, tuple(places))


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The metadata at the head of a text, in YAML between `---` or TOML between `+++`, and the text behind it.

    What is no mapping, or cannot be parsed, is left in the text.
    """
    for pattern, parse in ((_YAML, _parse_yaml), (_TOML, _parse_toml)):
        found = pattern.match(text)
        if found:
            metadata = parse(found[1])
            if isinstance(metadata, Mapping):
                return {str(key): _plain(value) for key, value in metadata.items()}, text[found.end() :].lstrip("\n")
    return {}, text


def _parse_yaml(text: str) -> object:
    import yaml

    if any(isinstance(token, yaml.AliasToken) for token in _tokens(text)):
        return None  # a few lines of aliases can stand for any amount of memory
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date that no calendar has
        return None


def _tokens(text: str) -> list[Any]:
    import yaml

    try:
        return list(yaml.scan(text))
    except yaml.YAMLError:
        return []


def _parse_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _plain(value: object) -> object:
    """As JSON has it: dates are ISO strings, what JSON does not know is text."""
    match value:
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple() | set():
            return [_plain(inner) for inner in value]
        case datetime() | date() | time():
            return value.isoformat()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
