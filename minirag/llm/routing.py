"""Which library calls a model: the openai client for OpenAI-compatible endpoints, LiteLLM for every other provider."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from minirag.llm.catalog import is_registered, read_models, read_providers
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


def find_entry(
    route: Route, *, api_base: str | None = None, models: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What LiteLLM's map says of a model: prices, window. Empty where it does not know it.

    Of what an OpenAI-compatible endpoint that is not OpenAI's own serves, nothing is known, whatever it is called,
    unless the user has registered it with LiteLLM; neither is of a router's groups and of functions.

    Args:
        route: To the model.
        api_base: The address that was given for it.
        models: The map; None for what LiteLLM knows by now.
    """
    if route.library in ("router", "function"):
        return {}
    name, entry = _look_up(route, read_models() if models is None else models)
    if not entry or route.library == "litellm":
        return entry
    host = find_host(route, api_base=api_base)
    is_openai = entry.get("litellm_provider") == "openai" and (not host or host.endswith("openai.com"))
    return entry if is_openai or is_registered(name) else {}


def is_of_the_user(route: Route) -> bool:
    """Whether what LiteLLM's map says of a model was registered by the user: it holds wherever that is served."""
    name, entry = _look_up(route, read_models())
    return bool(entry) and is_registered(name)


def _look_up(route: Route, models: Mapping[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """A model's entry in the map, and under which name that is; empty where there is none."""
    if route.library == "openai":
        names = (f"openai/{route.model}", route.model)
        return next(((name, models[name]) for name in names if models.get(name)), ("", {}))
    if models.get(route.model):
        return route.model, models[route.model]
    provider, _, name = route.model.partition("/")
    entry = models.get(name, {})
    is_theirs = str(entry.get("litellm_provider", "")).startswith(provider)
    return (name, entry) if is_theirs else ("", {})


def find_window(route: Route, *, api_base: str | None = None) -> int | None:
    """How many tokens a prompt of a model may have, by LiteLLM's map; None where unknown."""
    known = find_entry(route, api_base=api_base).get("max_input_tokens")
    return known if isinstance(known, int) and known > 0 else None
