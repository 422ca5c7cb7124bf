"""Which part of a prompt Anthropic's models are told to cache."""

from __future__ import annotations

import asyncio
from typing import Any

from minirag.llm import LLM
from minirag.llm.caching import mark_constant
from minirag.records import Ledger
from tests.loopback import Loopback, Served

MESSAGES = [{"role": "system", "content": "Constant."}, {"role": "user", "content": "Data."}]
ANSWER: dict[str, Any] = {
    "id": "0",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 0},
}


def test_others_cache_by_themselves() -> None:
    assert mark_constant(MESSAGES, "gemini/gemini-2.5-flash") == MESSAGES


def test_claude_is_told_over_the_wire() -> None:
    async def ask(server: Loopback) -> str:
        llm = LLM("anthropic/claude-sonnet-4-5", api_base=server.api_base.removesuffix("/v1"), api_key="k")
        try:
            return await llm.complete(MESSAGES, task="read", ledger=Ledger())
        finally:
            await llm.close()

    with Loopback([Served(body=ANSWER)]) as server:
        assert asyncio.run(ask(server)) == "Hello"
        body = server.requests[0].body
    assert body["system"] == [{"type": "text", "text": "Constant.", "cache_control": {"type": "ephemeral"}}]
    assert "cache_control" not in str(body["messages"])
