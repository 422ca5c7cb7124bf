"""Who one is to a server: the key, headers, and what stands before the @ of an address. None of it is ever told."""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

_SHORTEST = 4  # letters of what is looked for in texts: shorter ones are in many words
_PLACEHOLDER = re.compile(  # given where a client wants a key and the server does not
    r"(?:(?:sk|my|your|fake|dummy|test|api)[-_])*(?:any(?:thing)?|change-?me|default|dummy|empty|fake|key|local|lm-?studio"
    r"|no[-_ ]?key(?:[-_]required)?|none|not[-_ ](?:needed|used|required)|null|ollama|openai|password|placeholder"
    r"|test(?:ing)?|token|true|unused|vllm|x+)",
    re.IGNORECASE,
)
_TELLING_NAME = re.compile(r"auth|key|token(?!iz)|secret|cookie|passw|credential|bearer|jwt", re.IGNORECASE)
_SCHEME = re.compile(r"\A[A-Za-z][\w-]*\s+(?=\S)")  # in front of a credential (RFC 9110)
_MOST_NESTED = 8  # mappings and lists in one another that are looked into


def split_address(address: str) -> tuple[str, str | None]:
    """An address without the credentials in it, and the header `Authorization` that they make, None without any.

    In the address they would be logged with it: httpx tells each at INFO.
    """
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return address, None
    given, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=host).geturl(), f"Basic {_encoded(given)}"


def find_secrets(
    *, key: str | None, api_base: str | None, options: Mapping[str, Any], deployments: Sequence[object] = ()
) -> tuple[str, ...]:
    """All that no message may hold, of what the user gave. What only stands in the place of a key is left out.

    Args:
        key: For the provider.
        api_base: The address; without one OPENAI_BASE_URL is looked at.
        options: What else goes with each call, headers and the like within them: what has the name of a secret is one.
        deployments: A LiteLLM router's, each with such options in `litellm_params`.
    """
    found = [key or "", *_in_address(api_base or os.environ.get("OPENAI_BASE_URL") or ""), *_in_options(options)]
    for deployment in deployments:
        given = deployment.get("litellm_params") if isinstance(deployment, Mapping) else None
        if isinstance(given, Mapping):
            found += [*_in_address(str(given.get("api_base") or "")), *_in_options(given)]
    return tuple(dict.fromkeys(value.strip() for value in found if _is_secret(value.strip())))


def _is_secret(value: str) -> bool:
    return len(value) >= _SHORTEST and not _PLACEHOLDER.fullmatch(value)


def _in_options(given: Any, *, name: str = "", depth: int = 0) -> Iterator[str]:  # noqa: ANN401
    """Whatever has the name of a secret, however deep it stands."""
    if depth > _MOST_NESTED:
        return
    if isinstance(given, Mapping):
        for within, value in given.items():
            yield from _in_options(value, name=str(within), depth=depth + 1)
    elif isinstance(given, list | tuple):
        for value in given:
            yield from _in_options(value, name=name, depth=depth + 1)
    elif isinstance(given, str) and _TELLING_NAME.search(name):
        within = _in_json(given)
        yield from _forms(given) if within is None else _in_options(within, name=name, depth=depth + 1)


def _in_json(text: str) -> Any:  # noqa: ANN401
    """What a text says as JSON, as a service account's credentials do; None where it is none."""
    try:
        within = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return within if isinstance(within, dict) else None


def _forms(value: str) -> Iterator[str]:
    """A credential as it was given, as JSON writes it, without its scheme, and the parts of which it consists."""
    yield value
    yield json.dumps(value)[1:-1]
    bare = _SCHEME.sub("", value, count=1)
    yield bare
    if value.lower().startswith("basic "):
        with suppress(ValueError):
            yield b64decode(bare, validate=True).decode().partition(":")[2]
    for part in value.split(";"):  # of a cookie
        yield part.partition("=")[2]


def _in_address(address: str) -> Iterator[str]:
    """The password as it stands there and as it is meant, and what is sent of it."""
    try:
        given = urlsplit(address).netloc.rpartition("@")[0]
    except ValueError:  # no address: the call will say so
        return
    if given:
        password = given.partition(":")[2]
        yield _encoded(given)
        yield from (password, unquote(password))


def _encoded(given: str) -> str:
    """As the scheme "Basic" of HTTP sends it (RFC 7617)."""
    user, _, password = given.partition(":")
    return b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
