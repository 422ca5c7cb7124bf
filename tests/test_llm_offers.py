"""What is known of who answers: of a name, of the deployments behind a router's, and of what was registered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask, stream
from minirag.errors import InputError, LLMSetupError
from minirag.llm import LLM, Price, Retries
from minirag.llm.modes import first_mode
from minirag.llm.routing import find_route
from minirag.llm.transport import import_litellm
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Served, honest, status
from tests.test_llm_caching import ANSWER

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the .model_"),
    pytest.mark.usefixtures("map_of_its_own"),
]
MINI = Price(prompt=1.5e-07, completion=6e-07, cached=7.5e-08, written=1.5e-07)  # gpt-4o-mini
LOCAL = "http://127.0.0.1:1/v1"
AYLWIN = Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)")
MESSAGES = [{"role": "system", "content": "Constant."}, {"role": "user", "content": "Data."}]


@pytest.fixture
def map_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What routers and tests register is gone afterwards."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    litellm: Any = import_litellm()
    with monkeypatch.context() as patch:
        patch.setattr(litellm, "model_cost", dict(litellm.model_cost))
        yield


def router_of(*deployments: dict[str, Any], **options: Any) -> Any:  # noqa: ANN401
    litellm: Any = import_litellm()
    return litellm.Router([*deployments], **options)


def deployment(group: str, model: str, told: dict[str, Any] | None = None, **where: Any) -> dict[str, Any]:  # noqa: ANN401
    params = {"model": model, "api_key": "secret", **where}
    return {"model_name": group, "litellm_params": params, "model_info": told or {}}


def known(router: Any, name: str = "house", **options: Any) -> tuple[Price | None, int]:  # noqa: ANN401
    llm = LLM(name, router=router, **options)
    return llm.price, llm.prompt_tokens


# --- a router's deployments ----------------------------------------------------------------------------------------


def test_a_routers_price_and_window_are_its_deployments() -> None:
    router = router_of(deployment("house", "openai/gpt-4o-mini"))
    assert (LLM(router).price, LLM(router).prompt_tokens) == (MINI, 96_000)
    assert known(router) == (MINI, 96_000)


def test_of_several_the_dearest_and_the_smallest_count() -> None:
    cheap = {"input_cost_per_token": 1e-6, "output_cost_per_token": 9e-6, "max_input_tokens": 40_000}
    dear = {"input_cost_per_token": 3e-6, "output_cost_per_token": 4e-6, "max_input_tokens": 80_000}
    one, other = deployment("house", "openai/a", cheap), deployment("house", "openai/b", dear)
    alone = deployment("other", "openai/gpt-4o")
    assert known(router_of(one, other, alone)) == (Price(3e-6, 9e-6, 3e-6, 3e-6), 30_000)


def test_one_that_is_unknown_leaves_all_unknown_unless_the_user_says_it() -> None:
    router = router_of(deployment("house", "openai/gpt-4o-mini"), deployment("house", "openai/own", api_base=LOCAL))
    assert known(router) == (None, 9_000)
    assert known(router, prices={"house": (1, 2)})[0] == Price(1e-6, 2e-6, 1e-6, 1e-6)
    assert known(router, prices={"openai/own": (0.125, 2)})[0] == Price(1.5e-07, 2e-6, 1.25e-7, 1.5e-07)
    assert known(router_of(deployment("house", "openai/gpt-4o-mini", api_base=LOCAL)))[0] is None


@pytest.mark.parametrize(
    ("model", "told", "where", "price"),
    [
        ("openai/own", {"input_cost_per_token": 2e-6, "output_cost_per_token": 3e-6}, {}, (2e-6, 3e-6, 2e-6, 2e-6)),
        ("openai/own", {}, {"input_cost_per_token": 2e-6, "output_cost_per_token": 3e-6}, (2e-6, 3e-6, 2e-6, 2e-6)),
        ("openai/gpt-4o-mini", {"input_cost_per_token": 2e-6}, {}, (2e-6, 6e-07, 7.5e-08, 2e-6)),
        ("azure/chosen-by-me", {"base_model": "azure/gpt-4o-mini"}, {"api_base": "https://x.openai.azure.com"}, None),
        ("gpt-4o-mini", {}, {"custom_llm_provider": "openai"}, tuple(MINI.numbers)),
    ],
)
def test_what_a_deployment_says_of_itself_comes_first(
    model: str, told: dict[str, Any], where: dict[str, Any], price: tuple[float, ...] | None
) -> None:
    expected = LLM("azure/gpt-4o-mini").price if price is None else Price(*price)
    assert expected is not None
    assert known(router_of(deployment("house", model, told, **where)))[0] == expected


def test_other_names_and_patterns_of_a_router_are_known_too() -> None:
    options = {"model_group_alias": {"home": "house"}}
    router = router_of(deployment("house", "openai/gpt-4o-mini"), deployment("of/*", "openai/*"), **options)
    assert known(router, "home") == (MINI, 96_000)
    assert known(router, "of/gpt-4o-mini") == (MINI, 96_000)
    assert known(router, "nobody") == (None, 9_000)


@pytest.mark.filterwarnings("ignore:Accessing this attribute on the instance is deprecated")  # LiteLLM 1.109's streams
def test_an_answer_costs_what_its_deployment_does(tmp_path: Path) -> None:
    def failing(request: Request) -> Served:
        return status(500) if request.body["model"] == "ill" else honest(request)

    cheap, dear = ({"input_cost_per_token": n, "output_cost_per_token": n} for n in (1e-6, 5e-6))
    path = tmp_path / "notes.usearch"
    with Loopback(failing) as server:
        ill = deployment("house", "openai/ill", cheap, api_base=server.api_base)
        well = deployment("spare", "openai/well", dear, api_base=server.api_base)
        router = router_of(ill, well, fallbacks=[{"house": ["spare"]}])
        options: dict[str, Any] = {"router": router, "retries": Retries(first_wait=0.001)}
        with Index(path, model="house", **options) as index:
            estimate = index.estimate([AYLWIN], progress=False)
            assert estimate.cost == pytest.approx((estimate.prompt_tokens + estimate.completion_tokens) * 1e-6)
            added = index.add([AYLWIN], progress=False, max_cost=1.0).usage
            answered = ask("Who directed Aylwin?", index, strategy="indexrag", max_cost=1.0).usage
            streamed = stream("Who directed Aylwin?", index, strategy="indexrag")
            assert "".join(streamed)
            for usage in (added, answered, streamed.answer.usage):
                assert usage.calls == 1
                assert usage.cost == pytest.approx((usage.prompt_tokens + usage.completion_tokens) * 5e-6)
        with Index(path, model="house", prices={"house": (2, 2)}, **options) as index:
            usage = ask("Who directed Aylwin?", index, strategy="indexrag").usage
            assert usage.cost == pytest.approx((usage.prompt_tokens + usage.completion_tokens) * 2e-6)


def test_an_answer_of_a_deployment_without_a_price_has_no_known_cost() -> None:
    with Loopback(["Hello"]) as server:
        ledger = Ledger()
        llm = LLM(router_of(deployment("house", "openai/own", api_base=server.api_base)))
        assert asyncio.run(llm.complete(MESSAGES, task="read", ledger=ledger)) == "Hello"
        assert (ledger.total().calls, ledger.total().cost) == (1, None)


def test_a_name_that_a_router_has_nobody_for_ends_the_run(tmp_path: Path) -> None:
    documents = [Document(str(number), f"Film {number} was directed by Henry Edwards.") for number in range(8)]
    router = router_of(deployment("house", "openai/own", api_base=LOCAL))
    with (
        Index(tmp_path / "notes.usearch", model="hose", router=router) as index,
        pytest.raises(LLMSetupError, match=r"hose: .*There are no healthy deployments for this model"),
    ):
        index.add(documents, progress=False)


def test_what_an_llm_costs_is_said_where_it_is_made(tmp_path: Path) -> None:
    llm = LLM("openai/own", api_base=LOCAL)
    with (
        Index(tmp_path / "notes.usearch", model=llm, prices={"openai/own": (1, 1)}) as index,
        pytest.raises(InputError, match=r"as in LLM\(\.\.\., prices=\{'openai/own': \(0\.15, 0\.60\)\}\), or leave"),
    ):
        index.add([AYLWIN], progress=False, max_cost=1)


def test_claude_behind_a_router_is_told_what_to_cache() -> None:
    with Loopback([Served(body=ANSWER)]) as server:
        base = server.api_base.removesuffix("/v1")
        llm = LLM(router_of(deployment("house", "anthropic/claude-sonnet-4-5", api_base=base)))
        assert asyncio.run(llm.complete(MESSAGES, task="read", ledger=Ledger())) == "Hello"
        body = server.requests[0].body
    assert body["system"] == [{"type": "text", "text": "Constant.", "cache_control": {"type": "ephemeral"}}]


def test_nobody_else_is_sent_marks_that_he_may_not_know() -> None:
    with Loopback(["Hello"]) as server:
        own = deployment("house", "openai/own", {"id": "own"}, api_base=server.api_base, weight=1)
        claude = deployment("house", "anthropic/claude-sonnet-4-5", api_base=LOCAL, weight=0)
        llm = LLM(router_of(own, claude))
        assert asyncio.run(llm.complete(MESSAGES, task="read", ledger=Ledger())) == "Hello"
        assert server.requests[0].body["messages"] == MESSAGES


# --- what was registered with LiteLLM ------------------------------------------------------------------------------

REGISTERED = {"input_cost_per_token": 4e-6, "output_cost_per_token": 5e-6, "max_input_tokens": 40_000}


@pytest.mark.parametrize(
    ("registered", "model", "api_base"),
    [
        ("openai/mine", "openai/mine", LOCAL),
        ("Qwen/Mine", "Qwen/Mine", LOCAL),
        ("hosted_vllm/mine", "hosted_vllm/mine", LOCAL),
        ("openai/mine", "openai/mine", None),
        ("gpt-4o-mini", "openai/gpt-4o-mini", None),
        ("gpt-4o-mini", "gpt-4o-mini", None),
    ],
)
def test_a_registered_price_counts(registered: str, model: str, api_base: str | None) -> None:
    litellm: Any = import_litellm()
    provider = registered.partition("/")[0] if registered.startswith("hosted") else "openai"
    litellm.register_model({registered: {**REGISTERED, "litellm_provider": provider, "mode": "chat"}})
    llm = LLM(model, api_base=api_base)
    assert llm.price is not None
    assert (llm.price.prompt, llm.price.completion, llm.prompt_tokens) == (4e-6, 5e-6, 30_000)
    where: dict[str, Any] = {"api_base": api_base} if api_base else {}
    routed = known(router_of(deployment("house", model, **where)))
    assert routed == (llm.price, llm.prompt_tokens)
    assert first_mode(find_route(model, api_base=api_base), api_base=api_base) == "json_schema"


def test_the_users_own_word_counts_before_what_is_registered_and_others_stay_unknown() -> None:
    litellm: Any = import_litellm()
    litellm.register_model({"openai/mine": {**REGISTERED, "litellm_provider": "openai"}})
    assert LLM("openai/mine", prices={"openai/mine": (1, 2)}).price == Price(1e-6, 2e-6, 1e-6, 1e-6)
    assert LLM("openai/other", api_base=LOCAL).price is None
    assert LLM("openai/gpt-4o-mini", api_base=LOCAL).price is None
