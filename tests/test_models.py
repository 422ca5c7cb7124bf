"""Which model does which task, and what may stand in the place of a model's name."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, Settings, ask, stream
from minirag.answering import retrieve
from minirag.errors import InputError, LLMReplyError, LLMSetupError, TimeLimitError
from minirag.evaluation.honest import honest_reply
from minirag.extraction import extraction_key
from minirag.llm import LLM, Retries
from minirag.llm.transport import import_litellm
from minirag.models import Models
from minirag.reasoner import who_does
from minirag.reasoner.by_task import ReasonerByTask
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Extraction, Ledger, Passage, Task
from tests.loopback import Loopback, Request, Served, honest, refusal, status

AYLWIN = Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)")
HENRY = Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards")
QUESTION = "Where was the director of Aylwin born?"
LITELLM = pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")

Messages = list[dict[str, str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.usearch"


def models_by_task(server: Loopback) -> dict[str, str]:
    return {task: r.body["model"] for task, r in zip(server.tasks(), server.requests, strict=True)}


def replying(messages: Messages) -> str:
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    return json.dumps(honest_reply(prompt))


async def replying_later(messages: Messages) -> str:
    return replying(messages)


# --- by task -------------------------------------------------------------------------------------------------------


def test_each_task_is_done_by_its_model(path: Path) -> None:
    models = {"extract": "openai/cheap", "read": "openai/strong", "extend": "openai/quick"}
    with Loopback() as server, Index(path, model="openai/plain", models=models, api_base=server.api_base) as index:
        index.add([AYLWIN, HENRY], progress=False)
        answer = ask(QUESTION, index, strategy="kirag", steps=1)
        assert models_by_task(server) == {"extract": "cheap", "bridge": "plain", "extend": "quick", "read": "strong"}
        assert (index.model, answer.model, index.info().model) == ("openai/strong", "openai/strong", "openai/cheap")
        assert index.model_is_chosen


def test_a_call_may_name_others(path: Path) -> None:
    with Loopback() as server, Index(path, model="openai/plain", api_base=server.api_base) as index:
        index.add([AYLWIN], progress=False)
        ask(QUESTION, index, strategy="ircot", models={"read": "openai/strong"})
        assert models_by_task(server) == {"extract": "plain", "think": "plain", "read": "strong"}
        server.requests.clear()
        ask(QUESTION, index, strategy="ircot", model="openai/other", models={"think": "openai/quick"})
        assert models_by_task(server) == {"think": "quick", "read": "other"}


def names(models: Models) -> list[str]:
    tasks: tuple[Task, ...] = ("extract", "bridge", "extend", "think", "read")
    return [who_does(models.reasoner(None, Ledger()), task).model for task in tasks]


def test_what_is_not_named_goes_with_its_time_and_else_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIRAG_MODEL", raising=False)
    cheap, strong = "openai/cheap", "openai/strong"
    assert names(Models(None, {}, {"extract": cheap, "read": strong})) == [cheap, cheap, strong, strong, strong]
    assert names(Models(None, {}, {"read": strong})) == ["offline", "offline", strong, strong, strong]
    assert names(Models(cheap, {}, {"bridge": "offline"})) == [cheap, "offline", cheap, cheap, cheap]
    monkeypatch.setenv("MINIRAG_MODEL", strong)
    assert names(Models(None, {}, {"extract": cheap})) == [cheap, strong, strong, strong, strong]


def test_unknown_tasks_and_things_that_are_no_models_are_errors(path: Path) -> None:
    with pytest.raises(ValueError, match="the task 'reed'; there are extract, bridge, extend, think, read"):
        Index(path, models={"reed": "openai/any"})
    with pytest.raises(ValueError, match=r"model must be a LiteLLM name, .* or a Reasoner, not 7"):
        Index(path, model=7)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="model must not be blank"):
        Index(path, models={"read": " "})
    assert not path.exists()
    with Index(path, model="offline") as index, pytest.raises(ValueError, match="the task 'embed'"):
        ask(QUESTION, index, models={"embed": "offline"})


def test_a_passage_is_known_by_the_model_that_extracted_it(path: Path) -> None:
    """A paragraph more leaves the first passage as it was: who extracts is the same, though who bridges is not."""
    settings = Settings(passage_tokens=64)
    more = "\n\n" + " ".join(["It was told of in many towns of the county that year, as the papers say."] * 3)
    with Loopback() as server:
        where: dict[str, Any] = {"api_base": server.api_base}
        models = {"extract": "openai/cheap", "bridge": "openai/strong"}
        with Index(path, models=models, settings=settings, **where) as index:
            index.add([AYLWIN, HENRY], progress=False)
            assert index.info().passages == 2
        count = len(server.requests)
        longer = [Document(d.id, d.text + more, d.title) for d in (AYLWIN, HENRY)]
        with Index(path, models={**models, "bridge": "openai/other"}, **where) as index:
            index.add(longer, progress=False)
            assert index.info().passages == 4
        assert sorted(server.tasks()[count:]) == ["bridge", "extract", "extract"]


def test_the_key_is_the_same_alone_and_among_others() -> None:
    passage = Passage("p", "d", "Some text.", 0, 10)
    alone = Models("offline", {}).reasoner(None, Ledger())
    among = Models("offline", {}, {"read": "openai/strong"}).reasoner(None, Ledger())
    assert among.model == "openai/strong"
    assert extraction_key(passage, title="", reasoner=alone) == extraction_key(passage, title="", reasoner=among)


def test_offline_indexing_with_a_reader_pays_only_for_reading(path: Path) -> None:
    with Loopback() as server, Index(path, models={"read": "openai/strong"}, api_base=server.api_base) as index:
        index.add([AYLWIN, HENRY], progress=False)
        assert index.info().model == "offline"
        assert not path.with_name("notes.usearch.replies").exists()
        ask(QUESTION, index, strategy="indexrag")
        assert server.tasks() == ["read"]


# --- objects in the place of a name --------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [replying, replying_later])
def test_a_function_answers(path: Path, function: Any) -> None:  # noqa: ANN401
    with Index(path, model=function) as index:
        report = index.add([AYLWIN, HENRY], progress=False)
        answer = ask(QUESTION, index, strategy="indexrag")
        name = f"tests.test_models.{function.__name__}"
        assert (report.failed, report.usage.calls, report.usage.cost) == ((), 3, None)
        assert (answer.found, answer.model, index.info().model) == (True, name, name)
    answer = ask(QUESTION, path, model=function, strategy="indexrag")
    assert answer.model == name


def test_a_function_beside_a_models_name_takes_no_notice_of_where_that_is(path: Path) -> None:
    with Loopback() as server:
        where = {"api_base": server.api_base, "api_key": "sk-none"}
        with Index(path, model="openai/any", models={"bridge": replying}, **where) as index:  # type: ignore[arg-type]
            index.add([AYLWIN, HENRY], progress=False)
            for chosen in ({"model": replying}, {"models": {"read": replying}}):
                assert ask(QUESTION, index, strategy="indexrag", **chosen).found
        assert set(server.tasks()) == {"extract"}
    with (
        Index(path, model=replying, api_base="http://localhost:1/v1") as index,
        pytest.raises(ValueError, match="api_base goes with a model's name"),
    ):
        ask(QUESTION, index)


@pytest.mark.parametrize("default", [None, replying, "own"])
def test_an_address_is_for_the_models_that_are_names(
    path: Path,
    default: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MINIRAG_MODEL", raising=False)
    model = Echoing() if default == "own" else default
    models: dict[str, Any] = {"extract": "openai/a", "bridge": "openai/a", "read": replying}
    with Loopback() as server:
        with Index(path, model=model, models=models, api_base=server.api_base, api_key="secret") as index:
            index.add([AYLWIN, HENRY], progress=False)
            assert ask(QUESTION, index, strategy="indexrag").found
            assert ask(QUESTION, index, model=replying, strategy="indexrag").found
        assert server.tasks() == ["extract", "extract", "bridge"]


def test_an_address_is_refused_where_no_task_has_a_name_for_it(path: Path) -> None:
    reading: dict[str, Any] = {"models": {"read": replying}, "api_base": "http://localhost:1/v1"}
    with Index(path, model="offline") as index:
        index.add([AYLWIN], progress=False)
    with (
        Index(path, model="offline", **reading) as index,
        pytest.raises(ValueError, match="api_base goes with a model's name"),
    ):
        ask(QUESTION, index)
    with Loopback() as server, Index(path, model=replying, api_base=server.api_base) as index:
        with pytest.raises(ValueError, match="api_base goes with a model's name"):
            index.add([HENRY], progress=False)
        ask(QUESTION, index, models={"read": "openai/a"}, strategy="ircot", steps=1)
        assert server.tasks() == ["read"]


def test_a_function_is_told_the_form_of_the_reply() -> None:
    seen: list[Messages] = []

    def function(messages: Messages) -> str:
        seen.append(messages)
        return "Sure: " + replying(messages)

    retrieved = Models(function, {}).reasoner(None, Ledger())
    assert retrieved.model.endswith("test_a_function_is_told_the_form_of_the_reply.<locals>.function")
    function.model = "house-llm"  # type: ignore[attr-defined]  # as a user would name it
    assert Models(function, {}).reasoner(None, Ledger()).model == "house-llm"
    assert seen == []


def test_what_a_function_raises_by_mistake_ends_the_run(path: Path) -> None:
    def broken(messages: Messages) -> str:
        return messages[7]["content"]

    with (
        Index(path, model=broken) as index,
        pytest.raises(LLMSetupError, match="broken: raised IndexError: list index out of range") as caught,
    ):
        index.add([AYLWIN], progress=False)
    assert isinstance(caught.value.__cause__, IndexError)
    with Index(path, model=lambda _: 3) as index, pytest.raises(LLMSetupError, match="gave int 3, not the text"):  # type: ignore[arg-type]  # on purpose
        index.add([AYLWIN], progress=False)


def test_a_function_may_fail_as_models_do(path: Path) -> None:
    asked: list[str] = []

    def moody(messages: Messages) -> str:
        asked.append("")
        if len(asked) == 1:
            raise ConnectionError("the line is dead")
        if "Henry" in messages[1]["content"] and "actor" in messages[1]["content"]:
            raise LLMReplyError("moody", "will not talk of actors")
        return replying(messages)

    with Index(path, model=moody, retries=Retries(first_wait=0.001)) as index:
        report = index.add([AYLWIN, HENRY], progress=False)
    assert [failure.reason for failure in report.failed] == ["moody: will not talk of actors"]
    assert len(asked) == 3


class Echoing(OfflineReasoner):
    """A reasoner of the user's own."""

    model = "echo"

    async def read(self, question: str, evidence: Sequence[Any], *, chain: Sequence[str] = ()) -> Any:  # noqa: ANN401
        return await super().read(question, evidence, chain=chain)


