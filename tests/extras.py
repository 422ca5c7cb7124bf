"""Tests of extras: skipped where an extra is not installed, unless all of them must be there."""

import os
from importlib import import_module
from types import ModuleType

import pytest

REQUIRED = "MINIRAG_TEST_EXTRAS"  # the environment variable under which a missing extra fails the test


def need(module: str) -> ModuleType:
    """Import what an extra installs, or skip the test file."""
    return import_module(module) if os.environ.get(REQUIRED) else pytest.importorskip(module)
