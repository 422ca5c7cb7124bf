"""`LLM` against a real server, through the real openai client and the real LiteLLM."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from minirag.errors import LLMReplyError, LLMSetupError, LLMUnavailableError
from minirag.llm import LLM, Retries
from minirag.records import Ledger, Usage
from tests.loopback import (
    Loopback,
    Request,
    Script,
    Served,
    broken_body,
    cut,
    doubled,
    empty_choices,
    fenced,
    refusal,
    refused_parameter,
    status,
    truncated,
)

KEY = "sk-a-very-secret-key-0123456789"
QUICK = Retries(attempts=3, first_wait=0.001)
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
LITELLM = pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")


class Place(BaseModel):
    place: str
    year: int


OSLO = {"place": "Oslo", "year": 1921}


def run(
    script: Script,
    use: Callable[[LLM, Ledger], Awaitable[Any]],
    *,
    model: str = "openai/any",
    **options: Any,  # noqa: ANN401
) -> tuple[Any, Loopback, Ledger]:
    """What `use` gives, with the server and the ledger to look into."""
    options = {"api_key": KEY, "retries": QUICK, **options}

    async def use_and_close() -> Any:  # noqa: ANN401
        llm = LLM(model, api_base=server.api_base, **options)
        try:
            return await use(llm, ledger)
        finally:
            await llm.close()

    ledger = Ledger()
    with Loopback(script) as server:
        return asyncio.run(use_and_close()), server, ledger


async def text(llm: LLM, ledger: Ledger) -> str:
    return await llm.complete(ASK, task="read", ledger=ledger)


async def place(llm: LLM, ledger: Ledger) -> Place:
    return await llm.complete(ASK, reply=Place, task="read", ledger=ledger)


# --- a good answer -------------------------------------------------------------------------------------------------


def test_gives_text_and_sends_what_was_asked() -> None:
    answer, server, ledger = run([" Oslo.\n"], text, seed=7)
    (request,) = server.requests
    assert answer == "Oslo."
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "any", "messages": ASK, "temperature": 0, "seed": 7}
    usage = ledger.by_task["read"]
    assert usage == Usage(1, 100, 10, 40, None, usage.seconds)
    assert 0 < usage.seconds < 5


def test_extra_headers_and_parameters_reach_the_server() -> None:
    options: dict[str, Any] = {"extra_headers": {"X-Team": "a"}, "extra_body": {"min_p": 0.1}, "top_k": 5}
    _, server, _ = run(["Oslo"], text, **options)
    (request,) = server.requests
    assert request.headers["x-team"] == "a"
    assert request.body == {"model": "any", "messages": ASK, "temperature": 0, "top_k": 5, "min_p": 0.1}


def test_tokens_that_nobody_tells_are_unknown_not_none() -> None:
    for told in (None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}):
        _, _, ledger = run([Served(text="Oslo", usage=told)], text, prices={"openai/any": (1, 2)})
        usage = ledger.total()
        assert (usage.calls, usage.prompt_tokens, usage.uncounted, usage.cost) == (1, 0, 1, None)
    _, _, ledger = run(["Oslo"], text, prices={"openai/any": (1, 2)})
    assert ledger.total().uncounted == 0


def test_asks_for_a_schema_and_validates() -> None:
    answer, server, _ = run([OSLO], place)
    assert answer == Place(place="Oslo", year=1921)
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "Place",
            "strict": True,
            "schema": {
                "title": "Place",
                "type": "object",
                "additionalProperties": False,
                "required": ["place", "year"],
                "properties": {
                    "place": {"title": "Place", "type": "string"},
                    "year": {"title": "Year", "type": "integer"},
                },
            },
        },
    }


def test_a_server_without_key_gets_none_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    _, server, _ = run(["Oslo"], text, api_key=None)
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_embeds_in_order() -> None:
    async def embed(llm: LLM, ledger: Ledger) -> list[list[float]]:
        return await llm.embed(["one two", "two", "one two"], ledger=ledger)

    data = [{"object": "embedding", "index": i, "embedding": [i, 0.5]} for i in (2, 0, 1)]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    vectors, server, ledger = run([Served(body={"object": "list", "data": data, "model": "e", "usage": usage})], embed)
    assert vectors == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    assert server.requests[0].body == {
        "model": "any",
        "input": ["one two", "two", "one two"],
        "encoding_format": "float",
    }
    assert ledger.by_task["embed"].prompt_tokens == 5


def test_too_few_vectors_are_an_error() -> None:
    async def embed(llm: LLM, ledger: Ledger) -> list[list[float]]:
        return await llm.embed(["one", "two"], ledger=ledger)

    body = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [1.0]}], "model": "e"}
    with pytest.raises(LLMReplyError, match=r"openai/any: gave, 2 times, .*: 1 vectors for 2 texts"):
        run([Served(body=body)] * 2, embed)


# --- replies that need reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        fenced(OSLO),
        doubled(OSLO),
        Served(text='Sure: {"place": "Oslo", "year": 1921,} as asked'),
        Served(text='<think>{"place": "Rome", "year": 1}?</think>{"place": "Oslo", "year": "1921"}'),
        Served(text='{"place": "Oslo", "year": 1921'[:-4] + "1921]"),
    ],
)
def test_reads_what_is_nearly_json(reply: Served) -> None:
    answer, server, _ = run([reply], place)
    assert answer == Place(place="Oslo", year=1921)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Served(text="Oslo, I think."), "There is no JSON object in it."),
        (Served(text=""), "There is no JSON object in it."),
        (Served(text=None), "There is no JSON object in it."),
        (Served(text="[1, 2]"), "There is no JSON object in it."),
        (Served(text='{"place": 3}'), "place: Input should be a valid string; year: Field required"),
        (truncated(OSLO, finish_reason="stop"), "The JSON ends in the middle of a value."),
    ],
)
def test_repairs_once(reply: Served, problem: str) -> None:
    answer, server, ledger = run([reply, OSLO], place)
    assert answer == Place(place="Oslo", year=1921)
    *before, said, asked = server.requests[1].body["messages"]
    assert before == ASK
    assert said == {"role": "assistant", "content": (reply.text or "").strip() or "(an empty reply)"}
    assert asked["content"].startswith(f"That reply cannot be used. {problem}")
    assert ledger.by_task["read"].calls == 2


def test_gives_up_after_one_repair() -> None:
    with pytest.raises(LLMReplyError, match=r"no usable reply even after one repair attempt\. There is no JSON"):
        run(["I am sorry.", "Really sorry."], place)
    with pytest.raises(LLMReplyError, match=r"no usable reply even after one repair attempt\. It is empty\."):
        run(["", " "], text)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (refusal("I cannot."), "openai/any: refused to answer: I cannot."),
        (Served(text="half", finish_reason="content_filter"), "refused to answer: content filter"),
        (status(400, "The content was flagged", code="content_filter"), "refused to answer: The content was flagged"),
        (status(400, "maximum context length is 10 tokens"), "the prompt is too long: maximum context length"),
        (status(413, "Request too large"), "the prompt is too long: Request too large"),
        (status(422, "messages are odd"), "the request was not accepted: messages are odd"),
    ],
)
def test_what_only_this_prompt_is_refused_for_is_not_tried_again(reply: Served, reason: str) -> None:
    with pytest.raises(LLMReplyError, match=reason):
        run([reply], place)


def test_a_reply_that_was_cut_off_gets_more_room() -> None:
    answer, server, _ = run([truncated(OSLO), OSLO], place)
    assert answer == Place(place="Oslo", year=1921)
    assert [r.body.get("max_tokens") for r in server.requests] == [None, 4096]

    answer, server, _ = run([truncated(OSLO), OSLO], place, max_tokens=500)
    assert [r.body.get("max_tokens") for r in server.requests] == [500, 1000]


def test_a_reply_that_is_cut_off_twice_is_an_error_even_if_it_could_be_read() -> None:
    long = Served(text='{"place": "Oslo", "year": 1921}', finish_reason="length")
    with pytest.raises(LLMReplyError, match="the reply was cut off, with twice the tokens too"):
        run([long, long], place)


# --- what a model refuses ------------------------------------------------------------------------------------------


def test_a_refused_parameter_is_left_out_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    async def twice(llm: LLM, ledger: Ledger) -> list[str]:
        return [await text(llm, ledger), await text(llm, ledger)]

    answers, server, _ = run([refused_parameter("temperature"), "one", "two"], twice, seed=7)
    assert answers == ["one", "two"]
    assert [("temperature" in r.body, "seed" in r.body) for r in server.requests] == [
        (True, True),
        (False, True),
        (False, True),
    ]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "openai/any refuses temperature, which is left out from now on"
    ]


def test_reasoning_models_get_their_own_name_for_the_budget() -> None:
    no = status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens")
    _, server, _ = run([no, "Oslo"], text, max_tokens=50)
    assert server.requests[1].body["max_completion_tokens"] == 50
    assert "max_tokens" not in server.requests[1].body


def test_a_larger_budget_that_is_refused_ends() -> None:
    long = Served(text="half", finish_reason="length")
    script: Script = [long, refused_parameter("max_tokens"), refused_parameter("max_completion_tokens"), long]
    with pytest.raises(LLMReplyError, match="cut off"):
        run(script, text)


def test_steps_down_from_schema_to_json_to_text() -> None:
    async def twice(llm: LLM, ledger: Ledger) -> list[Place]:
        return [await place(llm, ledger), await place(llm, ledger)]

    script: Script = [
        status(400, "json_schema is not supported here"),
        status(400, "tool_choice: this model calls no functions"),
        refused_parameter("response_format"),
        OSLO,
        OSLO,
    ]
    answers, server, _ = run(script, twice)
    assert answers == [Place(place="Oslo", year=1921)] * 2
    assert [r.mode for r in server.requests] == ["json_schema", "tool", "json_object", "text", "text"]
    assert all("JSON Schema" not in request.system for request in server.requests[:2])
    for request in server.requests[2:]:
        assert request.system.startswith(
            "Be brief.\n\nReply with one JSON object and nothing else. Its JSON Schema:\n{"
        )


def test_parallel_calls_learn_a_refusal_once(caplog: pytest.LogCaptureFixture) -> None:
    def serve(request: Request) -> Served | dict[str, Any]:
        return OSLO if request.mode == "json_object" else refused_parameter("response_format")

    async def many(llm: LLM, ledger: Ledger) -> list[Place]:
        return await asyncio.gather(*(place(llm, ledger) for _ in range(8)))

    answers, _, _ = run(serve, many)
    assert answers == [Place(place="Oslo", year=1921)] * 8
    assert sum("refuses json_schema" in record.getMessage() for record in caplog.records) == 1


# --- faults that pass ----------------------------------------------------------------------------------------------

PASSING = [
    status(429, "slow down"),
    status(500),
    status(502),
    status(503),
    status(409),
    broken_body(),
    cut(),
    cut(20),
    empty_choices(),
    Served(body={"error": {"code": 502, "message": "upstream"}}),
    Served(body=[]),
    Served(body={"choices": [{"index": 0, "finish_reason": "stop", "message": None}]}),
]


@pytest.mark.parametrize("fault", PASSING)
def test_tries_again(fault: Served) -> None:
    answer, server, _ = run([fault, fault, "Oslo"], text)
    assert answer == "Oslo"
    assert len(server.requests) == 3


def test_gives_up_at_last_and_says_what_the_provider_said() -> None:
    expected = r"^openai/any: gave up after 3 attempts and 0 s of waiting: the sky is falling$"
    with pytest.raises(LLMUnavailableError, match=expected):
        run([status(503, "the sky is falling")] * 3, text)


def test_is_asked_to_wait_in_words() -> None:
    start = time.perf_counter()
    run([status(429, "Limit reached. Please try again in 400ms."), "Oslo"], text)
    assert time.perf_counter() - start > 0.4


def test_a_slow_answer_is_asked_for_again() -> None:
    answer, server, _ = run([Served(text="late", delay=3.0), "Oslo"], text, timeout=1.0)
    assert answer == "Oslo"
    assert len(server.requests) == 2


@pytest.mark.parametrize("headers", [{"Retry-After": "0.4"}, {"retry-after-ms": "400"}])
def test_waits_as_long_as_asked(headers: dict[str, str]) -> None:
    start = time.perf_counter()
    run([status(429, headers=headers), "Oslo"], text)
    assert time.perf_counter() - start > 0.4


def test_does_not_wait_for_longer_than_allowed() -> None:
    start = time.perf_counter()
    expected = "gave up after 1 attempts and 0 s of waiting, asked to wait 3600 s more: come back later"
    with pytest.raises(LLMUnavailableError, match=expected):
        run([status(429, "come back later", headers={"Retry-After": "3600"})], text)
    assert time.perf_counter() - start < 5


def test_a_call_that_waited_in_the_queue_may_still_try_again() -> None:
    async def many(llm: LLM, ledger: Ledger) -> list[str]:
        return await asyncio.gather(*(text(llm, ledger) for _ in range(4)))

    slow = [Served(text=name, delay=0.4) for name in "abc"]
    script: Script = [*slow, status(500), "d"]
    answers, _, _ = run(script, many, max_parallel=1, retries=Retries(attempts=2, seconds=1.0, first_wait=0.001))
    assert sorted(answers) == ["a", "b", "c", "d"]


# --- faults that end a run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (status(401, f"Incorrect API key provided: {KEY}"), r"Incorrect API key provided: \[key\]$"),
        (status(403, "not in your country"), "not in your country"),
        (status(404, "model 'any' not found"), r"model 'any' not found \(an api_base usually ends in /v1\)"),
        (status(402, "Insufficient Balance"), "Insufficient Balance"),
        (status(429, "check your plan", code="insufficient_quota"), "check your plan"),
        (status(400, "Your credit balance is too low"), "Your credit balance is too low"),
        (status(400, "API key not valid. Please pass a valid one"), "API key not valid"),
        (Served(body={"error": {"code": 401, "message": "No auth"}}), "No auth"),
    ],
)
def test_setup_errors_are_not_tried_again(fault: Served, reason: str) -> None:
    with pytest.raises(LLMSetupError, match=reason):
        run([fault], text)


def test_no_key_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LLMSetupError, match="openai/gpt-4o-mini: no API key: set OPENAI_API_KEY, or pass api_key="):
        asyncio.run(text(LLM("openai/gpt-4o-mini"), Ledger()))


@pytest.mark.parametrize("key", ["sk-abcdefgh ", "sk-abcdefgh\r", "sk-abc\u2026", "\u201csk-abcdefgh\u201d"])
def test_a_key_that_cannot_be_sent_is_told_at_once(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(
        LLMSetupError, match="the API key holds a blank at an end, a line break or a letter beyond ASCII"
    ):
        asyncio.run(text(LLM("openai/gpt-4o-mini", api_base="http://127.0.0.1:9"), Ledger()))


def test_neither_is_a_header_that_cannot_be_sent_tried_again() -> None:
    llm = LLM("openai/any", api_base="http://127.0.0.1:9", extra_headers={"X-Team": "K\u00f6ln"})
    with pytest.raises(LLMSetupError, match="the API key, or a header that you gave, holds a blank"):
        asyncio.run(text(llm, Ledger()))


@pytest.mark.parametrize("fault", [status(401, f"Bad key {KEY}"), status(500, f"Bad key {KEY}"), status(400, KEY)])
def test_the_key_is_nowhere(fault: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="minirag")
    with pytest.raises((LLMSetupError, LLMUnavailableError, LLMReplyError)) as caught:
        run([fault] * 3, text)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__cause__)
    told += "".join(record.getMessage() for record in caplog.records if record.name.startswith("minirag"))
    assert KEY not in told
    assert "[key]" in told
    assert repr(LLM("openai/any", api_base=f"http://user:{KEY}@host/v1", api_key=KEY)) == (
        "LLM('openai/any', api_base at host)"
    )


def test_a_key_with_a_line_break_neither_leaks_nor_breaks() -> None:
    _, server, _ = run(["Oslo"], text, api_key=f"{KEY}\n")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


# --- side by side --------------------------------------------------------------------------------------------------


def test_at_most_so_many_at_once() -> None:
    async def many(llm: LLM, ledger: Ledger) -> list[str]:
        return await asyncio.gather(*(text(llm, ledger) for _ in range(20)))

    four = threading.Barrier(4)  # none is answered before four are there

    def serve(_: Request) -> str:
        four.wait(60)
        return "Oslo"

    answers, server, ledger = run(serve, many, max_parallel=4)
    assert answers == ["Oslo"] * 20
    assert server.most_parallel == 4
    assert ledger.by_task["read"].calls == 20


def test_cancelling_stops_at_once() -> None:
    async def cancelled(llm: LLM, ledger: Ledger) -> float:
        task = asyncio.create_task(text(llm, ledger))
        await asyncio.to_thread(arrived.wait, 60)
        start = time.perf_counter()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        return time.perf_counter() - start

    arrived = threading.Event()

    def late(_: Request) -> Served:
        arrived.set()
        return Served(text="late", delay=20.0)

    seconds, _, ledger = run(late, cancelled)
    assert seconds < 2
    assert ledger.by_task == {}


# --- arguments -----------------------------------------------------------------------------------------------------


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="model must be a LiteLLM name"):
        LLM(" ")
    with pytest.raises(ValueError, match="timeout must be above 0"):
        LLM("openai/any", timeout=0)


# --- LiteLLM -------------------------------------------------------------------------------------------------------


@LITELLM
def test_litellm_speaks_for_other_providers() -> None:
    answer, server, ledger = run([OSLO], place, model="hosted_vllm/any")
    (request,) = server.requests
    assert answer == Place(place="Oslo", year=1921)
    assert (request.body["model"], request.body["temperature"], request.mode) == ("any", 0, "json_schema")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    usage = ledger.by_task["read"]
    assert usage == Usage(1, 100, 10, 40, None, usage.seconds)


@LITELLM
@pytest.mark.parametrize("fault", PASSING[:-1])
def test_litellm_faults_pass_likewise(fault: Served) -> None:
    answer, server, _ = run([fault, fault, "Oslo"], text, model="hosted_vllm/any")
    assert answer == "Oslo"
    assert len(server.requests) == 3


@LITELLM
def test_litellm_honours_retry_after() -> None:
    start = time.perf_counter()
    run([status(429, headers={"Retry-After": "0.4"}), "Oslo"], text, model="hosted_vllm/any")
    assert time.perf_counter() - start > 0.4


@LITELLM
@pytest.mark.parametrize(
    ("fault", "error", "reason"),
    [
        (
            status(401, f"Incorrect API key provided: {KEY}"),
            LLMSetupError,
            r"any: Incorrect API key provided: \[key\]$",
        ),
        (status(402, "Insufficient Balance"), LLMSetupError, "any: Insufficient Balance$"),
        (status(404, "no such model"), LLMSetupError, "any: no such model"),
        (status(429, "check it", code="insufficient_quota"), LLMSetupError, "any: check it$"),
        (status(400, "flagged", code="content_filter"), LLMReplyError, "refused to answer: flagged$"),
        (status(400, "prompt is too long"), LLMReplyError, "the prompt is too long: prompt is too long$"),
        (refusal("I cannot."), LLMReplyError, r"refused to answer: I cannot\.$"),
    ],
)
def test_litellm_errors_mean_the_same(fault: Served, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason) as caught:
        run([fault], text, model="hosted_vllm/any")
    assert KEY not in "".join(traceback.format_exception(caught.value))


@LITELLM
def test_litellm_parameters_and_modes_are_learned_likewise() -> None:
    script: Script = [refused_parameter("temperature"), status(400, "guided decoding is not supported"), OSLO]
    answer, server, _ = run(script, place, model="hosted_vllm/any")
    assert answer == Place(place="Oslo", year=1921)
    assert [(r.mode, "temperature" in r.body) for r in server.requests] == [
        ("json_schema", True),
        ("json_schema", False),
        ("tool", False),
    ]


@LITELLM
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5: .*Missing Anthropic API Key"),
        ("gemini/gemini-2.5-flash", "Missing Gemini API key"),
        ("nosuch/model", r"^nosuch/model: no provider is known by this name\. Give provider/name, .*or 'offline'\.$"),
        ("ofline", r"^ofline: no provider is known by this name\. .* Did you mean 'offline'\?$"),
    ],
)
def test_litellm_without_key_or_provider(model: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LLMSetupError, match=reason):
        asyncio.run(text(LLM(model, retries=QUICK), Ledger()))


@LITELLM
def test_litellm_embeds() -> None:
    async def embed(llm: LLM, ledger: Ledger) -> list[list[float]]:
        return await llm.embed(["one two", "two"], ledger=ledger)

    vectors, server, ledger = run([], embed, model="hosted_vllm/any")
    assert [len(vector) for vector in vectors] == [64, 64]
    assert server.requests[0].path == "/v1/embeddings"
    assert ledger.by_task["embed"].calls == 1


# --- what is imported when -----------------------------------------------------------------------------------------


def in_child(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_boundary_loads_no_heavy_library() -> None:
    heavy = "{'openai', 'litellm', 'pydantic', 'tenacity', 'json_repair', 'httpx'}"
    assert in_child(f"import sys, minirag.llm; print(sorted({heavy} & set(sys.modules)))") == "[]\n"


def test_openai_models_work_where_litellm_cannot_be_imported() -> None:
    code = """
        import asyncio, sys
        sys.modules["litellm"] = None
        from minirag.errors import LLMSetupError
        from minirag.llm import LLM
        from minirag.records import Ledger
        from tests.loopback import Loopback

        async def ask(model, **options):
            llm = LLM(model, **options)
            try:
                return await llm.complete([{"role": "user", "content": "?"}], task="read", ledger=Ledger())
            finally:
                await llm.close()

        with Loopback(["Oslo", "Rome"]) as server:
            print(asyncio.run(ask("openai/any", api_base=server.api_base)))
            print(asyncio.run(ask("hosted_vllm/any", api_base=server.api_base)))
            print(server.requests[1].body["model"], LLM("openai/gpt-4o-mini").price)
        try:
            asyncio.run(ask("anthropic/any"))
        except LLMSetupError as error:
            print(error)
    """
    assert in_child(code).splitlines() == [
        "Oslo",
        "Rome",
        "hosted_vllm/any None",
        "anthropic/any: this provider needs LiteLLM: pip install litellm",
    ]


def test_importing_litellm_leaves_the_environment_and_standard_output_alone() -> None:
    code = """
        import os
        from minirag.llm.transport import import_litellm
        before = dict(os.environ)
        litellm = import_litellm()
        added = {name for name in os.environ if "COST_MAP" in name} - set(before)
        print(sorted(added), litellm.suppress_debug_info)
    """
    assert in_child(code) == "[] True\n"


# --- what is noted -------------------------------------------------------------------------------------------------


def test_each_request_is_noted_with_its_retries() -> None:
    ledger = Ledger(keeps_calls=True)

    async def use(llm: LLM) -> None:
        try:
            await place(llm, ledger)
            await text(llm, ledger)
        finally:
            await llm.close()

    with Loopback([status(500), empty_choices(), OSLO, status(401, "Incorrect API key provided")]) as server:
        llm = LLM("openai/any", api_base=server.api_base, api_key=KEY, retries=QUICK)
        with pytest.raises(LLMSetupError, match="Incorrect API key"):
            asyncio.run(use(llm))
    first, second = ledger.calls
    assert (first.task, first.model, first.mode, first.attempts) == ("read", "openai/any", "json_schema", 3)
    assert first.usage == Usage(1, 100, 10, 40, None, first.usage.seconds)
    assert (first.error, second.error) == (None, "openai/any: Incorrect API key provided")
    assert (second.mode, second.attempts, second.usage) == ("text", 1, Usage())
    assert 0 <= first.started <= first.started + first.seconds <= second.started
