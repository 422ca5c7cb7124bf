"""Which library calls a model: the openai client for OpenAI-compatible endpoints, LiteLLM for every other provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minirag.llm.catalog import read_models, read_providers


@dataclass(frozen=True, slots=True)
class Route:
    """How a model is called.

    Attributes:
        library: "openai" or "litellm".
        model: The name as that library wants it.
    """

    library: Literal["openai", "litellm"]
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
