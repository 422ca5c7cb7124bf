"""What is known of a request, what it took, and who is told: the ledger, the log, and a span."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from minirag import telemetry
from minirag.errors import LLMError
from minirag.llm.completions import provider_of
from minirag.llm.prices import Price
from minirag.llm.streaming import Listener
from minirag.records import Budget, Call, Ledger, Task, Usage

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Purpose:
    """What requests are for.

    Attributes:
        task: Under which they are counted.
        ledger: Where they are counted.
        number: When the work began that they are a part of; the smallest goes first.
        listener: Hears the reply while it arrives.
    """

    task: Task
    ledger: Ledger
    number: float
    listener: Listener | None = None

    def going_on(self) -> Purpose:
        """The same for a further request, which is heard only if nothing was heard so far."""
        return replace(self, listener=None) if self.was_heard else self

    @property
    def was_heard(self) -> bool:
        """Whether something of the reply was told, so that it cannot be asked for again as if nothing was."""
        return self.listener is not None and self.listener.has_told


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a request before it is sent.

    Attributes:
        mode: How the form of the reply is asked for.
        sent: About how many tokens it has.
        most_received: The most tokens that its answer may have, None where nothing limits it.
        price: Dollars per token at most, None where unknown.
        served: Who serves the model, as LiteLLM calls them, and its name there.
        texts: What is sent, which a provider may repeat when it refuses.
        priced: Gives the dollars per token of an answer, which depend on who gave it; None where they do not.
    """

    mode: str
    sent: int
    most_received: int | None
    price: Price | None
    served: tuple[str, str]
    texts: tuple[str, ...]
    priced: Callable[[object], Price | None] | None = None

    def price_of(self, answer: object) -> Price | None:
        """Dollars per token of an answer, None where unknown."""
        return self.price if self.priced is None else self.priced(answer)


@dataclass(slots=True)
class Sending:
    """A request on its way, with its retries."""

    purpose: Purpose
    shape: Shape
    started: float
    attempts: int = 0
    seconds_open: float = 0.0
    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Count an answer."""
        self.usage += usage
        self.purpose.ledger.add(self.purpose.task, usage)

    def estimate(self, budget: Budget, price: Price) -> float:
        """Dollars that one attempt may take, rather too many."""
        most = self.shape.most_received
        received = budget.most_received(self.purpose.task) if most is None else most
        return price.most(Usage(prompt_tokens=self.shape.sent, completion_tokens=received))

    def end(self, model: str, error: LLMError | None) -> dict[str, int | None]:
        """Note in the ledger and the log how it ended, and give what a span tells of it."""
        mode, usage, ledger = self.shape.mode, self.usage, self.purpose.ledger
        seconds = ledger.now() - self.started
        reason = str(error) if error is not None else None
        call = Call(self.purpose.task, model, mode, self.attempts, self.started, seconds, usage, reason)
        ledger.note(call)
        told = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
        _log.debug(
            "%s by %s, %s: %d attempts, %.2f s, %s%s",
            *(call.task, model, mode, self.attempts, seconds, "tokens unknown" if usage.uncounted else told),
            f": {reason}" if reason else "",
        )
        is_counted = not usage.uncounted  # else the span leaves it out
        return {
            "gen_ai.usage.input_tokens": usage.prompt_tokens if is_counted else None,
            "gen_ai.usage.output_tokens": usage.completion_tokens if is_counted else None,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens if is_counted else None,
            "minirag.attempts": self.attempts,
        }


def open_span(purpose: Purpose, shape: Shape) -> AbstractContextManager[telemetry.Span]:
    """A span around a request, its retries included."""
    provider, name = shape.served
    attributes: dict[str, telemetry.Value | None] = {
        "gen_ai.provider.name": telemetry.provider_name(provider),
        "gen_ai.request.model": name,
        "minirag.task": purpose.task,
    }
    if shape.mode == "vectors":
        return telemetry.span("embeddings", name, attributes)
    attributes |= {
        "gen_ai.output.type": "text" if shape.mode == "text" else "json",
        "gen_ai.request.stream": True if purpose.listener else None,
        "gen_ai.request.max_tokens": shape.most_received,
    }
    return telemetry.span("chat", name, attributes)


def describe_response(response: Any) -> dict[str, str | None]:  # noqa: ANN401
    """What a span tells of an answer; LiteLLM's know who gave them."""
    model = getattr(response, "model", None)
    provider = provider_of(response)
    return {
        "gen_ai.response.model": model if isinstance(model, str) and model else None,
        "gen_ai.provider.name": telemetry.provider_name(provider) if provider else None,
    }
