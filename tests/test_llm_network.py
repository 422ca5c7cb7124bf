"""What is wrong with the way to a server is told at once, with what to do."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minirag.errors import LLMSetupError, LLMUnavailableError
from minirag.llm import LLM, Retries
from minirag.llm.network import environment_problem, find_proxy
from minirag.llm.streaming import Listener
from minirag.records import Ledger
from tests.loopback import Entry, Loopback, Request, Served, status
from tests.test_llm import ASK, LITELLM, QUICK, Place, text

VARIABLES = ("SSL_CERT_FILE", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PAGE = Served(pieces=[b"<!doctype html><html><body>Open WebUI</body></html>"], headers={"Content-Type": "text/html"})


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def refused(script: list[Entry] | Callable[[Request], Entry], **options: Any) -> tuple[str, int]:  # noqa: ANN401
    """What is told, in less than the time of a call that is tried again, and how many requests came."""

    async def ask(llm: LLM) -> None:
        try:
            await text(llm, Ledger())
        finally:
            await llm.close()

    start = time.perf_counter()
    with Loopback(script) as server:
        llm = LLM(options.pop("model", "openai/any"), api_base=server.api_base, api_key="secret-key", **options)
        with pytest.raises(LLMSetupError, match="any: ") as caught:
            asyncio.run(ask(llm))
        told = str(caught.value).replace(server.api_base.split("/")[2], "SERVER")
    assert time.perf_counter() - start < 15
    return told, len(server.requests)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (
            "SSL_CERT_FILE",
            "/nowhere/ca.pem",
            "/nowhere/ca.pem, which SSL_CERT_FILE names, cannot be read: No such file",
        ),
        ("SSL_CERT_FILE", __file__, f"{__file__}, which SSL_CERT_FILE names, is no file of certificates. Set it to"),
        (
            "ALL_PROXY",
            "socks4://127.0.0.1:1",
            "ALL_PROXY names the proxy 127.0.0.1:1 by socks4://, which cannot be spoken",
        ),
        ("HTTP_PROXY", "http://u:hush@127.0.0.1:port", "HTTP_PROXY names a proxy by what is no address, such as"),
    ],
)
def test_an_environment_in_which_nothing_can_be_called_is_told_before_any_call(
    name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setenv(name, value)
    message, requests = refused(["Oslo"])
    assert message.startswith(f"openai/any: {told}")
    assert requests == 0
    assert "hush" not in message
    assert caplog.records == []  # such as a task of a client that was made by half, and failed once more


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:hunter22@127.0.0.1:9")
    message, requests = refused(["Oslo"])
    assert message.startswith(
        "openai/any: nobody answers at SERVER through the proxy 127.0.0.1:9 (HTTP_PROXY) (5 attempts"
    )
    assert message.endswith("Is the proxy there? NO_PROXY names hosts that are called without it")
    assert requests == 0


def test_the_proxy_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_proxy("http://host/v1") is None
    monkeypatch.setenv("ALL_PROXY", "u:hush@all:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://secure:2")
    monkeypatch.setenv("NO_PROXY", "localhost,near")
    told = [find_proxy(address) for address in ("http://far/v1", "https://far/v1", "", "https://near/v1", "http://[x")]
    assert told == ["all:1 (ALL_PROXY)", "secure:2 (HTTPS_PROXY)", "secure:2 (HTTPS_PROXY)", None, None]
    assert environment_problem() is None


def test_a_file_of_certificates_is_no_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import certifi

    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert environment_problem() is None
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    assert environment_problem() is not None


@LITELLM
@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_a_web_page_tells_of_a_wrong_address(model: str) -> None:
    message, requests = refused(lambda _: PAGE, model=model)
    told = "SERVER gives a web page in the place of an answer: an api_base usually ends in /v1"
    assert (message, requests) == (f"{model}: {told}", 2)


def test_so_it_does_in_the_place_of_a_stream_and_of_vectors() -> None:
    async def ask(llm: LLM) -> None:
        listener = Listener("place", lambda _: None)
        with pytest.raises(LLMSetupError, match="gives a web page in the place of an answer"):
            await llm.complete(ASK, reply=Place, task="read", ledger=Ledger(), listener=listener)
        with pytest.raises(LLMSetupError, match="gives a web page in the place of an answer"):
            await llm.embed(["a"], ledger=Ledger())
        await llm.close()

    with Loopback([PAGE] * 4) as server:
        asyncio.run(ask(LLM("openai/any", api_base=server.api_base)))


def test_a_page_after_an_answer_passes() -> None:
    async def ask(llm: LLM) -> list[str]:
        answers = [await text(llm, Ledger()) for _ in range(2)]
        with pytest.raises(LLMUnavailableError, match=r"gave up after 3 attempts .*: a web page in the place"):
            await text(llm, Ledger())
        await llm.close()
        return answers

    with Loopback(["Oslo", PAGE, PAGE, "Rome", PAGE, PAGE, PAGE]) as server:
        assert asyncio.run(ask(LLM("openai/any", api_base=server.api_base, retries=QUICK))) == ["Oslo", "Rome"]


@pytest.mark.parametrize(
    ("served", "told"),
    [
        (
            Served(body={"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
            "Unexpected endpoint or method",
        ),
        (status(407, "Proxy Authentication Required"), "Proxy Authentication Required"),
    ],
)
def test_what_never_passes_is_told_after_one_request(served: Served, told: str) -> None:
    message, requests = refused([served], retries=Retries())
    assert told in message
    assert requests == 1
