"""OpenTelemetry spans, by its real SDK, into memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask, stream
from minirag.errors import LLMSetupError
from minirag.evaluation.honest import honest_reply
from minirag.llm.routing import find_provider, find_route
from minirag.llm.transport import import_litellm
from minirag.telemetry import provider_name
from tests.extras import need
from tests.loopback import Loopback, honest, status

pytestmark = [
    pytest.mark.extra,
    pytest.mark.filterwarnings("ignore:Items? .+ using the `ReadOnly`:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing .+ attribute on the instance:DeprecationWarning"),
]
trace = need("opentelemetry.trace")
export = need("opentelemetry.sdk.trace.export")
in_memory = need("opentelemetry.sdk.trace.export.in_memory_span_exporter")
sdk = need("opentelemetry.sdk.trace")

DOCUMENTS = [
    Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)"),
    Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards"),
]
QUESTION = "Where was the director of Aylwin born?"


@pytest.fixture(scope="module")
def exporter() -> Any:  # noqa: ANN401
    """OpenTelemetry takes one provider for the life of a process."""
    exporter = in_memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: Any) -> Iterator[Any]:  # noqa: ANN401
    exporter.clear()
    yield exporter.get_finished_spans
    exporter.clear()


def opened(path: Path, server: Loopback, model: str = "openai/any") -> Index:
    return Index(path, model=model, api_base=server.api_base, api_key="secret")


def test_adding_and_asking_are_spans_around_calls_and_encoding(tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server) as index:
        tracer = trace.get_tracer("application")
        with tracer.start_as_current_span("request"):
            index.add(DOCUMENTS, progress=False)
            ask(QUESTION, index)
    found = {span.context.span_id: span for span in spans()}
    parents = [(s.name, found[s.parent.span_id].name if s.parent else None) for s in found.values()]
    assert parents.count(("chat any", "invoke_workflow minirag.add")) == 3
    assert parents.count(("chat any", "invoke_workflow minirag.ask")) == 1
    assert ("retrieval", "invoke_workflow minirag.ask") in parents
    assert {parent for name, parent in parents if name.startswith("embeddings")} == {
        "retrieval",
        "invoke_workflow minirag.add",
    }
    assert {parent for name, parent in parents if name.startswith("invoke")} == {"request"}
    assert len({span.context.trace_id for span in found.values()}) == 1


def test_a_call_is_told_by_the_conventions_and_nothing_of_its_content(tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server) as index:
        index.add(DOCUMENTS, progress=False)
        answer = ask(QUESTION, index)
    call = next(span for span in spans() if span.attributes.get("minirag.task") == "read")
    assert call.kind is trace.SpanKind.CLIENT
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "any",
        "gen_ai.response.model": "any",
        "gen_ai.output.type": "json",
        "gen_ai.usage.input_tokens": answer.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": answer.usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "minirag.task": "read",
        "minirag.attempts": 1,
    }
    everything = " ".join(span.to_json() for span in spans())
    assert not any(said in everything for said in ("Aylwin", "Weston", "secret"))


def test_a_failure_is_told_by_its_kind(tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    with (
        Loopback([status(401, "Incorrect API key provided: secret")]) as server,
        opened(tmp_path / "notes.usearch", server) as index,
        pytest.raises(LLMSetupError, match="Incorrect"),
    ):
        index.add(DOCUMENTS[0], progress=False)
    call = next(span for span in spans() if span.name == "chat any")
    assert call.attributes["error.type"] == "LLMSetupError"
    assert call.status.status_code is trace.StatusCode.ERROR
    assert (call.events, call.status.description) == ((), None)


@pytest.mark.parametrize(
    ("model", "api_base", "provider", "name"),
    [
        ("openai/gpt-4o-mini", None, "openai", "gpt-4o-mini"),
        ("gpt-4o-mini", None, "openai", "gpt-4o-mini"),
        ("bedrock/anthropic.claude", None, "aws.bedrock", "anthropic.claude"),
        ("gemini/gemini-2.5-pro", None, "gcp.gemini", "gemini-2.5-pro"),
        ("gemini-2.5-pro", None, "gcp.vertex_ai", "gemini-2.5-pro"),  # "vertex_ai-language-models" in LiteLLM's map
        ("claude-sonnet-4-5", None, "anthropic", "claude-sonnet-4-5"),
        ("azure_ai/phi", None, "azure.ai.inference", "phi"),
        ("azure/phi", None, "azure.ai.openai", "phi"),
        ("groq/llama", "http://127.0.0.1/v1", "groq", "llama"),
        ("nobody-knows-this", None, "litellm", "nobody-knows-this"),
        ("Qwen/Qwen3-8B", "http://127.0.0.1/v1", "openai", "Qwen/Qwen3-8B"),  # by its protocol
    ],
)
def test_providers_have_the_names_of_the_conventions(
    model: str, api_base: str | None, provider: str, name: str
) -> None:
    found, named = find_provider(find_route(model, api_base=api_base))
    assert (provider_name(found), named) == (provider, name)


def answering(messages: list[dict[str, str]]) -> str:
    return json.dumps(honest_reply(messages[-1]["content"]))


def test_a_function_of_ones_own_is_no_providers(tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    with Index(tmp_path / "notes.usearch", model=answering) as index:
        index.add(DOCUMENTS[0], progress=False)
    (call,) = (span for span in spans() if span.attributes["gen_ai.operation.name"] == "chat")
    assert call.kind is trace.SpanKind.INTERNAL
    assert "gen_ai.usage.input_tokens" not in call.attributes  # nobody counted
    assert (call.attributes["gen_ai.provider.name"], call.name) == ("custom", "chat tests.test_telemetry.answering")


def test_who_answered_for_a_router_is_known_by_its_answers(tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    litellm = import_litellm()
    with Loopback(honest) as server:
        deployment = {"model": "hosted_vllm/dep", "api_base": server.api_base, "api_key": "none"}
        router = litellm.Router(model_list=[{"model_name": "group", "litellm_params": deployment}])
        with Index(tmp_path / "notes.usearch", model=router) as index:
            index.add(DOCUMENTS, progress=False)
            list(stream(QUESTION, index))
    calls = [span.attributes for span in spans() if span.attributes["gen_ai.operation.name"] == "chat"]
    assert len(calls) == 4
    named = ("gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")
    assert {tuple(call[name] for name in named) for call in calls} == {("hosted_vllm", "group", "dep")}


@pytest.mark.parametrize("model", ["openai/any", "hosted_vllm/any"])
def test_a_streamed_call_tells_the_same(model: str, tmp_path: Path, spans: Any) -> None:  # noqa: ANN401
    with Loopback(honest) as server, opened(tmp_path / "notes.usearch", server, model) as index:
        index.add(DOCUMENTS, progress=False)
        list(stream(QUESTION, index))
        ask(QUESTION, index)
    streamed, whole = (dict(s.attributes) for s in spans() if s.attributes.get("minirag.task") == "read")
    assert streamed.pop("gen_ai.request.stream") is True
    assert streamed == whole
    assert (whole["gen_ai.provider.name"], whole["gen_ai.response.model"]) == (model.partition("/")[0], "any")


def test_where_nobody_uses_it_it_is_not_imported(tmp_path: Path) -> None:
    code = """
import sys
from minirag import Index, ask
with Index(sys.argv[1], model="offline") as index:
    index.add("Aylwin was directed by Henry Edwards.", progress=False)
    ask("Who directed Aylwin?", index)
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "notes.usearch")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
