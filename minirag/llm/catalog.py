"""What LiteLLM knows of models and providers, read from its JSON files without importing it (4 s, 190 MB).

Where somebody has imported it, what it knows of models is what it has by now: its users register models of their own.
"""

from __future__ import annotations

import importlib.util
import json
import sys
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
    return _read_loaded() or read_shipped()


def read_shipped() -> dict[str, dict[str, Any]]:
    """The same as LiteLLM's package has it, whatever was registered since."""
    shipped = _read(_PRICES)
    return {
        name: shipped.get(entry["alias_of"], {}) if "alias_of" in entry else entry for name, entry in shipped.items()
    }


def is_registered(name: str) -> bool:
    """Whether LiteLLM knows a model only because its user said so (`litellm.register_model`)."""
    return name in _read_loaded() and name not in _read(_PRICES)


def read_providers() -> frozenset[str]:
    """The prefixes that LiteLLM takes for a provider, such as "anthropic". Empty where they cannot be read."""
    listed = _read(_PROVIDERS).get("providers", {})
    named = {str(entry.get("litellm_provider", "")) for entry in read_shipped().values()}
    return frozenset(listed) | (named - {""})


def _read_loaded() -> dict[str, dict[str, Any]]:
    """What LiteLLM has in memory, empty where nobody has imported it."""
    loaded = getattr(sys.modules.get("litellm"), "model_cost", None)
    return dict(loaded) if isinstance(loaded, dict) else {}


def _read(name: str) -> dict[str, Any]:
    folder = find_litellm()
    if folder is None:
        return {}
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # another release may keep it elsewhere: prices are then unknown
        return {}
    return found if isinstance(found, dict) else {}
