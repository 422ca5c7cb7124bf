"""OpenTelemetry spans, by its real SDK, into memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.errors import LLMSetupError
from minirag.telemetry import name_parts
from tests.extras import need
from tests.loopback import Loopback, honest, status

pytestmark = pytest.mark.extra
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


def opened(path: Path, server: Loopback) -> Index:
    return Index(path, model="openai/any", api_base=server.api_base, api_key="secret")


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
    ("model", "parts"),
    [
        ("openai/gpt-4o-mini", ("openai", "gpt-4o-mini")),
        ("gpt-4o-mini", ("openai", "gpt-4o-mini")),
        ("bedrock/anthropic.claude", ("aws.bedrock", "anthropic.claude")),
        ("gemini/gemini-2.5-pro", ("gcp.gemini", "gemini-2.5-pro")),
        ("groq/llama", ("groq", "llama")),
    ],
)
def test_providers_have_the_names_of_the_conventions(model: str, parts: tuple[str, str]) -> None:
    assert name_parts(model) == parts


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
