"""What LiteLLM's package knows of models and providers, read from its JSON files without importing it (4 s, 190 MB)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

_PRICES = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"


def find_litellm() -> Path | None:
    """The folder of the installed LiteLLM; None where it is not installed or must not be imported."""
    try:
        spec = importlib.util.find_spec("litellm")
    except (ImportError, ValueError):
        return None
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


def read_models() -> dict[str, dict[str, Any]]:
    """LiteLLM's price map by model name: prices, limits, provider. Empty where it cannot be read."""
    return _read(_PRICES)


def read_providers() -> frozenset[str]:
    """The prefixes that LiteLLM takes for a provider, such as "anthropic". Empty where they cannot be read."""
    listed = _read(_PROVIDERS).get("providers", {})
    named = {str(entry.get("litellm_provider", "")) for entry in read_models().values()}
    return frozenset(listed) | (named - {""})


def _read(name: str) -> dict[str, Any]:
    folder = find_litellm()
    if folder is None:
        return {}
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # another release may keep it elsewhere: prices are then unknown
        return {}
    return found if isinstance(found, dict) else {}
