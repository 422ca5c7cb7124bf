"""Amazon Bedrock with keys from the environment, through the real LiteLLM and boto3."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import requires

import pytest
from pydantic import BaseModel

from minirag.llm import LLM
from minirag.llm.streaming import Listener
from minirag.records import Ledger
from tests.loopback import Loopback, Request, Script, Served
from tests.providers import PROVIDERS, address, is_streamed

BEDROCK = PROVIDERS["bedrock"]
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
OSLO = '{"place": "Oslo", "year": 1921}'
SECRET = "wJalrXUtnFEMI/K7MDENG/loopbackEXAMPLEKEY"

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? .+ using the `ReadOnly`:UserWarning",
    "ignore:Accessing .+ attribute on the instance:DeprecationWarning",
)


class Place(BaseModel):
    place: str
    year: int


def complete(script: Script, monkeypatch: pytest.MonkeyPatch, listener: Listener | None = None) -> list[Request]:
    with Loopback(script) as server:
        monkeypatch.setenv("AWS_BEDROCK_RUNTIME_ENDPOINT", address(server))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_REGION_NAME", "eu-north-1")
        asked = LLM(BEDROCK.model).complete(ASK, reply=Place, task="read", ledger=Ledger(), listener=listener)
        assert asyncio.run(asked) == Place(place="Oslo", year=1921)
        return server.requests


def test_keys_and_region_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    (request,) = complete(lambda request: BEDROCK.serve(request, OSLO), monkeypatch)
    assert request.path == "/model/anthropic.claude-3-5-haiku-20241022-v1%3A0/converse"
    signed = request.headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-north-1/bedrock/aws4_request" in signed
    assert SECRET not in json.dumps([request.body, dict(request.headers)])
    assert request.body["system"] == [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]
    assert request.body["inferenceConfig"] == {"temperature": 0}
    assert request.body["toolConfig"]["toolChoice"] == {"tool": {"name": "Place"}}


def test_who_may_ask_but_not_stream_is_answered_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(request: Request) -> Served:
        if is_streamed(request):
            action = "bedrock:InvokeModelWithResponseStream"
            return BEDROCK.refuse(403, f"User: x is not authorized to perform: {action} on resource: y")
        return BEDROCK.serve(request, OSLO)

    requests = complete(serve, monkeypatch, Listener("place", lambda _: None))
    assert [is_streamed(request) for request in requests] == [True, False]


def test_litellm_brings_what_signs_the_requests() -> None:
    assert any(wanted.startswith("boto3") and "extra" not in wanted for wanted in requires("litellm") or ())
