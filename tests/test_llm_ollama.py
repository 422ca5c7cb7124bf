"""Ollama's window: large enough for what is sent, the same from call to call, and told where it was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minirag import Index, ask, loop
from minirag.errors import PromptTooLongError
from minirag.llm import LLM
from minirag.llm.streaming import Listener
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served
from tests.providers import PROVIDERS, address
from tests.test_llm import Place

OSLO = '{"place": "Oslo", "year": 1921}'
OLLAMA = PROVIDERS["ollama"]

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? .+ using the `ReadOnly`:UserWarning",
    "ignore:Accessing .+ attribute on the instance:DeprecationWarning",
    # LiteLLM keeps connections for other loops, whose sockets the garbage collector closes.
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)


def asked(
    *prompts: str,
    model: str = OLLAMA.model,
    listener: Listener | None = None,
    counted: int = 100,
    **parameters: Any,  # noqa: ANN401
) -> list[dict[str, Any]]:
    """The options that Ollama gets with each of the prompts, of which it says to have read so many tokens."""

    def serve(request: Request) -> Served:
        whole = {**OLLAMA.reply(request, OSLO), "prompt_eval_count": counted}
        if request.body["stream"]:
            return Served(pieces=OLLAMA.stream(request, OSLO, whole), headers={"Content-Type": OLLAMA.stream_type})
        return Served(body=whole)

    async def ask_all() -> None:
        llm = LLM(model, api_base=address(server), **parameters)
        for prompt in prompts:
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
            await llm.complete(messages, reply=Place, task="read", ledger=Ledger(), listener=listener)

    with Loopback(serve) as server:
        loop.run(ask_all())
    return [request.body["options"] for request in server.requests]


@pytest.mark.parametrize("model", ["ollama/llama3.1", "ollama_chat/llama3.1"])
def test_the_window_holds_the_prompt_and_the_reply_and_never_shrinks(model: str) -> None:
    long, longer = "word " * 4000, "word " * 16000  # 5,000 and 20,000 tokens, by estimate
    windows = [options["num_ctx"] for options in asked("Where?", long, "Where?", longer, "Where?", model=model)]
    assert windows == [8192, 16384, 16384, 32768, 32768]


def test_a_streamed_reply_has_it_too() -> None:
    (options,) = asked("Where?", listener=Listener("place", lambda _: None))
    assert options["num_ctx"] == 8192


def test_a_limited_reply_needs_less() -> None:
    (options,) = asked("word " * 4000, max_tokens=400)
    assert (options["num_ctx"], options["num_predict"]) == (8192, 400)


def test_a_window_that_the_user_gives_stays_and_bounds_the_prompts() -> None:
    assert [options["num_ctx"] for options in asked("Where?", "word " * 4000, num_ctx=4096)] == [4096, 4096]
    assert LLM("ollama/any", num_ctx=4096).prompt_tokens == 3072
    assert LLM("ollama/any", num_ctx=4096, window=2000).prompt_tokens == 1500


def test_an_index_is_built_and_asked_in_one_window(tmp_path: Path) -> None:
    with (
        Loopback(OLLAMA.honest) as server,
        Index(tmp_path / "n.usearch", model=OLLAMA.model, api_base=address(server)) as index,
    ):
        index.add({"id": "a", "text": "Aylwin was directed by Henry Edwards."}, progress=False)
        ask("Who directed Aylwin?", index)
    assert {request.body["options"]["num_ctx"] for request in server.requests} == {8192}


def test_others_are_not_sent_a_window() -> None:
    with Loopback([OSLO]) as server:
        llm = LLM("openai/any", api_base=server.api_base)
        loop.run(llm.complete([{"role": "user", "content": "Where?"}], reply=Place, task="read", ledger=Ledger()))
    assert "num_ctx" not in str(server.requests[0].body)


@pytest.mark.parametrize(
    ("prompt", "counted", "told"),
    [
        ("word " * 8000, 4098, 1),  # as a window of 8,192 cuts it
        ("word " * 8000, 8000, 0),
        ("word " * 8000, 12, 0),  # all but the end was cached, and is not counted by some versions
        ("word " * 400, 400, 0),
        ("\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd" * 500, 2400, 0),
    ],
)
def test_a_prompt_that_was_cut_is_told_once(
    prompt: str, counted: int, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked(prompt, prompt, counted=counted)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == told
    assert all(f"ollama/llama3.1 read {counted:d} tokens of a prompt that has more" in each for each in warnings)
    assert all("num_ctx=16384" in each for each in warnings)


@pytest.mark.parametrize(
    "reason",
    [
        "the input length exceeds the context length",
        "the prompt is longer than the context length currently available to the model",
    ],
)
@pytest.mark.parametrize("code", [400, 413, 500])
def test_versions_that_refuse_too_long_prompts_are_understood(code: int, reason: str) -> None:
    if code == 500 and reason.startswith("the prompt"):
        pytest.skip("only ever said with a status of the client's faults")
    with Loopback(lambda _: OLLAMA.refuse(code, reason)) as server:
        llm = LLM(OLLAMA.model, api_base=address(server))
        with pytest.raises(PromptTooLongError, match=r"the prompt is too long: .*context length"):
            loop.run(llm.complete([{"role": "user", "content": "Where?"}], task="read", ledger=Ledger()))
    assert len(server.requests) == 1
