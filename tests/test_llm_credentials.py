"""What stands before the @ of an address, keys and headers: sent, and told nowhere."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from minirag.errors import LLMError, LLMSetupError
from minirag.llm import LLM, Retries
from minirag.llm.credentials import find_secrets, split_address
from minirag.llm.transport import import_litellm
from minirag.records import Ledger
from minirag.redacting import redact
from tests.loopback import Loopback, Request, Served, status
from tests.test_llm import text

ENCODED = b64encode(b"usr:p@ss-word").decode()


def _told(request: Request) -> dict[str, str]:
    """The headers that may be secret, first: clients send others of any length, and an error is cut."""
    return {name: value for name, value in request.headers.items() if name in ("authorization", "cf-token")}


ECHO: list[Callable[[Request], Served]] = [
    lambda request: status(400, f"bad: {_told(request)}"),
    lambda request: status(401, f"bad: {_told(request)}"),
    lambda request: status(500, f"bad: {_told(request)}"),
    lambda request: Served(body={"error": {"code": 500, "message": f"bad: {_told(request)}"}}),
    lambda _: status(500, "connect to http://usr:p%40ss-word@127.0.0.1 failed"),
]


def ask(**options: Any) -> str:  # noqa: ANN401
    async def asking() -> str:
        try:
            return await text(llm, Ledger())
        finally:
            await llm.close()

    llm = LLM("openai/any", retries=Retries(attempts=1), **options)
    assert "p%40ss" not in repr(llm)
    return asyncio.run(asking())


def with_credentials(server: Loopback) -> str:
    return server.api_base.replace("http://", "http://usr:p%40ss-word@")


@pytest.mark.parametrize("from_environment", [False, True])
def test_credentials_of_an_address_are_sent_and_not_logged(
    from_environment: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.INFO, logger="httpx")  # LiteLLM sets another once it is imported
    with Loopback(["Oslo"]) as server:
        if from_environment:
            monkeypatch.setenv("OPENAI_BASE_URL", with_credentials(server))
        assert ask(api_base=None if from_environment else with_credentials(server)) == "Oslo"
    assert server.requests[0].headers["authorization"] == f"Basic {ENCODED}"
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "HTTP Request: POST http://127.0.0.1" in logged
    assert not any(secret in logged for secret in ("p@ss", "p%40ss", ENCODED))


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
def test_they_are_sent_by_litellm_too_where_somebody_listens_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm: Any = import_litellm()
    monkeypatch.setattr(litellm, "success_callback", [lambda *_: None])
    with Loopback(["Oslo"] * 2) as server:
        assert ask(api_base=with_credentials(server)) == "Oslo"
        assert ask(api_base=with_credentials(server), extra_headers={"X-Team": "north"}) == "Oslo"
    assert [request.headers["authorization"] for request in server.requests] == [f"Basic {ENCODED}"] * 2
    assert server.requests[1].headers["x-team"] == "north"


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
@pytest.mark.parametrize("kind", ["hosted_vllm", "ollama", "router"])
def test_where_litellm_takes_none_that_is_told_at_once(kind: str) -> None:
    litellm: Any = import_litellm()
    with Loopback() as server:
        if kind == "router":
            deployment = {"model": "openai/dep", "api_base": with_credentials(server), "api_key": "none"}
            llm = LLM(litellm.Router(model_list=[{"model_name": "group", "litellm_params": deployment}]))
        else:
            llm = LLM(f"{kind}/any", api_base=with_credentials(server))
        with pytest.raises(LLMSetupError, match="LiteLLM takes no user and password in an address") as caught:
            asyncio.run(text(llm, Ledger()))
        assert server.requests == []
    assert not any(secret in str(caught.value) for secret in ("ss-word", "usr", ENCODED))


@pytest.mark.parametrize("serve", ECHO)
def test_credentials_of_an_address_are_in_no_error(serve: Callable[[Request], Served]) -> None:
    with Loopback(serve) as server, pytest.raises(LLMError, match=r"\[key\]") as caught:
        ask(api_base=with_credentials(server))
    assert not any(secret in str(caught.value) for secret in ("ss-word", ENCODED))


@pytest.mark.parametrize("serve", ECHO[:4])
def test_a_header_of_ones_own_is_in_no_error(serve: Callable[[Request], Served]) -> None:
    headers = {"Cf-Token": "of-my-own-77777", "Accept-Language": "de"}
    with Loopback(serve) as server, pytest.raises(LLMError, match="bad") as caught:
        ask(api_base=server.api_base, api_key="k", extra_headers=headers)
    assert "of-my-own-77777" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
@pytest.mark.parametrize("serve", ECHO[:3])
def test_a_deployments_key_is_in_no_error(serve: Callable[[Request], Served]) -> None:
    litellm: Any = import_litellm()
    with Loopback(serve) as server:
        deployment = {"model": "openai/dep", "api_base": server.api_base, "api_key": "of-a-deployment"}
        router = litellm.Router(model_list=[{"model_name": "group", "litellm_params": deployment}])
        llm = LLM(router, retries=Retries(attempts=1))
        with pytest.raises(LLMError, match="bad") as caught:
            asyncio.run(text(llm, Ledger()))
    assert "of-a-deployment" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "without", "authorization"),
    [
        ("http://127.0.0.1:80/v1", "http://127.0.0.1:80/v1", None),
        ("http://usr:p%40ss-word@host:80/v1?a=b", "http://host:80/v1?a=b", f"Basic {ENCODED}"),
        ("https://token@[::1]:80/v1", "https://[::1]:80/v1", "Basic " + b64encode(b"token:").decode()),
        ("", "", None),
    ],
)
def test_an_address_is_split(address: str, without: str, authorization: str | None) -> None:
    assert split_address(address) == (without, authorization)


def test_what_no_message_may_hold() -> None:
    found = find_secrets(
        key="abcd",
        api_base="http://usr:p%40ss-word@host/v1",
        options={
            "extra_headers": {"X-Api-Key": "in-a-header", "Accept-Language": "de", "Cookie": "a=in-a-cookie; b=other"},
            "aws_session_token": "of-amazon",
            "vertex_credentials": '{"type": "service_account", "private_key": "of-google\\nline"}',
            "max_tokens": 100,
            "stop": "nothing secret",
        },
        deployments=[
            {
                "litellm_params": {
                    "api_key": "of-a-deployment",
                    "api_base": "http://u:pw@host",
                    "extra_headers": {"Authorization": f"Basic {ENCODED}"},
                }
            }
        ],
    )
    assert found == (
        *("abcd", ENCODED, "p%40ss-word", "p@ss-word", "in-a-header"),
        *("a=in-a-cookie; b=other", "in-a-cookie", "other"),
        *("of-amazon", "of-google\nline", r"of-google\nline", "line"),
        *(b64encode(b"u:pw").decode(), "of-a-deployment", f"Basic {ENCODED}"),
    )
    assert find_secrets(key=None, api_base="http://[broken", options={}) == ()


@pytest.mark.parametrize("key", ["x", "-", "none", "EMPTY", "sk-test", "not-needed"])
def test_what_only_stands_in_the_place_of_a_key_is_no_secret(key: str) -> None:
    assert find_secrets(key=key, api_base=None, options={}) == ()


def test_a_short_secret_is_redacted_as_a_word_alone() -> None:
    assert redact("max_tokens, tokens and hunter2.", ["tokens", "hunter2"]) == "max_tokens, [key] and [key]."
    assert redact("xhunter-hush-1y", ["hunter-hush-1"]) == "x[key]y"


@pytest.mark.parametrize("key", ["x", "tokens", "max_tokens", "max_completion_tokens"])
def test_a_key_that_is_in_the_providers_words_does_not_keep_them_from_being_understood(key: str) -> None:
    def serve(request: Request) -> Served:
        said = "max_tokens is not supported with this model, use max_completion_tokens"
        return status(400, said) if "max_tokens" in request.body else Served(text="Oslo")

    with Loopback(serve) as server:
        assert ask(api_base=server.api_base, api_key=key, max_tokens=100) == "Oslo"
    assert "max_completion_tokens" in server.requests[1].body


@pytest.mark.parametrize("name", ["Authorization", "X-My-Key"])
def test_a_server_that_repeats_a_header_without_its_scheme_leaks_nothing(name: str) -> None:
    def serve(request: Request) -> Served:
        return status(401, f"not for <{request.headers[name.lower()].removeprefix('Bearer ')}>")

    with Loopback(serve) as server, pytest.raises(LLMSetupError, match=r"not for <\[key\]>"):
        ask(api_base=server.api_base, extra_headers={name: "Bearer zq7-hush-hush-451"})


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
def test_an_option_that_is_a_secret_by_its_name_is_in_no_error() -> None:
    def serve(request: Request) -> Served:
        return status(401, f"not for <{request.headers['authorization'].removeprefix('Bearer ')}>")

    with Loopback(serve) as server:
        options: dict[str, Any] = {"azure_ad_token": "zq7-hush-hush-451", "api_version": "2024-06-01"}
        llm = LLM("azure/dep", api_base=server.api_base, retries=Retries(attempts=1), **options)
        with pytest.raises(LLMSetupError, match=r"not for <\[key\]>"):
            asyncio.run(text(llm, Ledger()))


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
def test_a_deployments_headers_are_in_no_error() -> None:
    litellm: Any = import_litellm()
    with Loopback(lambda request: status(401, f"not for <{request.headers['x-my-key']}>")) as server:
        deployment = {
            "model": "hosted_vllm/dep",
            "api_base": server.api_base,
            "extra_headers": {"X-My-Key": "zq7-hush-hush-451"},
        }
        router = litellm.Router(model_list=[{"model_name": "group", "litellm_params": deployment}])
        with pytest.raises(LLMError, match=r"not for <\[key\]>"):
            asyncio.run(text(LLM(router, retries=Retries(attempts=1)), Ledger()))


def test_what_looks_like_basic_credentials_is_redacted() -> None:
    assert redact(f"authorization: Basic {ENCODED}, x") == "authorization: Basic [key], x"
    assert redact("Basic authentication is needed") == "Basic authentication is needed"