def test_an_own_reasoner_thinks(path: Path) -> None:
    with Index(path, model=Echoing()) as index:
        index.add([AYLWIN, HENRY], progress=False)
        assert index.info().model == "echo"
        assert ask(QUESTION, index, strategy="kirag", constructor=False).model == "echo"
        assert ask(QUESTION, index, models={"read": Echoing()}, strategy="naive").model == "echo"


class Counting(Echoing):
    """One whose calls take a moment; it knows how many there were, and how many at once."""

    model = "counting"

    def __init__(self, seconds: float = 0.005) -> None:
        super().__init__()
        self.seconds, self.extracted, self.open, self.most = seconds, list[str](), 0, 0

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        self.extracted.append(passage.document_id)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.open -= 1
        return await super().extract(passage, title=title)


PEOPLE = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(40)]


def test_an_own_reasoners_calls_are_counted_and_their_cost_is_unknown(path: Path) -> None:
    with Index(path, model=Counting()) as index:
        usage = index.add(PEOPLE[:6], progress=False).usage
        assert (usage.calls, usage.uncounted, usage.cost) == (7, 7, None)
        assert {task: part.calls for task, part in usage.tasks.items()} == {"extract": 6, "bridge": 1}
        built = index.info().usage
        assert (built.calls, built.uncounted, built.cost) == (7, 7, None)
        answer = ask("Where was Person 3 born?", index, strategy="ircot")
        assert (answer.usage.cost, answer.usage.calls) == (None, len(answer.trace.calls))
        assert {(call.task, call.model, call.mode) for call in answer.trace.calls} == {
            ("think", "counting", "reasoner"),
            ("read", "counting", "reasoner"),
        }
        with Index(path, model=OfflineReasoner(), mode="r") as free:
            assert ask("Where was Person 3 born?", free, max_cost=0).usage.cost == 0.0


