"""Whole pages from a body, the package's style sheets and scripts, and data."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files

from minirag.output import Target, write_text
from minirag.pages.markup import Markup, element

_FIELD = re.compile(r"\{\{(\w+)\}\}")


def build_page(
    *, title: str, body: Markup, styles: Iterable[str] = (), scripts: Sequence[str] = (), data: object = None
) -> str:
    """A whole page.

    Args:
        title: Of the window.
        body: What stands in it.
        styles: Names of style sheets in this package, on top of `style.css`.
        scripts: Names of scripts in this package; they run in this order, in one scope of their own.
        data: JSON values for them, in the element with the id "data"; None for none.
    """
    style = "\n".join(read_part(name) for name in ("style.css", *styles))
    script = f'(() => {{\n"use strict";\n{"".join(map(read_part, scripts))}}})();' if scripts else ""
    values = {
        "policy": _policy(style, script),
        "title": element("title", title),
        "style": style,
        "body": body,
        "data": _data_block(data) if data is not None else "",
        "script": f"<script>{script}</script>" if script else "",
    }
    return _FIELD.sub(lambda field: values[field[1]], read_part("page.html"))


def read_part(name: str) -> str:
    """A file of this package."""
    return files("minirag.pages").joinpath(name).read_text(encoding="utf-8")


def write_page(target: Target, page: str) -> None:
    """Write a page.

    Args:
        target: A path, or an open binary file.
        page: What `build_page` gave.

    Raises:
        OutputError: When the disk refuses; the file is then as it was.
    """
    write_text(target, page)


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, and nothing run but what stands here."""
    allowed = f"script-src '{_hash(script)}'; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _data_block(data: object) -> str:
    """JSON in which no text can end the element or open another."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json" id="data">{safe}</script>'
