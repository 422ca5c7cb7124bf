"""OpenTelemetry spans by its conventions for generative AI, for applications that use it; never what was asked or said.

Whoever wants spans has imported `opentelemetry.trace` to say where they go. Where nobody has, nothing is imported, and
a span costs a look-up. Spans nest in the caller's: minirag's loop and threads inherit the caller's context.
"""

from __future__ import annotations

import re
import sys
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

Operation = Literal["chat", "embeddings", "retrieval", "invoke_workflow"]
Value = str | int | float | bool
OWN_FUNCTION = "custom"  # the provider's name where an application answers itself: no call leaves it by minirag
# LiteLLM's providers that the conventions call otherwise, with all of their kinds ("bedrock_converse").
_PROVIDERS = {
    "azure_ai": "azure.ai.inference",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "cohere": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "text-completion-openai": "openai",
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
    is_call = (attributes or {}).get("gen_ai.provider.name", OWN_FUNCTION) != OWN_FUNCTION
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


def provider_name(provider: str) -> str:
    """What the conventions call a provider of LiteLLM's; those that they do not know keep LiteLLM's name."""
    return next((name for prefix, name in _PROVIDERS.items() if re.match(rf"{prefix}(?:_|-|$)", provider)), provider)
