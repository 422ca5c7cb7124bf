"""JSON files of figures, checked field by field before anything is made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from minirag.errors import InputError
from minirag.wording import reason_of

# Escapes of halves of characters, which JSON may hold and the checker does not take.
_HALVES = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def read_checked(path: Path, kind: Any, what: str) -> Any:  # noqa: ANN401
    """The JSON values of a file.

    Args:
        path: The file.
        kind: What they must be like: a type of dataclasses, lists and the like.
        what: "is no file of …", for errors.

    Raises:
        InputError: If it cannot be read or is not like that; the message names the file and the field.
    """
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {what}: {reason_of(error)}") from error
    try:
        TypeAdapter(kind).validate_json(_HALVES.sub(r"\\u003f", text), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{path}: {what}: {_spell(first['loc'])}{first['msg'].lower()}") from error
    return values


def _spell(place: tuple[int | str, ...]) -> str:
    """`runs[0].results[3].usage: `; an older pydantic also names the validator, as `json-or-python[…]`."""
    fields = [part for part in place if isinstance(part, int) or not part.endswith("]")]
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in fields)
    told = "".join(parts).lstrip(".")
    return f"{told}: " if told else ""
