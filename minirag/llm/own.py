"""Models that the user brings as objects: a LiteLLM `Router`, or a function from messages to text."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, TypeGuard

from minirag.errors import LLMError, LLMSetupError
from minirag.llm.caching import mark_constant
from minirag.redacting import one_line, redact

Messages = Sequence[Mapping[str, str]]
Answering = Callable[[list[dict[str, str]]], str | Awaitable[str]]
"""Takes a conversation, a list of messages with `role` and `content`, and gives the reply's text, awaited or not."""


def is_router(model: object) -> bool:
    """Whether it is a LiteLLM `Router`; LiteLLM need not be imported for that."""
    return any(kind.__module__.startswith("litellm.") and kind.__name__ == "Router" for kind in type(model).__mro__)


def is_answering(model: object) -> TypeGuard[Answering]:
    """Whether it is a function that answers."""
    return callable(model) and not inspect.isclass(model) and not is_router(model)


def only_group(router: Any) -> str:  # noqa: ANN401
    """The model group of a router that has one.

    Raises:
        ValueError: If it has several, or none.
    """
    registry = getattr(router, "registry", None)  # since 1.110, where the older way warns
    groups = sorted(set(router.get_model_names() if registry is None else registry().names(team_id=None)))
    if len(groups) != 1:
        has = f"the model groups {', '.join(groups)}" if groups else "no model group"
        first = repr((groups or ["fast"])[0])
        raise ValueError(
            f"this router has {has}: name one, as in model={first}, router=router, or LLM({first}, router=router) "
            "for a task of its own"
        )
    return str(groups[0])


def deployments_of(model: Any) -> list[Any]:  # noqa: ANN401
    """A router's deployments as it was given them, with their keys; of another model none."""
    if not is_router(model):
        return []
    registry = getattr(model, "registry", None)  # as above
    return list(model.model_list if registry is None else registry().all())


def deployments_behind(router: Any, group: str) -> list[Any]:  # noqa: ANN401
    """A router's deployments that may answer to a name: a model group, another name of one, or a pattern's."""
    registry = getattr(router, "registry", None)
    found = router.get_model_list(group) if registry is None else registry().deployments(group, source="group")
    return list(found or ())


def find_deployment(router: Any, named: str, group: str) -> Any:  # noqa: ANN401
    """The deployment of a router that has this id, of a name's own first; None if it has none by now."""
    of_all = [*deployments_behind(router, group), *deployments_of(router)]
    return next((each for each in of_all if (each.get("model_info") or {}).get("id") == named), None)


def name_of(answering: Answering) -> str:
    """What a function is called in reports and cache keys: its attribute `model`, else module and name."""
    named = getattr(answering, "model", None)
    if isinstance(named, str) and named.strip():
        return named
    target = answering if hasattr(answering, "__qualname__") else type(answering)
    return f"{target.__module__}.{target.__qualname__}"


class RouterTransport:
    """A LiteLLM router, whose groups, fallbacks, cool-downs and callbacks apply; retrying is left to minirag."""

    def __init__(self, router: Any, group: str, *, timeout: float, marks: bool) -> None:  # noqa: ANN401
        """Keep what each call passes on; `marks` says whether to tell what of a prompt stays the same."""
        self._router, self._marks = router, marks
        self._options: dict[str, Any] = {"model": group, "timeout": timeout, "num_retries": 0, "max_retries": 0}

    async def complete(self, messages: Messages, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """A chat completion by a deployment of the group."""
        marked = mark_constant(messages) if self._marks else list(messages)
        return await self._router.acompletion(messages=marked, **self._options, **parameters)

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401
        """Embeddings by a deployment of the group."""
        return await self._router.aembedding(input=list(texts), **self._options)

    async def close(self) -> None:
        """Nothing: the router is the user's."""


class FunctionTransport:
    """A function of the user's. What is no fault of a provider ends the run: it is a bug, which the user wants to see.

    The function knows no parameters. A plain one runs on a thread, several side by side; a cancelled call leaves it
    running and drops what it gives, and the process ends without waiting for it.
    """

    def __init__(self, answering: Answering, name: str, *, max_parallel: int) -> None:
        """Keep the function; it runs on so many threads at once, those of cancelled calls included."""
        self._answering, self._name = answering, name
        self._places = threading.Semaphore(max_parallel)

    async def complete(self, messages: Messages, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401, ARG002
        """What the function gives, in the shape of a completion.

        Raises:
            LLMError: As the function raised it, or an `LLMSetupError` for what it raised by mistake.
        """
        try:
            text = await self._answer([dict(message) for message in messages])
        except Exception as error:
            if isinstance(error, LLMError) or _is_of_provider(error):
                raise
            raise LLMSetupError(self._name, f"raised {type(error).__name__}: {_told(str(error))}") from error
        if not isinstance(text, str):
            raise LLMSetupError(
                self._name, f"gave {type(text).__name__} {_told(repr(text), 100)}, not the text of a reply"
            )
        message = SimpleNamespace(content=text, refusal=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=None)

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401, ARG002
        """A function answers, and makes no vectors."""
        raise LLMSetupError(self._name, "is a function that answers, and makes no vectors")

    async def close(self) -> None:
        """Nothing: threads end with their calls."""

    async def _answer(self, messages: list[dict[str, str]]) -> Any:  # noqa: ANN401
        function = self._answering
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(messages)  # type: ignore[misc]  # checked in the line above
        given = await self._in_daemon(messages)
        return await given if inspect.isawaitable(given) else given

    async def _in_daemon(self, messages: list[dict[str, str]]) -> Any:  # noqa: ANN401
        """What it gives, on a thread that the end of the process does not wait for, as it does for an executor's."""
        done: Future[Any] = Future()

        def work() -> None:
            with self._places:
                if not done.set_running_or_notify_cancel():
                    return
                try:
                    done.set_result(self._answering(messages))
                except StopIteration as error:  # which no future takes
                    done.set_exception(RuntimeError(f"StopIteration: {error}"))
                except BaseException as error:  # noqa: BLE001  # it is raised where the call is awaited
                    done.set_exception(error)

        threading.Thread(target=work, name="minirag-function", daemon=True).start()
        return await asyncio.wrap_future(done)


def _told(text: str, limit: int = 300) -> str:
    return one_line(redact(text), limit)  # in this order: half a key is none that could be found


def _is_of_provider(error: Exception) -> bool:
    """Whether a client library raised it: it has a status, or tells of the network."""
    library = type(error).__module__.partition(".")[0]
    return (
        isinstance(error, OSError | asyncio.TimeoutError)
        or hasattr(error, "status_code")
        or library in ("openai", "litellm", "httpx", "httpcore", "aiohttp", "anthropic")
    )
