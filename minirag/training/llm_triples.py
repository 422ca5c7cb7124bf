"""Triples of passages that somebody else extracted, from a file."""

from __future__ import annotations

import json
from pathlib import Path

from minirag.errors import InputError
from minirag.wording import reason_of


def read_triples(path: Path) -> dict[tuple[str, str], list[str]]:
    """Read a JSON list of `{title, text, triples}`, each triple three texts.

    Returns:
        Triples as text, by title and text of their passage.

    Raises:
        InputError: If the file cannot be read or is of another form.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error
    try:
        entries = json.loads(text)
        return {(e["title"], e["text"]): [" ".join((h, r, t)) for h, r, t in e["triples"]] for e in entries}
    except (ValueError, KeyError, TypeError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: is no JSON list of objects with title, text and triples: {reason}") from error
