"""What one test leaves behind must not steer the next."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from minirag.llm.transport import CALLBACKS

# The same examples in every run, however slow the machine is: what fails was changed. New ones are looked for by
# `pytest --hypothesis-profile search`.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=2000)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def _callbacks_as_they_were() -> Iterator[None]:
    """LiteLLM hangs callbacks of its own into itself, and whoever has some gets all later calls through it."""
    yield
    litellm = sys.modules.get("litellm")
    for name in CALLBACKS if litellm is not None else ():
        setattr(litellm, name, [])
