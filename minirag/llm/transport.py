"""The two libraries that speak to providers, behind one shape. Both are imported when a model is first called."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from minirag.llm.caching import mark_constant, wants_marks
from minirag.llm.catalog import find_litellm
from minirag.llm.credentials import split_address
from minirag.llm.faults import UNSENDABLE_KEY
from minirag.llm.network import environment_problem
from minirag.llm.offers import Offers
from minirag.llm.own import FunctionTransport, RouterTransport
from minirag.llm.routing import Route, check_address

if TYPE_CHECKING:
    from types import ModuleType

    from openai import AsyncOpenAI

_IMPORTING = threading.Lock()  # it changes the environment and the warnings for as long as it lasts
# LiteLLM's own names of what is called after each call.
CALLBACKS = ("callbacks", "success_callback", "_async_success_callback", "failure_callback", "_async_failure_callback")
_NO_KEY_NEEDED = "none"  # the openai client wants a key even where the server does not


class MissingSetupError(Exception):
    """A model cannot be called from here at all; the text says what to do."""


class Transport(Protocol):
    """Sends requests; gives openai's shapes and raises openai's exceptions or subclasses of them."""

    async def complete(self, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """A chat completion; with the parameter `stream` a stream of its pieces, where the provider gives one."""
        ...

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401
        """Embeddings."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How a model is reached.

    Attributes:
        model: The name, router or function, as it was given.
        api_base: The address, where it is not the provider's own.
        api_key: Where it does not come from the environment.
        timeout: Seconds for one attempt.
        max_parallel: The most requests that are open at once.
        offers: Who may answer.
    """

    model: Any
    api_base: str | None
    api_key: str | None
    timeout: float
    max_parallel: int
    offers: Offers


def open_transport(route: Route, access: Access) -> Transport:
    """Who sends the requests of a model. Whoever has hung callbacks into LiteLLM gets all calls through it."""
    if route.library == "router":
        return RouterTransport(access.model, route.model, timeout=access.timeout, marks=access.offers.want_marks)
    if route.library == "function":
        return FunctionTransport(access.model, route.model, max_parallel=access.max_parallel)
    if route.library == "litellm":
        return LiteLLMTransport(route.model, access)
    if _has_callbacks():
        return LiteLLMTransport(f"openai/{route.model}", access)
    return OpenAITransport(route.model, access)


def _has_callbacks() -> bool:
    """Whether the user has imported LiteLLM and told it to tell somebody of its calls."""
    litellm = sys.modules.get("litellm")
    return any(getattr(litellm, name, None) for name in CALLBACKS)


def import_client(route: Route) -> None:
    """Import the library that calls a model; where it is missing, the call says so."""
    if route.library == "openai":
        import openai.types.chat  # noqa: F401
    elif route.library == "litellm" and find_litellm() is not None:
        import_litellm()


class OpenAITransport:
    """The openai client. `api_base` None is OpenAI itself, or what OPENAI_BASE_URL says."""

    def __init__(self, model: str, access: Access) -> None:
        """Keep what the client will need."""
        self._model, self._api_base, self._timeout = model, access.api_base, access.timeout
        self._api_key = access.api_key
        self._client: AsyncOpenAI | None = None

    async def complete(self, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Sent as it is, so that servers may have parameters that OpenAI lacks; its typed call also costs 2 ms more."""
        from openai import AsyncStream
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

        body = {"model": self._model, "messages": list(messages), **parameters}
        options: Any = {"headers": body.pop("extra_headers", None) or {}}
        body |= body.pop("extra_body", None) or {}
        if not body.get("stream"):
            return await self._opened().post("/chat/completions", cast_to=ChatCompletion, body=body, options=options)
        kind = AsyncStream[ChatCompletionChunk]
        return await self._opened().post(
            "/chat/completions", cast_to=ChatCompletion, body=body, options=options, stream=True, stream_cls=kind
        )

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401
        """As floats: many servers ignore the client's default, base64."""
        from openai.types import CreateEmbeddingResponse

        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        return await self._opened().post("/embeddings", cast_to=CreateEmbeddingResponse, body=body)

    async def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _opened(self) -> AsyncOpenAI:
        if self._client is None:
            problem = environment_problem()
            if problem is not None:  # before there is half a client, which would fail once more when it is dropped
                raise MissingSetupError(problem)
            self._client = self._open()
        return self._client

    def _open(self) -> AsyncOpenAI:
        import openai

        key = self._api_key
        if (
            key is None
            and not os.environ.get("OPENAI_API_KEY")
            and (self._api_base or os.environ.get("OPENAI_BASE_URL"))
        ):
            key = _NO_KEY_NEEDED
        given = key or os.environ.get("OPENAI_API_KEY") or ""
        if not (given.isascii() and given.isprintable()) or given != given.strip():
            raise MissingSetupError(UNSENDABLE_KEY)
        address, authorization = split_address(self._api_base or _address_in_environment())
        headers = {"Authorization": authorization} if authorization else None
        options: Any = {"base_url": address or None, "timeout": self._timeout, "max_retries": 0}
        try:
            return openai.AsyncOpenAI(api_key=key, default_headers=headers, **options)
        except openai.OpenAIError as error:
            raise MissingSetupError("no API key: set OPENAI_API_KEY, or pass api_key=") from error


