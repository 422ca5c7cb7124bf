"""Who one is to a server: the key, headers, and what stands before the @ of an address. None of it is ever told."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

_SHORTEST = 4  # letters of a password that is looked for in texts: a shorter one is in many words
_TELLING_NAME = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


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
    *, key: str | None, api_base: str | None, headers: object, deployments: Sequence[object] = ()
) -> tuple[str, ...]:
    """All that no message may hold, of what the user gave.

    Args:
        key: For the provider.
        api_base: The address; without one OPENAI_BASE_URL is looked at.
        headers: Those of the user's own, by name.
        deployments: A LiteLLM router's, each with its key in `litellm_params`.
    """
    found = [key or ""]
    found += _in_address(api_base or os.environ.get("OPENAI_BASE_URL") or "")
    if isinstance(headers, Mapping):
        found += [str(value) for name, value in headers.items() if _TELLING_NAME.search(str(name))]
    for deployment in deployments:
        found += _in_deployment(deployment)
    return tuple(filter(None, found))


def _in_deployment(deployment: Any) -> Iterator[str]:  # noqa: ANN401
    given = deployment.get("litellm_params") if isinstance(deployment, Mapping) else None
    if isinstance(given, Mapping):
        yield str(given.get("api_key") or "")
        yield from _in_address(str(given.get("api_base") or ""))


def _in_address(address: str) -> Iterator[str]:
    """The password as it stands there and as it is meant, and what is sent of it."""
    try:
        given = urlsplit(address).netloc.rpartition("@")[0]
    except ValueError:  # no address: the call will say so
        return
    if given:
        password = given.partition(":")[2]
        yield _encoded(given)
        yield from (form for form in (password, unquote(password)) if len(form) >= _SHORTEST)


def _encoded(given: str) -> str:
    """As the scheme "Basic" of HTTP sends it (RFC 7617)."""
    user, _, password = given.partition(":")
    return b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