def test_a_budget_cannot_be_kept_with_an_own_reasoner(path: Path) -> None:
    own = Counting()
    with Index(path, model=own) as index:
        told = (
            r"^counting: what the calls of an own Reasoner cost is unknown, so max_cost .* \(for the tasks extract and"
        )
        with pytest.raises(InputError, match=told):
            index.add(PEOPLE, progress=False, max_cost=5)
        assert (own.extracted, len(index)) == ([], 0)
        index.add(PEOPLE[:2], progress=False)
        with pytest.raises(InputError, match=r"^counting: .* \(for the task read\), and prices= cannot say it"):
            ask(QUESTION, index, max_cost=5)
        assert ask(QUESTION, index, model="offline", max_cost=0).model == "offline"


@pytest.mark.parametrize("others", [{}, {"read": "offline"}])
def test_so_many_calls_of_an_own_reasoner_run_at_once(path: Path, others: dict[str, Any]) -> None:
    own = Counting()
    with Index(path, model=own, models=others, max_parallel=4) as index:
        index.add(PEOPLE, progress=False, triples={"d0": [("Person 0", "born in", "Bergen")]})
    assert (len(own.extracted), own.most) == (40, 4)
    with Index(path, model=own) as index:
        index.add(PEOPLE, progress=False, reextract=True)
    assert own.most == 16
    with Index(path, model=own, max_parallel=0) as index, pytest.raises(ValueError, match="at least 1, not 0"):
        index.add(PEOPLE, progress=False, reextract=True)


