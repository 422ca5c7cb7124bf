"""How providers fail, as answers of the loopback server, and a model behind a network that fails in all these ways."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from minirag.evaluation.loopback import Request, Served, honest


def status(http: int, message: str = "", *, headers: Mapping[str, str] | None = None, **error: Any) -> Served:  # noqa: ANN401
    """An error status with the provider's error object, `code="rate_limit"` and the like go into it."""
    return Served(code=http, error={"message": message or f"status {http}", **error}, headers=headers or {})


def refused_parameter(name: str) -> Served:
    """The 400 by which a provider refuses a parameter."""
    return status(400, f"Unsupported parameter: '{name}'", param=name, code="unsupported_parameter")


def broken_body() -> Served:
    """Status 200 and a body that is no JSON."""
    return Served(body=b'{"choices": [{"mess')


def cut(after: int = 0) -> Served:
    """Close the connection in the middle of the body."""
    return Served(text="never seen whole", cut_after=after)


def empty_choices() -> Served:
    """A completion without any choice."""
    return Served(body={"id": "0", "object": "chat.completion", "created": 0, "model": "loopback", "choices": []})


def refusal(reason: str = "I cannot help with that.") -> Served:
    """The model's refusal, in its own field."""
    return Served(refusal=reason)


def fenced(value: Mapping[str, Any]) -> Served:
    """JSON in a code fence with prose around it."""
    return Served(text=f"Sure, here it is:\n```json\n{json.dumps(value, indent=1)}\n```\nAnything else?")


def truncated(value: Mapping[str, Any], *, finish_reason: str = "length") -> Served:
    """JSON that ends in the middle of a word."""
    whole = json.dumps(value)
    return Served(text=whole[: whole.rindex('"') - 1], finish_reason=finish_reason)


def doubled(value: Mapping[str, Any]) -> Served:
    """The same JSON twice."""
    return Served(text=json.dumps(value) * 2)


def sometimes_failing(rate: float, *, seed: int = 0, delay: float = 0.0) -> Callable[[Request], Served]:
    """The honest model behind a bad network: `rate` of the requests meet one of ten faults, drawn from `seed`."""
    dice, lock = random.Random(seed), threading.Lock()
    faults: list[Served] = [
        status(429, headers={"Retry-After": "0"}),
        status(429),
        status(500),
        status(503),
        broken_body(),
        cut(),
        cut(20),
        empty_choices(),
        Served(text="I am afraid that I lost the thread."),
        Served(text='{"facts": 3, "answer": [], "entities": "none"}'),
    ]

    def serve(request: Request) -> Served:
        with lock:
            fault = dice.choice(faults) if dice.random() < rate else None
        return replace(fault or honest(request), delay=delay)

    return serve
