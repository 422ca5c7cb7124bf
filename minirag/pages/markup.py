"""HTML that cannot be broken by what stands in it: everything is escaped unless it was made here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"br", "hr", "input", "meta", "link"})
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # no HTML may hold them


class Markup(str):
    """HTML as it goes into a page. Only `element` and the files of this package make it."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | bool) -> Markup:
    """One HTML or SVG element.

    Args:
        name: Of the element.
        children: Markup as it is, any other text escaped.
        attributes: A trailing underscore is dropped (`class_`, `for_`), others become hyphens (`aria_label`). True
            stands alone, False is left out.
    """
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    inner = "".join(child if isinstance(child, Markup) else _safe(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Pieces of markup one behind the other; what is no markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _safe(part) for part in parts))


def _safe(text: str) -> str:
    return escape(_CONTROL.sub("", text))


def _attribute(name: str, value: str | int | bool) -> str:
    if value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_safe(str(value))}"'
