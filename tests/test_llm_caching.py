"""Which part of a prompt Anthropic's models are told to cache."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minirag.llm import LLM
from minirag.llm.caching import wants_marks
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
    assert not wants_marks("gemini/gemini-2.5-flash")
    assert wants_marks("bedrock/eu.anthropic.claude-sonnet-4-5")


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


def test_what_claude_writes_to_its_cache_is_paid_for() -> None:
    usage = {
        "input_tokens": 300,
        "output_tokens": 50,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 1500,
    }
    name = "anthropic/claude-sonnet-4-5"

    async def ask(server: Loopback, ledger: Ledger) -> None:
        prices = {name: (3, 15, 0.3, 3.75)}
        llm = LLM(name, api_base=server.api_base.removesuffix("/v1"), api_key="k", prices=prices)
        await llm.complete(MESSAGES, task="read", ledger=ledger)
        await llm.close()

    ledger = Ledger()
    with Loopback([Served(body={**ANSWER, "usage": usage})]) as server:
        asyncio.run(ask(server, ledger))
    told = ledger.total()
    assert (told.prompt_tokens, told.cached_tokens, told.completion_tokens) == (1840, 40, 50)
    assert told.cost == pytest.approx((300 * 3 + 40 * 0.3 + 1500 * 3.75 + 50 * 15) / 1e6)
