"""Who serves a model, and what it costs: read from LiteLLM's files without importing it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from minirag.llm import LLM, Price
from minirag.llm.accounting import Shape
from minirag.llm.catalog import read_providers, read_shipped
from minirag.llm.prices import find_price, price_given
from minirag.llm.routing import Route, find_route, find_window
from minirag.llm.usage import estimate_usage, read_usage
from minirag.records import Usage

LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "api_base", "route"),
    [
        ("openai/gpt-4o-mini", None, Route("openai", "gpt-4o-mini")),
        ("openai/org/model", LOCAL, Route("openai", "org/model")),
        ("gpt-4o-mini", None, Route("openai", "gpt-4o-mini")),
        ("claude-sonnet-4-5", None, Route("litellm", "claude-sonnet-4-5")),
        ("no-such-model", None, Route("litellm", "no-such-model")),
        ("anthropic/claude-sonnet-4-5", None, Route("litellm", "anthropic/claude-sonnet-4-5")),
        ("local", LOCAL, Route("openai", "local")),
        ("Qwen/Qwen3-8B", LOCAL, Route("openai", "Qwen/Qwen3-8B")),
        ("ollama/llama3", LOCAL, Route("litellm", "ollama/llama3")),
        ("hosted_vllm/Qwen/Qwen3-8B", LOCAL, Route("litellm", "hosted_vllm/Qwen/Qwen3-8B")),
    ],
)
def test_route(model: str, api_base: str | None, route: Route) -> None:
    assert find_route(model, api_base=api_base) == route


@pytest.mark.parametrize(
    ("model", "api_base", "window"),
    [
        ("openai/gpt-4o-mini", None, 128_000),
        ("openai/gpt-4o-mini", LOCAL, None),
        ("claude-sonnet-4-5", None, 200_000),
        ("ollama/llama3", LOCAL, 8192),
        ("no-such-model", None, None),
    ],
)
def test_window(model: str, api_base: str | None, window: int | None) -> None:
    assert find_window(find_route(model, api_base=api_base), api_base=api_base) == window


def test_providers_are_those_of_litellm() -> None:
    assert {
        "anthropic",
        "azure",
        "bedrock",
        "gemini",
        "groq",
        "hosted_vllm",
        "ollama",
        "openrouter",
    } <= read_providers()


def test_price_of_openai() -> None:
    price = LLM("openai/gpt-4o-mini").price
    assert price == Price(prompt=1.5e-07, completion=6e-07, cached=7.5e-08, written=1.5e-07)
    cost = price.cost(Usage(1, prompt_tokens=1000, completion_tokens=100, cached_tokens=400))
    assert cost == pytest.approx(600 * 1.5e-07 + 400 * 7.5e-08 + 100 * 6e-07)


@pytest.mark.parametrize(
    ("model", "api_base", "known"),
    [
        ("gpt-4o-mini", None, True),
        ("openai/gpt-4o-mini", "https://eu.api.openai.com/v1", True),
        ("openai/gpt-4o-mini", LOCAL, False),
        ("openai/gpt-4o-mini", "https://gateway.example/v1", False),
        ("openai/claude-sonnet-4-5", None, False),
        ("anthropic/claude-sonnet-4-5", None, True),
        ("anthropic/claude-sonnet-4-5", LOCAL, False),
        ("gemini/gemini-2.5-flash", None, True),
        ("anthropic/gpt-4o-mini", None, False),
        ("hosted_vllm/any", LOCAL, False),
        ("openai/no-such-model", None, False),
    ],
)
def test_price_is_known_only_where_it_is_true(
    model: str, api_base: str | None, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    price = find_price(find_route(model, api_base=api_base), api_base=api_base)
    assert (price is not None) is known


def test_a_free_model_costs_nothing_and_not_unknown() -> None:
    assert LLM("ollama/llama3", api_base="http://localhost:11434").price == Price(0.0, 0.0, 0.0, 0.0)


def shape(price: Price) -> Shape:
    return Shape("text", 50, None, price, ("openai", "any"), ())


def test_an_answer_without_token_counts_has_no_known_cost() -> None:
    dear, free = shape(Price(1e-6, 1e-6, 1e-6)), shape(Price(0.0, 0.0, 0.0))
    assert read_usage(object(), dear, 0.5) == Usage(1, 0, 0, 0, None, 0.5, uncounted=1)
    assert read_usage(object(), free, 0.5) == Usage(1, 0, 0, 0, 0.0, 0.5, uncounted=1)
    assert estimate_usage(object(), dear) == Usage(1, 50, 0, 0, 50 * 1e-6, uncounted=1)


def answer(content: str, usage: object, **more: object) -> SimpleNamespace:
    message = SimpleNamespace(content=content, **more)
    return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=usage)


@pytest.mark.parametrize("received", [{}, {"completion_tokens": None}, {"completion_tokens": 0}])
def test_an_answer_whose_tokens_are_told_in_part_counts_as_untold(received: dict[str, int | None]) -> None:
    told = answer("Oslo lies by the sea", {"prompt_tokens": 100, **received}, reasoning_content="Where is it")
    dear = shape(Price(1e-6, 1e-3, 1e-6))
    assert read_usage(told, dear, 0.5) == Usage(1, 0, 0, 0, None, 0.5, uncounted=1)
    assert estimate_usage(told, dear) == Usage(1, 100, 8, 0, 100 * 1e-6 + 8 * 1e-3, uncounted=1)


def test_tokens_may_be_whole_floats_and_an_empty_answer_may_have_none() -> None:
    cheap = shape(Price(1e-6, 2e-6, 1e-6))
    assert read_usage(answer("a", {"prompt_tokens": 9.0, "completion_tokens": 3.0}), cheap, 0).completion_tokens == 3
    assert read_usage(answer("", {"prompt_tokens": 9, "completion_tokens": 0}), cheap, 0).cost == pytest.approx(9e-6)


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens_details": SimpleNamespace(cached_tokens=100, cache_write_tokens=1500)},
        {"prompt_tokens_details": {"cached_tokens": 100, "cache_creation_tokens": 1500}},
        {"prompt_tokens_details": {"cached_tokens": 100}, "cache_creation_input_tokens": 1500},
    ],
)
def test_what_is_written_to_the_cache_has_its_price(told: dict[str, object]) -> None:
    usage = SimpleNamespace(prompt_tokens=1900, completion_tokens=50, **told)
    price = price_given("openai/any", {"openai/any": (3, 15, 0.3, 3.75)})
    assert price is not None
    read = read_usage(answer("Oslo", usage), shape(price), 0)
    assert read.cost == pytest.approx((300 * 3 + 100 * 0.3 + 1500 * 3.75 + 50 * 15) / 1e6)
    assert price.most(Usage(prompt_tokens=100, completion_tokens=10)) == pytest.approx((100 * 3.75 + 10 * 15) / 1e6)


def test_what_claude_charges_for_its_cache_is_known() -> None:
    price = find_price(find_route("anthropic/claude-sonnet-4-5"))
    assert price == Price(prompt=3e-06, completion=1.5e-05, cached=3e-07, written=3.75e-06)


@pytest.mark.skipif("claude-opus-latest" not in read_shipped(), reason="older releases of LiteLLM list no such names")
def test_what_stands_for_another_model_costs_what_that_does() -> None:
    price = find_price(find_route("claude-opus-latest"))
    assert price is not None
    assert find_window(find_route("claude-opus-latest"))


def test_what_has_no_price_of_its_own_costs_what_is_sent() -> None:
    assert price_given("m", {"m": (1, 2)}) == Price(1e-6, 2e-6, 1e-6, 1e-6)
    assert price_given("m", {"m": (1, 2, 0.5)}) == Price(1e-6, 2e-6, 0.5e-6, 1e-6)
    with pytest.raises(ValueError, match=r"the price of 'm' is dollars per million tokens"):
        price_given("m", {"m": (1, 2, 3, 4, 5)})
