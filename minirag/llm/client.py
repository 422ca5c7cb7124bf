"""`LLM`: calls one model, whoever serves it, and gives back text, validated replies or vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib.parse import urlsplit

from minirag.errors import LLMReplyError
from minirag.llm.accepted import Accepted, Message, Request
from minirag.llm.completions import corrected, find_fault, is_cut_off, text_of, tokens_received
from minirag.llm.prices import Price, find_price, price_given
from minirag.llm.retrying import Retries
from minirag.llm.routing import find_route, find_window
from minirag.llm.sending import BadRequestError, Purpose, Sender, Shape, unknown_price
from minirag.llm.structured import UnreadableReplyError, read_reply
from minirag.llm.tokens import estimate_all
from minirag.llm.transport import LiteLLMTransport, OpenAITransport, Transport
from minirag.records import Ledger, Task, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

    R = TypeVar("R", bound=BaseModel)


_UNKNOWN_WINDOW = 12_000  # tokens, where nobody says: about 8,000 of material, beside the prompt and the reply


class LLM:
    """One model, called from one event loop. Keys are passed on, never logged, repeated in an error or shown.

    Attributes:
        model: The name as it was given.
        max_parallel: The most requests that are open at once.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        timeout: float = 60,
        max_parallel: int = 16,
        retries: Retries | None = None,
        window: int | None = None,
        prices: Mapping[str, Sequence[float]] | None = None,
        **parameters: Any,  # noqa: ANN401
    ) -> None:
        """Nothing heavy is imported and nobody is called yet.

        Args:
            model: A LiteLLM name; see `minirag.llm.routing.find_route` for who serves it.
            api_base: The address of an OpenAI-compatible server, or of the provider that the name begins with.
            api_key: Read from the environment by openai or LiteLLM when not given.
            timeout: Seconds for one attempt, from sending to the last byte.
            max_parallel: The most requests that are open at once, at least 1.
            retries: When to give up.
            window: Tokens that a prompt with its reply may have, at least 1; None looks it up, and takes 12,000 where
                LiteLLM does not know the model. Longer prompts are made with less material.
            prices: Dollars per million tokens, sent and received, and third, where it differs, sent but cached, by the
                names of models; what they say counts before LiteLLM's price map.
            parameters: Sent with every chat request (`max_tokens`, `seed`, `reasoning_effort`, …); `temperature` is 0
                by default. What the model refuses is left out after the first refusal.

        Raises:
            ValueError: If the name is blank or a number is out of range.
        """
        if timeout <= 0 or max_parallel < 1:
            raise ValueError(f"timeout must be above 0 and max_parallel at least 1, not {timeout} and {max_parallel}")
        if window is not None and window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        self.model = model
        self.max_parallel = max_parallel
        self._api_base = api_base
        self._route = find_route(model, api_base=api_base)
        self._accepted = Accepted(model, {"temperature": 0, **parameters})
        self._numbers = count()
        self._price = price_given(model, prices or {})
        self._price_is_read = self._price is not None
        self._window = window
        self._reply_tokens = parameters.get("max_tokens") or 0
        key = api_key.strip() if api_key else None
        self._sender = Sender(
            model, timeout=timeout, max_parallel=max_parallel, retries=retries or Retries(), secret=key
        )
        transport = OpenAITransport if self._route.library == "openai" else LiteLLMTransport
        self._transport: Transport = transport(self._route.model, api_base=api_base, api_key=key, timeout=timeout)

    def __repr__(self) -> str:
        """Model and host, no key."""
        host = f", api_base at {urlsplit(self._api_base).hostname}" if self._api_base else ""
        return f"LLM({self.model!r}{host})"

    @property
    def price(self) -> Price | None:
        """Dollars per token; None where unknown."""
        if not self._price_is_read:
            self._price, self._price_is_read = find_price(self._route, api_base=self._api_base), True
        return self._price

    @property
    def prompt_tokens(self) -> int:
        """How many tokens a prompt may have: the window, but for the reply's part, a quarter or `max_tokens`."""
        if self._window is None:
            self._window = find_window(self._route, api_base=self._api_base) or _UNKNOWN_WINDOW
        return self._window - max(self._window // 4, min(self._reply_tokens, self._window // 2))

    @overload
    async def complete(self, messages: Sequence[Message], *, reply: type[R], task: Task, ledger: Ledger) -> R: ...

    @overload
    async def complete(self, messages: Sequence[Message], *, reply: None = None, task: Task, ledger: Ledger) -> str: ...

    async def complete(
        self, messages: Sequence[Message], *, reply: type[R] | None = None, task: Task, ledger: Ledger
    ) -> R | str:
        """Ask the model.

        Args:
            messages: A conversation, each with `role` and `content`; a system message comes first.
            reply: The form of the answer; None for plain text.
            task: What the call is for.
            ledger: Gets every answer that came, those that could not be used included.

        Returns:
            A validated reply, or the text without surrounding blanks.

        Raises:
            LLMSetupError: If no call to this model can succeed.
            LLMUnavailableError: If it still failed after all retries.
            LLMReplyError: If the prompt was refused or too long, or the answer cannot be used even after one repair.
        """
        purpose = Purpose(task, ledger, next(self._numbers))
        text = await self._ask(messages, reply, purpose)
        try:
            return _read(text, reply)
        except UnreadableReplyError as problem:
            text = await self._ask(corrected(messages, text, str(problem)), reply, purpose)
        try:
            return _read(text, reply)
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
        purpose = Purpose("embed", ledger, next(self._numbers))
        response = await self._sender.send(
            lambda: self._transport.embed(texts), purpose, shape=self._embedding(texts, ledger), check=lambda _: None
        )
        data = getattr(response, "data", None) or []
        items = [item if isinstance(item, dict) else item.model_dump() for item in data]
        vectors = {int(item["index"]): [float(x) for x in item["embedding"]] for item in items}
        if sorted(vectors) != list(range(len(texts))):
            raise LLMReplyError(self.model, f"sent {len(items)} vectors for {len(texts)} texts")
        return [vectors[i] for i in range(len(texts))]

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
        ledger.budget.require(self.price.cost(Usage(prompt_tokens=estimate_all(texts))))

    async def close(self) -> None:
        """Close the connections; call it on the loop that made the calls."""
        await self._transport.close()

    def _embedding(self, texts: Sequence[str], ledger: Ledger) -> Shape:
        return Shape("vectors", estimate_all(texts) if ledger.budget else 0, 0, self.price)

    async def _ask(self, messages: Sequence[Message], reply: type[BaseModel] | None, purpose: Purpose) -> str:
        """The text of the answer; a cut-off one is asked for once more with room for twice as much."""
        completion = await self._adapt(messages, reply, purpose)
        if is_cut_off(completion):
            budget = self._accepted.larger_budget(tokens_received(completion))
            completion = await self._adapt(messages, reply, purpose, budget=budget)
        if is_cut_off(completion):
            raise LLMReplyError(self.model, "the reply was cut off, with twice the tokens too: set a larger max_tokens")
        return text_of(completion, self.model)

    async def _adapt(
        self,
        messages: Sequence[Message],
        reply: type[BaseModel] | None,
        purpose: Purpose,
        *,
        budget: int | None = None,
    ) -> Any:  # noqa: ANN401
        """A completion, of a request without what the model has refused so far."""
        request = self._accepted.request(messages, reply, budget=budget)
        while True:
            call = partial(self._transport.complete, request.messages, request.parameters)
            shape = Shape(
                request.mode, _size(request) if purpose.ledger.budget else 0, request.most_received, self.price
            )
            try:
                return await self._sender.send(call, purpose, shape=shape, check=find_fault)
            except BadRequestError as error:
                self._accepted.learn(error.fault, request)
                refused, request = request, self._accepted.request(messages, reply, budget=budget)
                if request == refused:
                    raise LLMReplyError(self.model, f"the request was not accepted: {error.fault.reason}") from error


def _size(request: Request) -> int:
    """About how many tokens a request has, the schema of its reply included."""
    form = json.dumps(request.parameters.get("response_format", ""))
    return estimate_all([form, *(str(message["content"]) for message in request.messages)])


def _read(text: str, reply: type[R] | None) -> R | str:
    if reply is not None:
        return read_reply(text, reply)
    if not text:
        raise UnreadableReplyError("It is empty.")
    return text
