"""Addresses at which nobody answers, before anybody did and after."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from minirag import Document, Index
from minirag.errors import LLMSetupError
from minirag.llm import LLM, Retries
from minirag.llm.faults import read_fault
from minirag.llm.transport import import_litellm
from minirag.records import Ledger
from tests.loopback import Loopback
from tests.test_llm import text


def ask(llm: LLM) -> str:
    async def asking() -> str:
        try:
            return await text(llm, Ledger())
        finally:
            await llm.close()

    return asyncio.run(asking())


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is taken, so that nobody else comes to listen there, and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("openai/any", "127.0.0.1"),
        ("openai/any", "localhost"),
        ("openai/any", "name:secret@127.0.0.1"),
        ("hosted_vllm/any", "127.0.0.1"),
        ("hosted_vllm/any", "localhost"),
    ],
)
def test_where_nobody_listens_few_attempts_are_made(closed_port: int, model: str, host: str) -> None:
    llm = LLM(model, api_base=f"http://{host}:{closed_port}/v1")
    expected = (
        rf"^{model}: nobody answers at {host.rpartition('@')[2]}:{closed_port} "
        rf"\(5 attempts in \d s: .+\)\. "
        r"Is the server started, the address right, and a network there\?$"
    )
    with pytest.raises(LLMSetupError, match=expected):
        ask(llm)


def test_fewer_attempts_are_made_where_fewer_are_allowed(closed_port: int) -> None:
    llm = LLM("openai/any", api_base=f"http://127.0.0.1:{closed_port}/v1", retries=Retries(attempts=2))
    with pytest.raises(LLMSetupError, match=r"\(2 attempts in 0 s"):
        ask(llm)


def test_an_add_ends_and_goes_on_once_the_server_is_there(tmp_path: Path, closed_port: int) -> None:
    documents = [Document(f"d{n}", f"Person {n} was born in Bergen.") for n in range(40)]
    path = tmp_path / "notes.usearch"
    with (
        Index(path, model="openai/any", api_base=f"http://127.0.0.1:{closed_port}/v1") as index,
        pytest.raises(LLMSetupError, match=f"nobody answers at 127.0.0.1:{closed_port}"),
    ):
        index.add(documents, progress=False)
    with Loopback() as server, Index(path, model="openai/any", api_base=server.api_base) as index:
        assert len(index) == 0
        assert len(index.add(documents, progress=False).added) == 40


def test_a_server_that_answered_before_is_waited_for() -> None:
    async def ask_twice() -> str:
        with Loopback(["Bergen"]) as server:
            llm = LLM("openai/any", api_base=server.api_base)
            await text(llm, Ledger())
            port = urlsplit(server.api_base).port or 0
        waiting = asyncio.create_task(text(llm, Ledger()))
        await asyncio.sleep(2.5)  # longer than those five attempts take
        assert not waiting.done()
        with Loopback(["Oslo"], port=port):
            try:
                return await waiting
            finally:
                await llm.close()

    assert asyncio.run(ask_twice()) == "Oslo"


@pytest.mark.parametrize(
    ("nearest", "reason"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "[Errno -2] Name or service not known"),
        (ExceptionGroup("two addresses", [ConnectionRefusedError("the first"), OSError("the second")]), "the first"),
    ],
)
def test_no_connection_came_about(nearest: Exception, reason: str) -> None:
    error = OSError("Connection error.")
    error.__cause__ = nearest
    fault = read_fault(error)
    assert (fault.kind, fault.reason) == ("absent", reason)


def test_a_connection_that_broke_did_come_about() -> None:
    error = OSError("Connection error.")
    error.__cause__ = ConnectionResetError("peer closed connection")
    assert read_fault(error).kind == "transient"


def test_a_client_s_traceback_is_no_reason() -> None:
    error = OSError("Invalid response object Traceback (most recent call last):\n  File x.py, line 3")
    assert read_fault(error).reason == "Invalid response object"


@pytest.mark.parametrize(
    "address",
    [
        *("localhost:8000/v1", "127.0.0.1:80", "htp://host", "http:///v1", "http://host:port", "http://host:99999"),
        *("[::1", "http://local host:8000/v1", "http://h\n/v1", "http://h/v 1", "http://h\u00a0/v1", "http://h/\x7f"),
    ],
)
def test_what_is_no_address_is_told_before_any_call(address: str) -> None:
    told = f"api_base must be an address such as 'http://localhost:8000/v1', with http or https, not {address!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        LLM("openai/any", api_base=address)
    with pytest.raises(ValueError, match=r"with http or https$"):
        LLM("openai/any", api_base=f"name:secret@{address}")


def test_blanks_around_an_address_are_none_of_it() -> None:
    with Loopback(["Oslo"]) as server:
        assert ask(LLM("openai/any", api_base=f" {server.api_base}\n")) == "Oslo"


def test_an_address_in_the_environment_is_told_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000/v1")
    llm = LLM("openai/any", api_key="none")
    with pytest.raises(LLMSetupError, match=r"OPENAI_BASE_URL must be an address such as .+, not 'localhost:8000/v1'$"):
        ask(llm)


@pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning")
def test_a_deployment_without_an_address_is_not_tried_again() -> None:
    litellm: Any = import_litellm()
    deployment = {"model": "openai/dep", "api_base": "localhost:8000/v1", "api_key": "none"}
    router = litellm.Router(model_list=[{"model_name": "group", "litellm_params": deployment}])
    with pytest.raises(LLMSetupError, match=r"^group: "):
        ask(LLM(router))
