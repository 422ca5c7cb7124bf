"""What makes a document: a record of the user's turned into one, and the checks that every one passes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from xxhash import xxh3_128_hexdigest

from minirag.errors import InputError
from minirag.json_values import Json, plain_object
from minirag.records import Document, Failure, Place
from minirag.records.places import places_to_json

MAX_ID_LENGTH = 1024
MAX_METADATA = 1_000_000  # bytes of JSON
RECORD_KEYS = ("id", "title", "text", "metadata")


def check(document: Document) -> Document:
    """Make sure that a document can be stored and found again.

    Returns:
        The document, its metadata as plain JSON values of their own.

    Raises:
        InputError: If the id is no string of 1 to 1,024 characters, the text is blank, the metadata are no JSON object
            (see `minirag.json_values.plain_json`) or take more than 1 MB, the places do not ascend within the text,
            something is of the wrong type, or holds a lone surrogate, which no UTF-8 can store.
    """
    _check_string("id", document.id)
    _check_string("title", document.title)
    _check_string("text", document.text)
    for name, value in (("id", document.id), ("text", document.text)):
        if not value.strip():
            raise InputError(f"{name} is blank")
    if len(document.id) > MAX_ID_LENGTH:
        raise InputError(f"id has {len(document.id):,} characters, at most {MAX_ID_LENGTH:,} are allowed")
    _check_places(document)
    _check_string("source", document.source)
    metadata = _plain_json(document.metadata)
    return Document(document.id, document.text, document.title, metadata, tuple(document.places), document.source)


def content_hash(document: Document) -> str:
    """32 hexadecimal digits that change with title, text, metadata or places, not with the order of metadata's keys."""
    parts = document.title, document.text, dict(document.metadata)
    return _hash(*parts, places_to_json(document.places)) if document.places else _hash(*parts)


def document_from(record: object, *, place: str) -> Document | Failure:
    """A record (see `load`) as a checked document, or why it is none.

    Args:
        record: A `Document` or a mapping; anything else is a failure.
        place: Where it stands; the failure's name where the record has no usable id.
    """
    try:
        return check(record if isinstance(record, Document) else _from_mapping(record))
    except InputError as error:
        identity = _identity(record)
        return Failure(identity, f"{error} ({place})") if identity else Failure(place, str(error))


def storable(text: str) -> str:
    r"""The text with whatever UTF-8 cannot hold written out, as `\udce9`."""
    return text.encode("utf-8", "backslashreplace").decode()


def _identity(record: object) -> str:
    """The record's id if a failure can be named after it, else an empty string."""
    found = record.id if isinstance(record, Document) else record.get("id") if isinstance(record, Mapping) else None
    name = storable(str(found)) if isinstance(found, str | int) else ""
    return name if name.strip() and len(name) <= MAX_ID_LENGTH else ""


def _from_mapping(record: object) -> Document:
    if not isinstance(record, Mapping):
        raise InputError(f"a document must be an object with 'text', not {_type_name(record)}")
    if "text" not in record:
        keys = ", ".join(repr(key) for key in list(record)[:8])
        raise InputError(f"has no 'text', only {keys}" if keys else "is an empty object")
    metadata = record.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InputError(f"metadata must be an object, not {_type_name(metadata)}")
    others = {key: value for key, value in record.items() if key not in RECORD_KEYS}
    title = _string("title", record.get("title", ""), default="")
    text = _check_string("text", record["text"])
    identity = _string("id", record.get("id"), default=f"text-{_hash(title, text)[:16]}")
    return Document(identity, text, title, {**others, **(metadata or {})})


def _string(name: str, value: object, *, default: str) -> str:
    if value is None:
        return default
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _check_string(name, value)


def _check_string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {_type_name(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(value[error.start]):04X}"
        raise InputError(f"{name} has a lone surrogate, {code}, at character {error.start}: replace it") from error
    return value


def _check_places(document: Document) -> None:
    before = 0
    for place in document.places:
        if not isinstance(place, Place):
            raise InputError(f"places must be `Place`s, not {_type_name(place)}")
        if not isinstance(place.start, int) or not isinstance(place.number, int):
            raise InputError("a place's start and number must be whole numbers")
        if not before <= place.start <= len(document.text):
            raise InputError(f"places must ascend within the text: {place.start:,} does not")
        before = place.start
        for name in (place.unit, *place.headings):
            _check_string("a place's name", name)


def _plain_json(metadata: object) -> dict[str, Json]:
    if not isinstance(metadata, Mapping):
        raise InputError(f"metadata must be an object, not {_type_name(metadata)}")
    try:
        plain = plain_object(metadata, name="metadata")
    except ValueError as error:
        raise InputError(str(error)) from error
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > MAX_METADATA:
        raise InputError(f"metadata take {size:,} bytes, at most {MAX_METADATA:,} are allowed: keep the rest elsewhere")
    return plain


def _hash(*parts: object) -> str:
    return xxh3_128_hexdigest(json.dumps(parts, sort_keys=True).encode())


def _type_name(value: object) -> str:
    return "null" if value is None else type(value).__name__
