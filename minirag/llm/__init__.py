"""The LLM boundary: one class that calls any model, retries, reads the reply, and accounts for it."""

from __future__ import annotations

from minirag.llm.client import LLM
from minirag.llm.prices import Price
from minirag.llm.retrying import Retries
from minirag.llm.streaming import Listener

__all__ = ["LLM", "Listener", "Price", "Retries"]
