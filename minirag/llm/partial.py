"""One text field of a JSON object, read while the object arrives."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>")
_Characters = Generator[None, str, None]


class PartialField:
    """The text of a field of the first object in a model's reply, as far as it has arrived; of two such the first.

    Prose, with braces or without, fences and thoughts before the object are passed over. Nothing is ever taken back:
    blanks at the ends are left out, and half of a surrogate pair waits for the other. What is no JSON gives no text.
    """

    def __init__(self, field: str) -> None:
        """Wait for the object; `field` is a key of it, not of what lies deeper."""
        self._field = field
        self._found: list[str] = []
        self._blanks = ""
        self._has_begun = False
        self._reading = self._read()
        next(self._reading)

    def feed(self, text: str) -> str:
        """What a further part of the reply adds to the field."""
        for character in text:
            self._reading.send(character)
        found = "".join(self._found)
        self._found.clear()
        return self._without_blanks(found)

    def _without_blanks(self, found: str) -> str:
        """Without those at the beginning, and those at the end until something follows them."""
        text = self._blanks + found if self._has_begun else found.lstrip()
        shown = text.rstrip()
        self._blanks = text[len(shown) :]
        self._has_begun = self._has_begun or bool(shown)
        return shown

    def _read(self) -> _Characters:
        yield from _pass_over_prose()
        depth, is_key, is_new = 1, True, True
        key = yield from _read_key()
        while depth:
            character = yield
            if character == '"' and depth == 1 and is_key:
                key = yield from _read_key()
            elif character == '"':
                is_wanted = is_new and depth == 1 and key == self._field
                is_new = is_new and not is_wanted
                yield from _read_string(self._found.append if is_wanted else _drop)
            elif depth == 1 and character in ":,":
                is_key = character == ","
            else:
                depth += (character in "{[") - (character in "}]")
        while True:  # whatever follows
            yield


def _pass_over_prose() -> _Characters:
    """To behind the quote that opens an object's first key, be it not among thoughts or in braces of prose."""
    before, thought, depth, last = "", "", 0, ""
    while True:
        character = yield
        if character == ">" and not thought and (begun := _THOUGHT.fullmatch(before + character)):
            thought = begun[1]
        before += character
        if thought and not before.endswith(f"</{thought}>"):
            continue
        if thought:
            thought, depth, last = "", 0, ""
        elif character == '"' and last == "{" and depth == 1:
            return
        depth += (character == "{") - (character == "}")
        last = last if character.isspace() else character


def _read_key() -> Generator[None, str, str]:
    name: list[str] = []
    yield from _read_string(name.append)
    return "".join(name)


def _read_string(found: Callable[[str], object]) -> _Characters:
    """From behind the opening quote to the closing one."""
    high = ""  # half of a character, which is written as two escapes
    while (character := (yield)) != '"':
        if character == "\\":
            escaped = yield
            if escaped == "u":
                digits = ""
                for _ in range(4):
                    digits += yield
                character = chr(int(digits, 16)) if re.fullmatch("[0-9a-fA-F]{4}", digits) else "\ufffd"
            else:
                character = _ESCAPES.get(escaped, escaped)
        if high:
            pair = (high + character).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            high = ""
            found(pair)
        elif "\ud800" <= character <= "\udbff":
            high = character
        else:
            found("\ufffd" if "\udc00" <= character <= "\udfff" else character)
    if high:
        found("\ufffd")


def _drop(_: str) -> None:
    """Of a field that nobody waits for."""
