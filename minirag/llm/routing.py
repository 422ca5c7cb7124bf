"""Which library calls a model: the openai client for OpenAI-compatible endpoints, LiteLLM for every other provider."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from minirag.llm.catalog import read_models, read_providers
from minirag.telemetry import OWN_FUNCTION

_UNSENDABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")  # in an address; urlsplit passes over some of it


@dataclass(frozen=True, slots=True)
class Route:
    """How a model is called.

    Attributes:
        library: "openai" or "litellm"; "router" for a LiteLLM `Router`, "function" for one of the user's.
        model: The name as that library wants it; of a router the model group.
    """

    library: Literal["openai", "litellm", "router", "function"]
    model: str


def find_route(model: str, *, api_base: str | None = None) -> Route:
    """Choose the library for a LiteLLM model name.

    `openai/NAME` goes to the openai client as NAME. With `api_base`, so does every name whose part before the first
    slash is no provider of LiteLLM's ("Qwen/Qwen3-8B" on an own server, "local"), unchanged. A bare name without
    `api_base` means what it means to LiteLLM, by its price map: "gpt-4o-mini" is OpenAI's, "claude-…" Anthropic's;
    where LiteLLM is not installed, it is OpenAI's.

    Raises:
        ValueError: If the name is blank.
    """
    if not model.strip():
        raise ValueError("model must be a LiteLLM name such as 'openai/gpt-4o-mini', not blank")
    provider, slash, name = model.partition("/")
    if slash and provider == "openai":
        return Route("openai", name)
    if api_base is not None:
        is_provider = bool(slash) and provider in read_providers()
        return Route("litellm" if is_provider else "openai", model)
    if slash:
        return Route("litellm", model)
    models = read_models()
    is_openai = not models or models.get(model, {}).get("litellm_provider") == "openai"
    return Route("openai" if is_openai else "litellm", model)


def find_provider(route: Route) -> tuple[str, str]:
    """Who serves a model, as LiteLLM calls them, and the model's name there.

    "openai" is whoever speaks OpenAI's protocol, "custom" a function of the user's, and "litellm" where LiteLLM alone
    knows: of a router's groups, and of names that its map lacks. Its answers then say it.
    """
    if route.library == "function":
        return OWN_FUNCTION, route.model
    if route.library != "litellm":
        return "litellm" if route.library == "router" else "openai", route.model
    provider, slash, name = route.model.partition("/")
    if slash:
        return provider, name
    return str(find_entry(route).get("litellm_provider") or "litellm"), route.model


def check_address(address: str) -> str:
    """The address of a server, without blanks around it.

    Raises:
        ValueError: If no call can go there; what may be a password is not repeated.
    """
    stripped = address.strip()
    try:
        parts = urlsplit(stripped)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_address = is_address and not _UNSENDABLE.search(stripped)
    except ValueError:  # a port that is none, a bracket that is not closed
        is_address = False
    if not is_address:
        given = "" if "@" in address else f", not {address!r}"
        raise ValueError(f"api_base must be an address such as 'http://localhost:8000/v1', with http or https{given}")
    return stripped


def find_host(route: Route, *, api_base: str | None = None) -> str:
    """The host of the address that calls go to, "" where the provider's own is not replaced."""
    base = find_base(route, api_base=api_base)
    return (urlsplit(base).hostname or "") if base else ""


def find_server(route: Route, *, api_base: str | None = None) -> str:
    """That host with its port, as messages name it: without what stands before an @. "" also for what is none."""
    try:
        return urlsplit(find_base(route, api_base=api_base)).netloc.rpartition("@")[2]
    except ValueError:  # of the environment: the call will say so
        return ""


def find_base(route: Route, *, api_base: str | None = None) -> str:
    """The address that calls go to, "" where the provider's own is not replaced."""
    return api_base or (os.environ.get("OPENAI_BASE_URL") if route.library == "openai" else None) or ""


def find_entry(route: Route, *, api_base: str | None = None) -> dict[str, Any]:
    """What LiteLLM's map says of a model: prices, window. Empty where it does not know it.

    Of what an OpenAI-compatible endpoint that is not OpenAI's own serves, nothing is known, whatever it is called;
    neither is of a router's groups and of functions.
    """
    if route.library in ("router", "function"):
        return {}
    host = find_host(route, api_base=api_base)
    if route.library == "openai" and host and not host.endswith("openai.com"):
        return {}
    models = read_models()
    if route.library == "openai":
        entry = models.get(route.model, {})
        return entry if entry.get("litellm_provider") == "openai" else {}
    if route.model in models:
        return models[route.model]
    provider, _, name = route.model.partition("/")
    entry = models.get(name, {})
    return entry if str(entry.get("litellm_provider", "")).startswith(provider) else {}


def find_window(route: Route, *, api_base: str | None = None) -> int | None:
    """How many tokens a prompt of a model may have, by LiteLLM's map; None where unknown."""
    known = find_entry(route, api_base=api_base).get("max_input_tokens")
    return known if isinstance(known, int) and known > 0 else None
