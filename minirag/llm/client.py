"""`LLM`: calls one model, whoever serves it, and gives back text, validated replies or vectors."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib.parse import urlsplit
from weakref import WeakSet

from minirag.errors import BudgetExceededError, LLMError, LLMReplyError, LLMSetupError, PromptTooLongError
from minirag.llm import embeddings
from minirag.llm.accepted import Accepted, Message, Request
from minirag.llm.accounting import Purpose, Shape
from minirag.llm.completions import corrected, find_fault, is_cut_off, text_of, tokens_received, tokens_sent
from minirag.llm.connection import Connection
from minirag.llm.credentials import find_secrets
from minirag.llm.faults import Fault
from minirag.llm.modes import UNWORDED, Mode, first_mode
from minirag.llm.network import find_proxy
from minirag.llm.offers import Offers
from minirag.llm.ollama import NUM_CTX, Window, given_window, is_ollama
from minirag.llm.own import Answering, deployments_of, is_answering, is_router, name_of, only_group
from minirag.llm.prices import Price
from minirag.llm.proving import Control, Setup
from minirag.llm.rates import Rates
from minirag.llm.retrying import Retries
from minirag.llm.routing import Route, check_address, find_base, find_provider, find_route, find_server
from minirag.llm.sending import BadRequestError, Sender, unknown_price
from minirag.llm.streaming import Listener, gather
from minirag.llm.structured import UnreadableReplyError, describe_schema, read_reply
from minirag.llm.tokens import estimate_all
from minirag.llm.transport import Access, import_client, open_transport
from minirag.records import Ledger, Task, Usage

if TYPE_CHECKING:
    from litellm.router import Router
    from pydantic import BaseModel

    R = TypeVar("R", bound=BaseModel)


_log = logging.getLogger(__name__)
_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)  # each task has its own
_UNKNOWN_WINDOW = 12_000  # tokens, where nobody says: about 8,000 of material, beside the prompt and the reply


class LLM:
    """One model, called from one event loop in each process; indexes may share it.

    Keys are passed on, never logged, repeated in an error or shown.

    Attributes:
        model: The name as it was given; of a router its model group, of a function its own name.
        max_parallel: The most requests that are open at once.
    """

    def __init__(
        self,
        model: str | Answering | Router,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        router: Router | None = None,
        timeout: float = 60,
        max_parallel: int = 16,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        retries: Retries | None = None,
        window: int | None = None,
        prices: Mapping[str, Sequence[float]] | None = None,
        **parameters: Any,  # noqa: ANN401
    ) -> None:
        """Nothing heavy is imported and nobody is called yet.

        Args:
            model: A LiteLLM name (see `minirag.llm.routing.find_route` for who serves it), a LiteLLM `Router` that has
                one model group, or a function from messages to the text of the reply, asynchronous or not. A function
                is asked in words for JSON, and knows no parameters; its attribute `model`, if it has one, is its name.
            api_base: The address of an OpenAI-compatible server, or of the provider that the name begins with.
            api_key: Read from the environment by openai or LiteLLM when not given.
            router: A LiteLLM `Router`; `model` is then one of its model groups.
            timeout: Seconds for one attempt, from sending to the last byte.
            max_parallel: The most requests that are open at once, at least 1.
            requests_per_minute: The most requests that are sent, retries included, spread evenly; None for no limit.
            tokens_per_minute: The most tokens that are sent and received, likewise, by an estimate that each answer
                corrects.
            retries: When to give up. A provider that hangs takes a call two minutes by default, and some longer where
                `timeout` is.
            window: Tokens that a prompt with its reply may have, at least 1; None looks it up, and takes 12,000 where
                LiteLLM does not know the model. Longer prompts are made with less material. A model of Ollama's gets
                a window that holds them, unless `num_ctx` is among the parameters, which then bounds the prompts.
            prices: Dollars per million tokens, sent and received, and, where they differ, third, sent but cached, and
                fourth, sent to be cached, by the names of models; what they say counts before LiteLLM's price map.
            parameters: Sent with every chat request (`max_tokens`, `seed`, `reasoning_effort`, …); `temperature` is 0
                by default. What the model refuses is left out after the first refusal.

        Raises:
            ValueError: If the name is blank, a number is out of range, an address is none, or a router has no group of
                its own to take.
        """
        if not timeout > 0 or max_parallel < 1:
            raise ValueError(f"timeout must be above 0 and max_parallel at least 1, not {timeout} and {max_parallel}")
        if window is not None and window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        api_base = check_address(api_base) if api_base else None
        given: object = router if router is not None and isinstance(model, str) else model
        self.model = _name(model)
        self.max_parallel = max_parallel
        self._api_base = api_base
        self._route = _route_of(given, self.model, api_base=api_base)
        mode = partial(first_mode, self._route, api_base=api_base)
        self._accepted = Accepted(self.model, {"temperature": 0, **parameters}, mode=mode)
        self._offers = Offers(self.model, self._route, given, api_base=api_base, prices=prices or {})
        self._window = window or given_window(self._route, parameters)
        self._of_ollama = Window(self.model, parameters.get(NUM_CTX)) if is_ollama(self._route) else None
        self._too_long = 0
        self._is_imported = False
        self._setup = Setup()
        self._reply_tokens = parameters.get("max_tokens") or 0
        key = api_key.strip() if api_key else None
        self._rates = Rates(requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute)
        sender = partial(
            Sender,
            self.model,
            address=find_server(self._route, api_base=api_base),
            proxy=None if is_router(given) else find_proxy(find_base(self._route, api_base=api_base)),
            timeout=timeout,
            max_parallel=max_parallel,
            retries=retries or Retries(),
            rates=self._rates,
            secrets=find_secrets(
                key=key,
                api_base=api_base,
                options=parameters,
                deployments=deployments_of(given),
            ),
        )
        access = Access(given, api_base, key, timeout=timeout, max_parallel=max_parallel, offers=self._offers)
        self._connection = Connection(sender, partial(open_transport, self._route, access))
        self._users: WeakSet[object] = WeakSet()

    def __repr__(self) -> str:
        """Model and host, no key."""
        host = f", api_base at {urlsplit(self._api_base).hostname}" if self._api_base else ""
        return f"LLM({self.model!r}{host})"

    @cached_property
    def _served(self) -> tuple[str, str]:
        return find_provider(self._route)

    @property
    def price(self) -> Price | None:
        """Dollars per token; None where unknown. Of a router's group the highest of those who may answer."""
        return self._offers.price

    @property
    def prompt_tokens(self) -> int:
        """How many tokens a prompt may have: the window, but for the reply's part, a quarter or `max_tokens`."""
        if self._window is None:
            self._window = self._offers.window or _UNKNOWN_WINDOW
        room = self._window - max(self._window // 4, min(self._reply_tokens, self._window // 2))
        return min(room, self._too_long * 4 // 5) if self._too_long else room

    @overload
    async def complete(
        self,
        messages: Sequence[Message],
        *,
        reply: type[R],
        task: Task,
        ledger: Ledger,
        listener: Listener | None = None,
    ) -> R: ...

    @overload
    async def complete(self, messages: Sequence[Message], *, reply: None = None, task: Task, ledger: Ledger) -> str: ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        reply: type[R] | None = None,
        task: Task,
        ledger: Ledger,
        listener: Listener | None = None,
    ) -> R | str:
        """Ask the model.

        Args:
            messages: A conversation, each with `role` and `content`; a system message comes first.
            reply: The form of the answer; None for plain text.
            task: What the call is for.
            ledger: Gets every answer that came, those that could not be used included.
            listener: Hears the reply while it arrives, where the provider streams. Once it has heard something, a call
                that breaks off is not repeated; an unusable reply is still repaired, unheard.

        Returns:
            A validated reply, or the text without surrounding blanks.

        Raises:
            LLMSetupError: If no call to this model can succeed.
            LLMUnavailableError: If it still failed after all retries.
            PromptTooLongError: If the prompt is more than the model reads.
            LLMReplyError: If the prompt was refused, or the answer cannot be used even after one repair.
        """
        purpose = Purpose(task, ledger, _turn(), listener)
        text, mode = await self._ask(messages, reply, purpose)
        try:
            return self._read(text, reply, mode)
        except UnreadableReplyError as problem:
            form = describe_schema(reply) if reply is not None and mode in UNWORDED else None
            again = corrected(messages, text, str(problem), form=form)
            text, mode = await self._ask(again, reply, purpose.going_on())
        try:
            return self._read(text, reply, mode, is_repair=True)
        except UnreadableReplyError as problem:
            raise LLMReplyError(self.model, f"no usable reply even after one repair attempt. {problem}") from problem

    async def embed(self, texts: Sequence[str], *, ledger: Ledger) -> list[list[float]]:
        """A vector for each text, in order; the model is an embedding model. How many fit a call is the provider's.

        Raises:
            LLMSetupError: If no call to this model can succeed.
            LLMUnavailableError: If it still failed after all retries.
            LLMReplyError: If the texts were refused, or the vectors are not one for each text.
        """
        if not texts:
            return []
        await self._import()
        purpose = Purpose("embed", ledger, _turn())
        response = await self._connection.sender.send(
            lambda: self._connection.transport.embed(texts),
            purpose,
            shape=self._embedding(texts, ledger),
            check=embeddings.find_fault,
        )
        return embeddings.vectors_of(response)

    def check_budget(self, texts: Sequence[str], ledger: Ledger) -> None:
        """See whether the ledger's budget has room for the embedding of all these texts, before the first call.

        Raises:
            BudgetExceededError: If it has not.
            InputError: If there is a budget, and the price is unknown.
        """
        if ledger.budget is None:
            return
        if self.price is None:
            raise unknown_price(self.model)
        if texts:
            ledger.budget.require(self.price.cost(Usage(prompt_tokens=estimate_all(texts))))

    def texts_sent(self, messages: Sequence[Message], reply: type[BaseModel]) -> list[str]:
        """All texts of a request for a reply of that form, which a provider may count as tokens.

        They are the contents of its messages, and, where the form goes beside them, that as JSON.
        """
        return _texts(self._accepted.request(messages, reply, budget=None))

    async def close(self) -> None:
        """Close the connections; call it on the loop that made the calls. The next call opens them again."""
        await self._connection.close()

    def lend(self, user: object) -> None:
        """Somebody makes calls who has not made this; `give_back` says when no longer."""
        self._users.add(user)

    async def give_back(self, user: object) -> None:
        """Close the connections once nobody uses them any more that this was lent to; as `close`."""
        self._users.discard(user)
        if not self._users:
            await self.close()

    def _wants_size(self, ledger: Ledger) -> bool:
        return self._rates.counts_tokens or ledger.budget is not None

    def _embedding(self, texts: Sequence[str], ledger: Ledger) -> Shape:
        size = estimate_all(texts) if self._wants_size(ledger) else 0
        return Shape("vectors", size, 0, self.price, self._served, tuple(texts), self._offers.price_of)

    def _read(self, text: str, reply: type[R] | None, mode: Mode, *, is_repair: bool = False) -> R | str:
        if reply is None:
            if not text:
                raise UnreadableReplyError("It is empty.")
            return text
        try:
            found = read_reply(text, reply)
        except UnreadableReplyError:
            self._accepted.note_reply(mode, in_form=False)
            raise
        if not is_repair:  # which spells the form out: that it is kept to says nothing of the mode
            self._accepted.note_reply(mode, in_form=True)
        return found

    async def _ask(
        self, messages: Sequence[Message], reply: type[BaseModel] | None, purpose: Purpose
    ) -> tuple[str, Mode]:
        """The text of the answer, and how its form was asked for.

        A cut-off one is asked for once more with room for twice as much.
        """
        completion, mode = await self._adapt(messages, reply, purpose)
        if is_cut_off(completion):
            budget = self._accepted.larger_budget(tokens_received(completion))
            completion, mode = await self._adapt(messages, reply, purpose.going_on(), budget=budget)
        if is_cut_off(completion):
            raise LLMReplyError(self.model, "the reply was cut off, with twice the tokens too: set a larger max_tokens")
        return text_of(completion, self.model, is_formed=reply is not None), mode

    async def _adapt(
        self,
        messages: Sequence[Message],
        reply: type[BaseModel] | None,
        purpose: Purpose,
        *,
        budget: int | None = None,
    ) -> tuple[Any, Mode]:
        """A completion, of a request without what the model has refused so far, and how its form was asked for."""
        await self._import()
        streams = purpose.listener is not None
        refused: tuple[str, ...] = ()  # what seems to be; it is once the same request is answered without
        form = partial(self._accepted.request, messages, reply, budget=budget, streams=streams)
        request = form()
        while True:
            try:
                response = await self._send(request, purpose)
            except PromptTooLongError:
                self._setup.prove()
                size = _size(request)  # the shortest that was too long: what is known of the window is wrong
                self._too_long = min(size, self._too_long or size)
                raise
            except BadRequestError as error:
                name = self._accepted.find_refused(error.fault, request)
                refused = refused if name is None else (*refused, name)
                before, request = request, form(without=refused)
                if request == before:
                    raise await self._not_accepted(error.fault, reply, purpose) from error
            except LLMReplyError:
                self._setup.prove()
                raise
            else:
                self._setup.prove((messages, reply))
                self._accepted.learn(refused)
                return response, request.mode

    async def _send(self, request: Request, purpose: Purpose) -> Any:  # noqa: ANN401
        shape = Shape(
            request.mode,
            _size(request) if self._wants_size(purpose.ledger) else 0,
            request.most_received,
            self.price,
            self._served,
            tuple(message["content"] for message in request.messages),
            self._offers.price_of,
        )
        call = partial(self._call, request, purpose.listener)
        return await self._connection.sender.send(call, purpose, shape=shape, check=find_fault)

    async def _not_accepted(self, fault: Fault, reply: type[BaseModel] | None, purpose: Purpose) -> LLMError:
        """A question's own failure, or one of the setup, where all others would fail so."""
        is_taken = partial(self._is_taken, replace(purpose, listener=None))
        why = await self._setup.refuse(purpose.ledger, fault.status, reply, is_taken=is_taken)
        if why is not None:
            return LLMSetupError(self.model, f"{why}: {fault.reason}")
        return LLMReplyError(self.model, f"the request was not accepted: {fault.reason}")

    async def _is_taken(self, purpose: Purpose, control: Control) -> bool:
        """Whether a conversation is not refused; also where that cannot be found out.

        Raises:
            LLMSetupError: If no call to this model can succeed.
        """
        messages, reply = control
        try:
            await self._send(self._accepted.request(messages, reply, budget=None), purpose)
        except BadRequestError:
            return False
        except LLMSetupError:
            raise
        except (LLMError, BudgetExceededError):
            return True
        return True

    async def _import(self) -> None:
        """LiteLLM takes seconds, a minute on a busy machine: no attempt's time, and the loop goes on meanwhile."""
        if not self._is_imported:
            await asyncio.to_thread(import_client, self._route)
            self._is_imported = True

    async def _call(self, request: Request, listener: Listener | None) -> Any:  # noqa: ANN401
        _log.debug("%s is sent %s", self.model, request.messages)
        parameters = request.parameters
        if self._of_ollama is not None:
            parameters = {**parameters, **self._of_ollama.parameters(_size(request), request.most_received)}
        pieces = await self._connection.transport.complete(request.messages, parameters)
        completion = pieces if listener is None else await gather(pieces, listener)
        if self._of_ollama is not None:
            self._of_ollama.check(request.messages, tokens_sent(completion))
        return completion


def _turn() -> float:
    """When the work began that a call is a part of: what it asks next goes before what began later."""
    began = _BEGAN.get()
    if began is None:
        began = monotonic()
        _BEGAN.set(began)
    return began


def _size(request: Request) -> int:
    """About how many tokens a request has, the schema of its reply included."""
    return estimate_all(_texts(request))


def _texts(request: Request) -> list[str]:
    form = {name: request.parameters[name] for name in ("response_format", "tools") if name in request.parameters}
    contents = [str(message["content"]) for message in request.messages]
    return [json.dumps(form), *contents] if form else contents


def _name(model: object) -> str:
    if isinstance(model, str):
        return model
    if is_router(model):
        return only_group(model)
    if is_answering(model):
        return name_of(model)
    raise ValueError(f"model must be a LiteLLM name, a Router or a function from messages to text, not {model!r}")


def _route_of(given: object, name: str, *, api_base: str | None) -> Route:
    if isinstance(given, str):
        return find_route(name, api_base=api_base)
    if api_base is not None:
        raise ValueError(f"api_base goes with a model's name; {name!r} brings its own")
    return Route("router" if is_router(given) else "function", name)