def _address_in_environment() -> str:
    given = os.environ.get("OPENAI_BASE_URL") or ""
    try:
        return check_address(given) if given else ""
    except ValueError as error:
        raise MissingSetupError(str(error).replace("api_base", "OPENAI_BASE_URL", 1)) from error


class LiteLLMTransport:
    """LiteLLM, which finds keys and addresses in the environment; a user's callbacks and settings of it apply."""

    def __init__(self, model: str, access: Access) -> None:
        """Keep what each call passes on."""
        key = access.api_key
        if key is None and model.startswith("openai/") and access.api_base and not os.environ.get("OPENAI_API_KEY"):
            key = _NO_KEY_NEEDED
        options: dict[str, Any] = {"model": model, "timeout": access.timeout, "max_retries": 0}
        options |= {"api_base": access.api_base, "api_key": key}
        if model.startswith("openai/"):  # the only way that sends a header of one's own in the place of LiteLLM's
            address, authorization = split_address(access.api_base or _address_in_environment())
            if authorization is not None:
                options |= {"api_base": address, "extra_headers": {"Authorization": authorization}}
        self._options = {name: value for name, value in options.items() if value is not None}
        self._chat = {**self._options, "model": _chat_name(model)}

    async def complete(self, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """LiteLLM's own retries are off: they multiply, and repeat even what was refused."""
        call: Any = import_litellm().acompletion
        marked = mark_constant(messages) if wants_marks(str(self._options["model"])) else list(messages)
        options = {**self._chat, **parameters}
        if "extra_headers" in self._chat:
            options["extra_headers"] = {**self._chat["extra_headers"], **(parameters.get("extra_headers") or {})}
        return await call(messages=marked, num_retries=0, **options)

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401
        """Embeddings."""
        call: Any = import_litellm().aembedding
        return await call(input=list(texts), **self._options)

    async def close(self) -> None:
        """Nothing: LiteLLM's connections belong to the process and to its other users."""


def _chat_name(model: str) -> str:
    """Under which LiteLLM chats with a model: `ollama/` alone is its completion protocol.

    There LiteLLM writes the roles into one text, holds a streamed object back until it is whole, and forgets that a
    reply was cut off (measured on 1.110.2).
    """
    provider, slash, name = model.partition("/")
    return f"ollama_chat/{name}" if slash and provider == "ollama" else model


def import_litellm() -> ModuleType:
    """LiteLLM, imported without its fetch of a price map and without its banners where we are the first.

    Raises:
        MissingSetupError: If it is not installed.
    """
    with _IMPORTING:
        if sys.modules.get("litellm") is not None:
            import litellm  # waits where another thread is at it

            return litellm
        if find_litellm() is None:
            raise MissingSetupError("this provider needs LiteLLM: pip install litellm")
        return _import_quietly()


def _import_quietly() -> ModuleType:
    variable = "LITELLM_LOCAL_MODEL_COST_MAP"
    chosen = os.environ.get(variable)
    os.environ.setdefault(variable, "True")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its dependencies' deprecations are not the user's
            import litellm
    finally:
        if chosen is None:
            del os.environ[variable]
    # What it builds later, at its first calls, makes pydantic warn of LiteLLM's own types.
    warnings.filterwarnings("ignore", message=r"Items? '.+' on TypedDict class '.+' (?:is|are) using the `ReadOnly`")
    # Its reading of streams does what pydantic deprecates.
    warnings.filterwarnings("ignore", message=r"Accessing the 'model_\w+' attribute on the instance")
    litellm.suppress_debug_info = True  # it prints a banner to standard output with each error
    return litellm
