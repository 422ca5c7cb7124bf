"""Answers that have not the form of one: whatever JSON a server sends, it is a fault of that call alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minirag import Document, Index
from minirag.errors import LLMReplyError, LLMUnavailableError, MiniragError
from minirag.llm import LLM, Retries
from minirag.llm.faults import read_fault
from minirag.llm.streaming import Listener
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, honest
from tests.test_llm import ASK, OSLO, Place

QUICK = Retries(attempts=1, first_wait=0.0)
GOOD = json.dumps(OSLO)
USAGE = {"prompt_tokens": 9, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
FUNCTION = {"name": "Place", "arguments": GOOD}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "0", "type": "function", "function": FUNCTION}]}


def completion(**message: Any) -> dict[str, Any]:  # noqa: ANN401
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "0", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": USAGE}


def pieces(*deltas: dict[str, Any]) -> list[Any]:
    head = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    told: list[Any] = [{**head, "choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in deltas]
    told.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return [*told, {**head, "choices": [], "usage": USAGE}]


def streamed(chunks: list[Any]) -> Served:
    return Served(pieces=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"])


def vectors(*items: Any) -> Served:  # noqa: ANN401
    return Served(body={"object": "list", "data": list(items), "model": "m", "usage": USAGE})


def vector(place: Any, *numbers: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"object": "embedding", "index": place, "embedding": list(numbers)}


class Changing:
    """A server that answers as it was last told to, and a model of it."""

    def __init__(self, base: Callable[[Callable[[Request], Served]], Loopback]) -> None:
        self.served = Served(text=GOOD)
        self.server = base(lambda _: self.served)

    def ask(self, served: Served, work: Callable[[LLM, Ledger], Awaitable[object]]) -> object:
        self.served = served

        async def main() -> object:
            llm = LLM("openai/any", api_base=self.server.api_base, retries=QUICK, timeout=10)
            try:
                return await work(llm, Ledger())
            finally:
                await llm.close()

        return asyncio.run(main())


class Vectors(Loopback):
    """Serves embeddings from the script, too."""

    def serve(self, request: Request) -> Served:
        self.requests.append(request)
        return self._script(request)  # type: ignore[operator, return-value]  # a function that gives a `Served`


@contextmanager
def changing(base: Any = Loopback) -> Iterator[Changing]:  # noqa: ANN401
    it = Changing(base)
    with it.server:
        yield it


async def place(llm: LLM, ledger: Ledger) -> Place:
    return await llm.complete(ASK, reply=Place, task="read", ledger=ledger)


async def heard(llm: LLM, ledger: Ledger) -> Place:
    listener = Listener("place", lambda _: None)
    return await llm.complete(ASK, reply=Place, task="read", ledger=ledger, listener=listener)


async def embedded(llm: LLM, ledger: Ledger) -> list[list[float]]:
    return await llm.embed(["a", "b"], ledger=ledger)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, within in items:
        yield from paths(within, (*path, name))


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:  # noqa: ANN401
    """The value with something else at that place; `...` for nothing at all."""
    if not path:
        return odd
    if isinstance(value, dict):
        changed = {name: put(v, path[1:], odd) if name == path[0] else v for name, v in value.items()}
        return {name: within for name, within in changed.items() if within is not ...}
    return [w for at, v in enumerate(value) if (w := put(v, path[1:], odd) if at == path[0] else v) is not ...]


NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 10**30, 10**400])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=9),
    lambda within: (
        st.lists(within, max_size=3)
        | st.dictionaries(
            st.text(max_size=3)
            | st.sampled_from(["choices", "message", "delta", "content", "function", "error", "text", "data", "code"]),
            within,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def odd(*good: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401
    """JSON, mostly a good answer of which one place is something else, or is not there."""
    changed = st.sampled_from([(each, path) for each in good for path in paths(each) if path])
    placed = st.tuples(changed, JSON | st.just(...)).map(lambda drawn: put(drawn[0][0], drawn[0][1], drawn[1]))
    return placed | JSON


MANY = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
ANSWERS = odd(completion(content=GOOD, refusal=None, reasoning_content="hm"), completion(**CALLED))
PIECES = odd(pieces({"role": "assistant", "content": GOOD, "reasoning_content": "h"}), pieces(CALLED))
FAILURES = odd({"error": {"message": "Unsupported parameter", "type": "invalid", "param": "seed", "code": "x"}})
VECTORS = odd({"object": "list", "data": [vector(0, 0.5, 0.5), vector(1, 0.5, 0.1)], "usage": USAGE, "error": None})


def dumped(value: Any) -> bytes:  # noqa: ANN401
    return json.dumps(value).encode()


def check(it: Changing, served: Served, work: Callable[[LLM, Ledger], Awaitable[object]]) -> None:
    try:
        it.ask(served, work)
    except MiniragError as error:
        assert "library itself" not in str(error)  # noqa: PT017  # any other error is none of ours and comes out


@MANY
@given(answer=ANSWERS)
def test_any_json_as_an_answer_is_at_most_a_fault(one: Changing, answer: Any) -> None:  # noqa: ANN401
    check(one, Served(body=dumped(answer)), place)


@MANY
@given(chunks=PIECES)
def test_any_json_as_a_piece_is_at_most_a_fault(one: Changing, chunks: Any) -> None:  # noqa: ANN401
    check(one, streamed(chunks if isinstance(chunks, list) else [chunks]), heard)


@MANY
@given(body=FAILURES, code=st.sampled_from([200, 400, 401, 404, 422, 429, 500]))
def test_any_json_as_a_failure_is_at_most_a_fault(one: Changing, body: Any, code: int) -> None:  # noqa: ANN401
    check(one, Served(code=code, body=dumped(body)), place)


@MANY
@given(body=VECTORS)
def test_any_json_as_vectors_is_at_most_a_fault(of_vectors: Changing, body: Any) -> None:  # noqa: ANN401
    check(of_vectors, Served(body=dumped(body)), embedded)


@given(value=st.text() | st.from_regex(r"Wed, \d{1,30} Oct \d{1,30} \d\d:\d\d:\d\d [+-]\d{1,20}", fullmatch=True))
def test_any_text_as_retry_after_is_at_most_no_wait(value: str) -> None:
    error = Exception("busy")
    error.litellm_response_headers = {"retry-after": value}  # type: ignore[attr-defined]  # as LiteLLM sets it
    wait = read_fault(error).wait
    assert wait is None or wait >= 0


@pytest.fixture(scope="module")
def one() -> Iterator[Changing]:
    with changing() as it:
        yield it


@pytest.fixture(scope="module")
def of_vectors() -> Iterator[Changing]:
    with changing(Vectors) as it:
        yield it


CUSTOM = {"id": "1", "type": "custom", "custom": {"name": "x", "input": "y"}}
ODD = {
    "a call of no function": Served(body=completion(content=None, tool_calls=[CUSTOM])),
    "deep": Served(text='{"facts":[],"x":' + "[" * 700 + "]" * 700 + "}"),
    "a parameter that is a list": Served(code=400, error={"message": "bad", "param": ["messages", 1]}),
    "choices that are an object": Served(body={**completion(content=""), "choices": {"a": 1}}),
    "a message that is a list": Served(body={**completion(), "choices": [{"message": ["a"]}]}),
}


@pytest.mark.parametrize("served", ODD.values(), ids=ODD)
def test_one_odd_answer_fails_its_passage_alone(tmp_path: Path, served: Served) -> None:
    def script(request: Request) -> Served:
        return served if "Bad" in request.prompt.split("\n")[0] else honest(request)

    documents = [Document(f"d{i}", f"Film{i} was directed by Henry Edwards.", f"Film{i}") for i in range(5)]
    with (
        Loopback(script) as server,
        Index(tmp_path / "a.usearch", model="openai/any", api_base=server.api_base) as index,
    ):
        report = index.add([*documents, Document("bad", "Bad text.", "Bad")])
        assert report.added == ("d0", "d1", "d2", "d3", "d4", "bad")
        assert [failure.id.partition("#")[0] for failure in report.failed] == ["bad"]


def test_what_is_no_answer_is_asked_for_once_more(one: Changing) -> None:
    before = len(one.server.requests)

    async def patient(llm: LLM, ledger: Ledger) -> Place:
        del llm
        other = LLM("openai/any", api_base=one.server.api_base, retries=Retries(first_wait=0.0))
        try:
            return await place(other, ledger)
        finally:
            await other.close()

    with pytest.raises(LLMReplyError, match="gave, 2 times, an answer of another form than it should have: a message"):
        one.ask(ODD["a message that is a list"], patient)
    assert len(one.server.requests) - before == 2


def test_a_stream_is_told_likewise(one: Changing) -> None:
    with pytest.raises(LLMReplyError, match="another form than it should have: a piece whose choices are none"):
        one.ask(streamed([{"choices": {"a": 1}}]), heard)
    with pytest.raises(LLMUnavailableError, match="broke off in the middle: an answer of another form"):
        one.ask(streamed([*pieces({"content": '{"place":"Os'})[:1], {"choices": 1}]), heard)


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        (vectors(vector(0, 1.0), vector(0, 2.0)), "do not say which text each is of"),
        (vectors({"embedding": [1.0]}, {"embedding": [2.0]}), "do not say which text each is of"),
        (vectors(vector(None, 1.0), vector(1, 2.0)), "do not say which text each is of"),
        (vectors(vector(0, 1.0), vector(1, None)), "are no lists of numbers"),
        (vectors(vector(0, 1.0)), "1 vectors for 2 texts"),
    ],
)
def test_vectors_that_are_none(of_vectors: Changing, served: Served, problem: str) -> None:
    with pytest.raises(LLMReplyError, match=problem):
        of_vectors.ask(served, embedded)
