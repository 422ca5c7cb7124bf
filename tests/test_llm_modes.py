"""How the form of a reply is asked for, and what is learned of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minirag.llm.modes import ModeMemory, first_mode
from minirag.llm.routing import find_route
from minirag.records import Ledger
from tests.loopback import Request, Served, refused_parameter
from tests.test_llm import LITELLM, OSLO, Place, place, run


def called(arguments: Any) -> Served:  # noqa: ANN401
    """A reply that calls the tool."""
    call = {"id": "1", "type": "function", "function": {"name": "Place", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return Served(body={"id": "0", "object": "chat.completion", "created": 0, "model": "any", "choices": [choice]})


@pytest.mark.parametrize(
    ("model", "mode"),
    [
        ("openai/gpt-4o-mini", "json_schema"),
        ("openai/gpt-4", "tool"),
        ("anthropic/claude-sonnet-4-5", "json_schema"),
        ("gemini/gemini-2.5-flash", "json_schema"),
        ("azure/gpt-4o", "json_schema"),
        ("ollama/llama3.1", "json_schema"),
        ("bedrock/anthropic.claude-3-5-haiku-20241022-v1:0", "tool"),
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "json_schema"),
        ("bedrock/amazon.titan-text-lite-v1", "json_object"),
        ("openai/unheard-of", "json_schema"),
    ],
)
def test_begins_with_what_litellm_knows(model: str, mode: str) -> None:
    assert first_mode(find_route(model), api_base=None) == mode


def test_an_own_server_is_asked_for_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    base = "http://127.0.0.1:9/v1"
    assert first_mode(find_route("openai/gpt-4", api_base=base), api_base=base) == "json_schema"


def no_schemas(request: Request) -> Served:
    if request.mode == "json_schema":
        return refused_parameter("response_format")
    return called(json.dumps(OSLO))


@pytest.mark.parametrize("model", ["openai/any", pytest.param("hosted_vllm/any", marks=LITELLM)])
def test_a_tool_stands_for_the_form(model: str) -> None:
    answer, server, ledger = run(no_schemas, place, model=model)
    assert answer == Place(place="Oslo", year=1921)
    body = server.requests[1].body
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Place"}}
    (tool,) = body["tools"]
    assert tool["function"]["name"] == "Place"
    assert tool["function"]["parameters"]["required"] == ["place", "year"]
    assert "response_format" not in body
    assert ledger.by_task["read"].calls == 1


def test_the_ledger_tells_the_mode() -> None:
    async def kept(llm: Any, _: Ledger) -> list[str]:  # noqa: ANN401
        ledger = Ledger(keeps_calls=True)
        await place(llm, ledger)
        return [call.mode for call in ledger.calls if call.error is None]

    assert run(no_schemas, kept)[0] == ["tool"]


def test_a_way_that_is_merely_ignored_is_left_too(caplog: pytest.LogCaptureFixture) -> None:
    def ignorant(request: Request) -> Served:
        return (
            Served(text="Oslo, I think.") if request.mode in ("json_schema", "tool") else Served(text=json.dumps(OSLO))
        )

    async def often(llm: Any, ledger: Ledger) -> list[str]:  # noqa: ANN401
        answers = []
        for _ in range(6):
            try:
                answers.append((await place(llm, ledger)).place)
            except Exception as error:  # noqa: BLE001  # counted below
                answers.append(type(error).__name__)
        return answers

    answers, server, _ = run(ignorant, often)
    assert answers == ["LLMReplyError"] * 4 + ["Oslo"] * 2
    assert [r.mode for r in server.requests] == ["json_schema"] * 4 + ["tool"] * 4 + ["json_object"] * 2
    told = [record.getMessage() for record in caplog.records if "does not keep" in record.getMessage()]
    assert told == [
        "openai/any does not keep to json_schema; asking by tool from now on",
        "openai/any does not keep to tool; asking by json_object from now on",
    ]


def test_a_broken_reply_now_and_then_changes_nothing() -> None:
    memory = ModeMemory("json_schema")
    for _ in range(100):
        assert not memory.note("json_schema", in_form=False)
        assert not memory.note("json_schema", in_form=True)
    assert not memory.note("tool", in_form=False)
    assert memory.mode == "json_schema"
    assert [memory.refuse(mode) for mode in ("tool", "json_schema", "json_schema", "tool")] == [
        False,
        True,
        False,
        True,
    ]
    assert memory.refuse("json_object")
    assert not memory.refuse("text")
