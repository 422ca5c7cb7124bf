"""What one test leaves behind must not steer the next."""

import sys
from collections.abc import Iterator

import pytest

from minirag.llm.transport import CALLBACKS


@pytest.fixture(autouse=True)
def _callbacks_as_they_were() -> Iterator[None]:
    """LiteLLM hangs callbacks of its own into itself, and whoever has some gets all later calls through it."""
    yield
    litellm = sys.modules.get("litellm")
    for name in CALLBACKS if litellm is not None else ():
        setattr(litellm, name, [])
