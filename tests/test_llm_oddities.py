"""What servers are known to do otherwise than their interface says, each as it was reported to its maintainers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from minirag.errors import LLMReplyError
from minirag.llm import LLM, Retries
from minirag.llm.streaming import Listener
from minirag.records import Ledger
from tests.loopback import Entry, Loopback, Request, Script, Served
from tests.providers import PROVIDERS, address
from tests.test_llm import ASK, OSLO, Place, place, run, text

OBJECT = json.dumps(OSLO)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? .+ using the `ReadOnly`:UserWarning",
    "ignore:Accessing .+ attribute on the instance:DeprecationWarning",
)


def thinking(thoughts: str, *, name: str = "reasoning_content", finish_reason: str = "stop") -> Served:
    """A reply without content, as some servers send the whole of it as thoughts."""
    message = {"role": "assistant", "content": "", name: thoughts}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 900, "total_tokens": 1000}
    head = {"id": "0", "object": "chat.completion", "created": 0, "model": "any"}
    return Served(body={**head, "choices": [choice], "usage": usage})


def streamed_thinking(thoughts: str) -> Served:
    """The same in pieces."""
    head = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": "any"}
    deltas: list[dict[str, Any]] = [{"reasoning_content": thoughts[at : at + 7]} for at in range(0, len(thoughts), 7)]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {"content": ""}, "finish_reason": "stop"})
    chunks = [json.dumps({**head, "choices": [choice]}) for choice in choices]
    return Served(pieces=[f"data: {chunk}\n\n".encode() for chunk in [*chunks, "[DONE]"]])


# --- thoughts in the place of the reply (lmstudio-ai/lmstudio-bug-tracker#1602, BerriAI/litellm#38197) -------------


@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_an_object_left_among_the_thoughts_is_found(model: str) -> None:
    answer, server, ledger = run([thinking(f"Is it {{Bergen}}? No.\n{OBJECT}")], place, model=model)
    assert answer == Place(place="Oslo", year=1921)
    assert len(server.requests) == 1
    assert ledger.by_task["read"].completion_tokens == 900


def test_under_each_of_its_names() -> None:
    assert run([thinking(f"Hm.\n```json\n{OBJECT}\n```", name="reasoning")], place)[0] == Place(place="Oslo", year=1921)


def test_found_in_a_stream_too() -> None:
    async def hear(llm: LLM, ledger: Ledger) -> Place:
        listener = Listener("place", lambda _: None)
        return await llm.complete(ASK, reply=Place, task="read", ledger=ledger, listener=listener)

    answer, server, _ = run([streamed_thinking(f"Let me see. {OBJECT}")], hear)
    assert answer == Place(place="Oslo", year=1921)
    assert len(server.requests) == 1


def test_thoughts_alone_are_no_reply() -> None:
    answer, server, _ = run([thinking(f"Perhaps {OBJECT}, or not."), OBJECT], place)
    assert answer == Place(place="Oslo", year=1921)
    assert len(server.requests) == 2
    with pytest.raises(LLMReplyError, match="It is empty"):
        run([thinking(OBJECT), thinking(OBJECT)], text)


def test_thoughts_that_took_all_tokens_get_more() -> None:
    answer, server, _ = run([thinking("Let me think about", finish_reason="length"), OBJECT], place, max_tokens=900)
    assert answer == Place(place="Oslo", year=1921)
    assert [request.body["max_tokens"] for request in server.requests] == [900, 1800]


# --- a form that is silently ignored (ollama/ollama#17183) ---------------------------------------------------------


def complete(
    provider: str,
    script: Script,
    *,
    model: str | None = None,
    times: int = 1,
    **options: Any,  # noqa: ANN401
) -> list[Request]:
    """So many completions, each of which must be Oslo; gives the requests."""
    own = PROVIDERS[provider]

    async def complete_all() -> None:
        llm = LLM(
            model or own.model,
            api_base=address(server),
            api_key="secret",
            retries=Retries(attempts=2, first_wait=0.001),
            **{**own.options, **options},
        )
        for _ in range(times):
            assert await place(llm, Ledger()) == Place(place="Oslo", year=1921)

    with Loopback(script) as server:
        asyncio.run(complete_all())
    return server.requests


def ollama_form(request: Request) -> str:
    form = request.body.get("format")
    return "tool" if "tools" in request.body else "schema" if isinstance(form, dict) else form or "text"


def test_a_model_that_ignores_schemas_answers_all_the_same_and_is_soon_asked_in_words() -> None:
    """Before it is, the form is spelled out in the second request, as the prompt alone does not tell it."""

    def serve(request: Request) -> Served:
        is_told = "JSON Schema" in json.dumps(request.body["messages"])
        return PROVIDERS["ollama"].serve(request, OBJECT if is_told else "It was Oslo, in 1921.")

    requests = complete("ollama", serve, times=10)
    assert [ollama_form(request) for request in requests] == ["schema"] * 7 + ["tool"] * 8 + ["json"] * 3
    asked = [request.body["messages"][-1]["content"] for request in requests]
    assert ["JSON Schema" in content for content in asked[:4]] == [False, True, False, True]


# --- schemas that a provider does not read (BerriAI/litellm#6386, #6459) -------------------------------------------


def test_gemini_without_schemas_is_asked_for_json() -> None:
    def serve(request: Request) -> Entry:
        gemini, settings = PROVIDERS["gemini"], request.body["generationConfig"]
        for place_of_schema, sent in (("generation_config.response_schema", settings), ("tools[0]", request.body)):
            if {"response_json_schema", "response_schema", "tools"} & set(sent):
                reason = f"""Invalid JSON payload received. Unknown name "$defs" at '{place_of_schema}': Cannot find"""
                return gemini.refuse(400, reason)
        return gemini.serve(request, OBJECT)

    *_, last = complete("gemini", serve)
    assert last.body["generationConfig"]["response_mime_type"] == "application/json"
    assert "JSON Schema" in last.body["system_instruction"]["parts"][0]["text"]


# --- thinking beside a tool that must be called (BerriAI/litellm#8901) ---------------------------------------------


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "anthropic/claude-3-7-sonnet-20250219"),
        ("bedrock", "bedrock/anthropic.claude-3-7-sonnet-20250219-v1:0"),
    ],
)
def test_a_model_that_thinks_is_not_forced_to_call_a_tool(provider: str, model: str) -> None:
    def serve(request: Request) -> Entry:
        own, chosen = PROVIDERS[provider], json.dumps([request.body.get("tool_choice"), request.body.get("toolConfig")])
        if '"tool"' in chosen and "thinking" in json.dumps(request.body):
            return own.refuse(400, "Thinking may not be enabled when tool_choice forces tool use.")
        if "temperature" in json.dumps(request.body):
            return own.refuse(400, "`temperature` may only be set to 1 when thinking is enabled.")
        return own.serve(request, OBJECT)

    requests = complete(provider, serve, model=model, reasoning_effort="low", max_tokens=4000)
    assert "thinking" in json.dumps(requests[-1].body)
    assert "temperature" not in json.dumps(requests[-1].body)