class Aloud(Counting):
    """One that tells its answer while it is written."""

    async def read_aloud(
        self, question: str, evidence: Sequence[Any], *, chain: Sequence[str] = (), tell: Callable[[str], None]
    ) -> Any:  # noqa: ANN401
        reading = await self.read(question, evidence, chain=chain)
        tell(reading.text[:2])
        return reading


def test_an_own_reasoner_may_read_aloud(path: Path) -> None:
    with Index(path, model=Aloud()) as index:
        index.add([AYLWIN, HENRY], progress=False)
        answering = stream(QUESTION, index)
        pieces = list(answering)
        assert (len(pieces[0]), "".join(pieces)) == (2, answering.answer.text)
        assert (answering.answer.usage.calls, answering.answer.usage.cost) == (1, None)


def test_a_reasoner_that_passes_tasks_on_is_those_that_do_them(path: Path) -> None:
    own, free = Counting(), OfflineReasoner()
    by_task = ReasonerByTask({"extract": own, "bridge": free, "extend": free, "think": free, "read": free})
    with Index(path, model=by_task) as index:
        report = index.add(PEOPLE[:3], progress=False)
        assert (index.info().model, report.usage.calls, list(report.usage.tasks)) == ("counting", 3, ["extract"])
        assert ask("Where was Person 2 born?", index).model == "offline"


def test_an_llm_with_an_address_of_its_own(path: Path) -> None:
    with Loopback() as one, Loopback() as other:
        reader = LLM("openai/strong", api_base=other.api_base)
        with Index(path, model="openai/plain", models={"read": reader}, api_base=one.api_base) as index:
            index.add([AYLWIN], progress=False)
            assert ask(QUESTION, index, strategy="indexrag").model == "openai/strong"
        assert (one.tasks(), other.tasks()) == (["extract"], ["read"])


# --- LiteLLM's own ways --------------------------------------------------------------------------------------------


