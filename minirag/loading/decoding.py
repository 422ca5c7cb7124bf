"""Bytes of a file into text, of whatever Unicode coding; what is none is named with its offset."""

from __future__ import annotations

import codecs

from minirag.errors import InputError

# The longer byte order marks first: the one of UTF-32 begins with the one of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(head: bytes) -> str:
    """By the byte order mark, else UTF-8.

    Raises:
        InputError: If there is none, but a zero byte, which no text has.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise InputError(f"is a binary file: zero byte at offset {head.index(0)}")
    return "utf-8-sig"


def decoded(content: bytes) -> str:
    r"""The text, with `\n` as line ends.

    Raises:
        InputError: If it is no Unicode, or blank.
    """
    encoding = encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise not_unicode(encoding.removesuffix("-sig"), content[error.start], error.start) from error
    if "\0" in text:
        raise InputError(f"is a binary file: zero character at {text.index(chr(0))}")
    if not text.strip():
        raise InputError("is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def not_unicode(encoding: str, byte: int, offset: int) -> InputError:
    """What is said of a byte that the coding does not have."""
    return InputError(f"is not {encoding.upper()}: byte 0x{byte:02X} at offset {offset}. Convert it to UTF-8")
