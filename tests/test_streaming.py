"""Answers whose text comes while the model writes it, over a real server that sends events."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag import Document, Index, ask, astream, stream
from minirag.errors import BudgetExceededError, LLMReplyError, LLMSetupError, LLMUnavailableError
from minirag.llm import Retries
from minirag.llm.transport import import_litellm
from minirag.streaming import split_words
from tests.loopback import Entry, Loopback, Request, Script, Served, honest, refused_parameter, status

AYLWIN = Document("aylwin", "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards")
QUESTION = "Where was the director of the film Aylwin born?"
REPLY = {"found": True, "answer": "Henry Edwards was born in Weston-super-Mare, in Somerset.", "items": [2]}
TEXT = json.dumps(REPLY)


LITELLM = pytest.mark.filterwarnings(
    "ignore:Items? .+ using the `ReadOnly`:UserWarning",
    "ignore:Accessing .+ attribute on the instance:DeprecationWarning",
)


@pytest.fixture(scope="module", autouse=True)
def litellm_is_there() -> None:
    """Its import takes seconds, which are no part of a call."""
    import_litellm()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streaming") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add([AYLWIN, HENRY], progress=False)
    return path


def opened(path: Path, server: Loopback, model: str = "openai/any", **options: object) -> Index:
    retries = Retries(attempts=3, first_wait=0.001)
    options = {"api_base": server.api_base, "api_key": "secret", "mode": "r", "retries": retries, **options}
    return Index(path, model=model, **options)  # type: ignore[arg-type]


def told(path: Path, script: Script, model: str = "openai/any") -> tuple[list[str], object, Loopback]:
    with Loopback(script) as server, opened(path, server, model) as index:
        answering = stream(QUESTION, index)
        pieces = list(answering)
        return pieces, answering.answer, server


# --- the text comes while it is written ----------------------------------------------------------------------------


@LITELLM
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_pieces_come_as_they_are_sent_and_make_the_answer(path: Path, model: str) -> None:
    with Loopback([Served(text=TEXT, piece_delay=0.06)]) as server, opened(path, server, model) as index:
        started, times, pieces = time.monotonic(), [], []
        answering = stream(QUESTION, index)
        with pytest.raises(RuntimeError, match="the answer is whole only once its text has been iterated over"):
            answering.answer  # noqa: B018
        for piece in answering:
            times.append(time.monotonic() - started)
            pieces.append(piece)
        answer = answering.answer
        assert ask(QUESTION, path, model="offline").question == answer.question
    assert len(pieces) > 5
    assert times[-1] - times[0] > 0.1
    assert "".join(pieces) == answer.text == REPLY["answer"]
    assert (answer.found, answer.used) == (True, (1,))
    assert {c.passage_id for c in answer.citations} == set(answer.evidence[1].passage_ids)
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.cached_tokens) == (1, 100, 40)
    (request,) = server.requests
    assert (request.body["stream"], request.body["stream_options"]) == (True, {"include_usage": True})
    assert request.mode == "json_schema"


@LITELLM
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_a_tools_arguments_come_in_pieces_too(path: Path, model: str) -> None:
    pieces, answer, server = told(path, [refused_parameter("response_format"), TEXT], model)
    assert "".join(pieces) == answer.text == REPLY["answer"]  # type: ignore[attr-defined]
    assert len(pieces) > 5
    assert [request.mode for request in server.requests] == ["json_schema", "tool"]


def test_awaited_on_the_readers_own_loop(path: Path) -> None:
    async def main(server: Loopback) -> tuple[str, str]:
        with opened(path, server) as index:
            answering = astream(QUESTION, index)
            text = "".join([piece async for piece in answering])
            return text, answering.answer.text

    with Loopback([TEXT]) as server:
        assert asyncio.run(main(server)) == (REPLY["answer"], REPLY["answer"])


def test_offline_the_words_come_once_they_are_known(path: Path) -> None:
    answering = stream(QUESTION, path, model="offline")
    assert list(answering) == ["Weston-super-Mare"]
    assert answering.answer.text == "Weston-super-Mare"
    assert answering.answer.citations
    assert next(answering, None) is None


def test_what_was_not_found_is_told_too(path: Path) -> None:
    pieces, answer, _ = told(path, [json.dumps({"found": False, "answer": "It is not said.", "items": []})])
    assert "".join(pieces) == "It is not said."
    assert not answer.found  # type: ignore[attr-defined]
    pieces, _, _ = told(path, [json.dumps({"found": False, "answer": "", "items": []})])
    assert "".join(pieces) == "The context does not hold the answer."


def test_nothing_is_asked_before_the_first_piece_is_wanted(path: Path) -> None:
    with Loopback([]) as server, opened(path, server) as index:
        stream(QUESTION, index)
        stream(QUESTION, index).close()
        with stream(QUESTION, index):
            pass
        assert server.requests == []


# --- providers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ([refused_parameter("stream"), TEXT], [True, False]),
        ([status(400, "Streaming is not supported for this model"), TEXT], [True, False]),
        ([refused_parameter("stream_options"), Served(text=TEXT, usage=None)], [True, True]),
        ([Served(text=TEXT, streams=False)], [True]),
        ([status(500), status(429), TEXT], [True, True, True]),
        ([Served(text=TEXT, cut_after_pieces=3), TEXT], [True, True]),
        ([Served(text="I lost the thread."), TEXT], [True, True]),
    ],
)
def test_refusals_and_faults_before_the_first_piece(path: Path, script: list[Entry], asked: list[bool]) -> None:
    pieces, answer, server = told(path, script)
    assert "".join(pieces) == answer.text == REPLY["answer"]  # type: ignore[attr-defined]
    assert [bool(request.body.get("stream")) for request in server.requests] == asked


def test_a_refusal_is_remembered(path: Path) -> None:
    def serve(request: Request) -> Served:
        return refused_parameter("stream") if "stream" in request.body else Served(text=TEXT)

    with Loopback(serve) as server, opened(path, server) as index:
        assert ["".join(stream(QUESTION, index)) for _ in range(2)] == [REPLY["answer"]] * 2
        assert len(server.requests) == 3


@LITELLM
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_a_stream_that_breaks_off_in_the_middle_is_not_tried_again(path: Path, model: str) -> None:
    pieces: list[str] = []
    with Loopback([Served(text=TEXT, cut_after_pieces=9), TEXT]) as server, opened(path, server, model) as index:
        answering = stream(QUESTION, index)
        with pytest.raises(LLMUnavailableError, match="the reply broke off in the middle"):
            pieces.extend(answering)
        assert len(server.requests) == 1
        assert next(answering, None) is None
    assert str(REPLY["answer"]).startswith("".join(pieces))
    assert pieces


def test_a_reply_that_cannot_be_used_is_repaired(path: Path) -> None:
    broken = TEXT.replace("[2]", '"two"')
    pieces, answer, server = told(path, [broken, TEXT])
    assert "".join(pieces) == answer.text == REPLY["answer"]  # type: ignore[attr-defined]
    assert [bool(request.body.get("stream")) for request in server.requests] == [True, False]


@pytest.mark.parametrize(
    "reply",
    [
        f"{TEXT.replace(str(REPLY['answer']), 'a first draft')} No, wait. {TEXT}",
        TEXT.replace('"answer":', '"answer": "a first draft", "answer":'),
    ],
)
def test_of_two_answers_the_first_is_told_and_the_last_is_the_text(path: Path, reply: str) -> None:
    pieces, answer, _ = told(path, [reply])
    assert "".join(pieces) == "a first draft"
    assert answer.text == REPLY["answer"]  # type: ignore[attr-defined]
    with Loopback([reply]) as server, opened(path, server) as index:
        assert ask(QUESTION, index).text == REPLY["answer"]


@pytest.mark.parametrize(
    ("first", "middle", "last"),
    [
        (None, {"prompt_tokens": 90, "completion_tokens": 5}, {"prompt_tokens": 0, "completion_tokens": 0}),
        ({"prompt_tokens": 90, "completion_tokens": 0}, None, {"completion_tokens": 5}),
        ({"prompt_tokens": 90}, {"prompt_tokens": 90, "completion_tokens": 4}, {"completion_tokens": 5}),
        ({"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 40}}, "none", {"completion_tokens": 5}),
    ],
)
def test_what_the_pieces_of_a_stream_say_of_tokens_is_taken_together(
    path: Path, first: object, middle: object, last: object
) -> None:
    def chunk(usage: object, *choices: dict[str, object]) -> bytes:
        body = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices}
        return f"data: {json.dumps({**body, 'usage': usage})}\n\n".encode()

    pieces = [
        chunk(first, {"index": 0, "delta": {"content": TEXT}, "finish_reason": None}),
        chunk(middle, {"index": 0, "delta": {}, "finish_reason": "stop"}),
        chunk(last),
        b"data: [DONE]\n\n",
    ]
    _, answer, _ = told(path, [Served(pieces=pieces)])
    usage = answer.usage  # type: ignore[attr-defined]
    cached = 40 if "details" in str(first) else 0
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.uncounted) == (90, 5, cached, 0)


def test_a_reply_that_was_cut_off_goes_on_where_it_ended(path: Path) -> None:
    half = Served(text=TEXT[:50], finish_reason="length")
    pieces, answer, _ = told(path, [half, TEXT])
    assert "".join(pieces) == answer.text == REPLY["answer"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ([status(401, "Incorrect API key provided")], LLMSetupError, "Incorrect API key provided"),
        ([Served(refusal="I will not.")], LLMReplyError, "refused to answer: I will not."),
        ([Served(text="no", finish_reason="content_filter")], LLMReplyError, "refused to answer"),
    ],
)
def test_errors_are_those_of_ask(path: Path, script: list[Entry], error: type[Exception], message: str) -> None:
    for use in (stream, ask):
        with (
            Loopback(script) as server,
            opened(path, server) as index,
            pytest.raises(error, match=message),
        ):
            list(use(QUESTION, index))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the question is blank"):
        list(stream(" ", path, model="offline"))


def test_a_budget_holds_for_streams_too(path: Path) -> None:
    with (
        Loopback([TEXT]) as server,
        opened(path, server, prices={"openai/any": (1.0, 1.0)}) as index,
        pytest.raises(BudgetExceededError, match="stopped at"),
    ):
        list(stream(QUESTION, index, max_cost=1e-6))
    assert server.requests == []


# --- closing -------------------------------------------------------------------------------------------------------


def is_abandoned(server: Loopback) -> bool:
    """Whether the server notices, before all is sent, that nobody reads its stream."""
    deadline = time.monotonic() + 60
    while server.abandoned == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    return server.abandoned == 1


SLOW = Served(text=TEXT * 30, piece_delay=0.05)


@LITELLM
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_leaving_early_cancels_the_call(path: Path, model: str) -> None:
    with Loopback([SLOW]) as server, opened(path, server, model) as index:
        with stream(QUESTION, index) as answering:
            assert next(answering)
        assert list(answering) == []
        assert is_abandoned(server)


def test_letting_go_of_a_stream_cancels_the_call(path: Path) -> None:
    with Loopback([SLOW]) as server, opened(path, server) as index:
        for _ in stream(QUESTION, index):
            break
        gc.collect()
        assert is_abandoned(server)


def test_closing_or_cancelling_an_awaited_stream_cancels_the_call(path: Path) -> None:
    async def read(index: Index, begun: asyncio.Event) -> None:
        async with astream(QUESTION, index) as answering:
            async for _ in answering:
                begun.set()

    async def main() -> None:
        with Loopback([SLOW]) as server, opened(path, server) as index:
            begun = asyncio.Event()
            task = asyncio.create_task(read(index, begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(is_abandoned, server)

    asyncio.run(main())


def test_many_at_once(path: Path) -> None:
    async def main(server: Loopback) -> list[str]:
        with opened(path, server) as index:

            async def read() -> str:
                return "".join([piece async for piece in astream(QUESTION, index)])

            return await asyncio.gather(*(read() for _ in range(8)))

    with Loopback(honest) as server:
        texts = asyncio.run(main(server))
    assert len(set(texts)) == 1


# --- words ---------------------------------------------------------------------------------------------------------


@given(st.text())
def test_words_make_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text


def test_words_are_divided_where_there_are_no_spaces() -> None:
    assert split_words("He was  born\nthere.") == ["He ", "was  ", "born\n", "there."]
    assert split_words("東京は日本の首都です。") == ["東京は日本の首都", "です。"]