def deployment(group: str, name: str, server: Loopback, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    where = {"model": f"openai/{name}", "api_base": server.api_base, "api_key": "secret"}
    return {"model_name": group, "litellm_params": {**where, **more}}


@LITELLM
def test_a_router_routes(path: Path) -> None:
    import_litellm()
    from litellm.router import Router

    with Loopback() as server:
        router = Router([deployment("house", "one", server)])
        with Index(path, model=router) as index:
            report = index.add([AYLWIN, HENRY], progress=False)
            answer = ask(QUESTION, index, strategy="indexrag")
            assert (report.failed, answer.model, index.info().model) == ((), "house", "house")
        assert {request.body["model"] for request in server.requests} == {"one"}
        assert len(server.requests) == 4


@LITELLM
def test_a_routers_groups_are_models(path: Path) -> None:
    import_litellm()
    from litellm.router import Router

    with Loopback() as server:
        router = Router([deployment("fast", "small", server), deployment("good", "large", server)])
        with pytest.raises(ValueError, match="groups fast, good: name one, as in model='fast', router=router"):
            LLM(router)
        with Index(path, models={"extract": "fast", "read": "good"}, router=router) as index:
            index.add([AYLWIN], progress=False)
            ask(QUESTION, index, strategy="indexrag")
        assert models_by_task(server) == {"extract": "small", "read": "large"}


@LITELLM
def test_what_says_where_a_name_is_does_not_go_to_a_router_beside_it(path: Path) -> None:
    import_litellm()
    from litellm.router import Router

    with Loopback() as named, Loopback() as routed:
        router = Router([deployment("house", "one", routed)])
        where: dict[str, Any] = {"api_base": named.api_base, "extra_headers": {"X-Gateway-Key": "for the name alone"}}
        with Index(path, models={"extract": "openai/a", "bridge": "openai/a", "read": router}, **where) as index:
            index.add([AYLWIN, HENRY], progress=False)
            assert ask(QUESTION, index, strategy="indexrag").found
        assert (named.tasks(), routed.tasks()) == (["extract", "extract", "bridge"], ["read"])
        assert {request.headers.get("x-gateway-key") for request in named.requests} == {"for the name alone"}
        assert [request.headers.get("x-gateway-key") for request in routed.requests] == [None]
        with Index(path, model=router, extra_headers={"X-Gateway-Key": "for the router"}) as index:
            ask(QUESTION, index, strategy="indexrag")
        assert routed.requests[-1].headers.get("x-gateway-key") == "for the router"


@LITELLM
def test_a_routers_deployments_fall_back_and_are_tried_again_by_minirag_alone(path: Path) -> None:
    import_litellm()
    from litellm.router import Router

    def failing(request: Request) -> Served:
        return status(500) if request.body["model"] == "ill" else honest(request)

    with Loopback(failing) as server:
        router = Router([deployment("a", "ill", server), deployment("b", "well", server)], fallbacks=[{"a": ["b"]}])
        with Index(path, model="a", router=router, retries=Retries(first_wait=0.001)) as index:
            report = index.add([AYLWIN], progress=False)
        assert report.failed == ()
        assert [request.body["model"] for request in server.requests] == ["ill", "well"]


@LITELLM
def test_callbacks_hear_of_every_call(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = import_litellm()
    heard: list[str] = []

    async def hear(kwargs: dict[str, Any], *_: object) -> None:
        heard.append(kwargs["model"])

    monkeypatch.setattr(litellm, "_async_success_callback", [])  # LiteLLM moves it there
    monkeypatch.setattr(litellm, "success_callback", [hear])
    with Loopback() as server, Index(path, model="openai/plain", api_base=server.api_base) as index:
        index.add([AYLWIN, HENRY], progress=False)
        ask(QUESTION, index, model="hosted_vllm/other", strategy="indexrag")
        deadline = time.monotonic() + 60
        while len(heard) < 4 and time.monotonic() < deadline:  # it tells them in its own time
            time.sleep(0.02)
    assert sorted(heard) == ["other", "plain", "plain", "plain"]


# --- time limits ---------------------------------------------------------------------------------------------------


def test_a_question_ends_when_its_time_is_up(path: Path) -> None:
    def slow(request: Request) -> Served:
        return Served(text="{}", delay=9) if '"task": "read"' in request.prompt else honest(request)

    with Loopback(slow) as server, Index(path, model="openai/plain", api_base=server.api_base) as index:
        index.add([AYLWIN], progress=False)
        started = time.monotonic()
        with pytest.raises(TimeLimitError, match=r"no answer within time_limit=0\.3 seconds\. Allow more"):
            ask(QUESTION, index, strategy="indexrag", time_limit=0.3)
        assert time.monotonic() - started < 5
    with pytest.raises(ValueError, match="time_limit must be above 0 seconds, not 0"):
        ask(QUESTION, path, model="offline", time_limit=0)
    assert ask(QUESTION, path, model="offline", time_limit=30).strategy == "kirag"


def test_retrieval_takes_models_too(path: Path) -> None:
    with Loopback(lambda _: refusal()) as server, Index(path, model="offline", api_base=server.api_base) as index:
        index.add([AYLWIN, HENRY], progress=False)
        found = retrieve(QUESTION, index, strategy="kirag", steps=1, models={"read": "openai/never-asked"})
        assert found.hits
        assert server.requests == []
