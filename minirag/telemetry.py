"""OpenTelemetry spans by its conventions for generative AI, for applications that use it; never what was asked or said.

Whoever wants spans has imported `opentelemetry.trace` to say where they go. Where nobody has, nothing is imported, and
a span costs a look-up. Spans nest in the caller's: minirag's loop and threads inherit the caller's context.
"""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

Operation = Literal["chat", "embeddings", "retrieval", "invoke_workflow"]
Value = str | int | float | bool
# LiteLLM's prefixes that the conventions call otherwise.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}


class Span:
    """A span that is open, or the place of one."""

    def __init__(self, span: Any = None) -> None:  # noqa: ANN401  OpenTelemetry's, if it is there
        """Keep it."""
        self._span = span

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Add attributes; those that are None are unknown and left out."""
        if self._span is not None:
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})


@contextmanager
def span(
    operation: Operation, target: str = "", attributes: Mapping[str, Value | None] | None = None
) -> Iterator[Span]:
    """One span around what is done inside.

    Args:
        operation: `gen_ai.operation.name`, the first part of the span's name.
        target: What it is done to or by, the second part.
        attributes: Known from the start.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield Span()
        return
    is_call = operation in ("chat", "embeddings") and "gen_ai.provider.name" in (attributes or {})
    with trace.get_tracer("minirag").start_as_current_span(
        f"{operation} {target}".rstrip(),
        kind=trace.SpanKind.CLIENT if is_call else trace.SpanKind.INTERNAL,
        attributes={"gen_ai.operation.name": operation},
        record_exception=False,  # its message may quote what was sent
        set_status_on_exception=False,
    ) as opened:
        current = Span(opened)
        current.set(attributes or {})
        try:
            yield current
        except (Exception, CancelledError) as error:
            current.set({"error.type": type(error).__name__})
            opened.set_status(trace.Status(trace.StatusCode.ERROR))
            raise


def name_parts(model: str) -> tuple[str, str]:
    """The provider as the conventions call it, and the model as the provider calls it, of a LiteLLM name."""
    provider, slash, name = model.partition("/")
    return (_PROVIDERS.get(provider, provider), name) if slash else ("openai", model)
