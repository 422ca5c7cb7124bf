"""One request: let through by the gate, retried, counted in the ledger, its faults turned into minirag's errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from minirag.ending import current_ending, linger
from minirag.errors import InputError, LLMError, LLMReplyError, LLMSetupError, LLMUnavailableError, PromptTooLongError
from minirag.llm.accounting import Purpose, Sending, Shape, describe_response, open_span
from minirag.llm.faults import Fault, FaultError, find_page, read_fault
from minirag.llm.outages import Outage
from minirag.llm.pacing import Gate, Outcome
from minirag.llm.rates import Rates
from minirag.llm.retrying import Retries, retry
from minirag.llm.silence import Silence
from minirag.llm.transport import MissingSetupError
from minirag.llm.usage import estimate_usage, read_usage
from minirag.records import Ledger, Usage
from minirag.redacting import redact
from minirag.wording import did_you_mean

_log = logging.getLogger(__name__)
Call = Callable[[], Awaitable[Any]]  # one attempt
Check = Callable[[Any, Sequence[str]], Fault | None]  # finds what is wrong with an answer to these texts
_ENDS = "an api_base usually ends in /v1"
_KEPT = ("extract", "bridge", "embed")  # tasks whose replies are kept beside the index
_UNAVAILABLE = {
    "interrupted": "the reply broke off in the middle",
    "outage": "not tried, as the calls before it all gave up",
}


class BadRequestError(LLMReplyError):
    """A request that the provider did not accept as it is: perhaps without some parameter."""

    def __init__(self, model: str, fault: Fault) -> None:
        """Keep what the provider said."""
        self.fault = fault
        super().__init__(model, f"the request was not accepted: {fault.reason}")


class RefusedError(LLMReplyError):
    """A prompt, or texts, that the provider's filter does not let through."""


class Sender:
    """Sends the requests of one model."""

    def __init__(
        self,
        model: str,
        *,
        address: str,
        proxy: str | None,
        timeout: float,
        max_parallel: int,
        retries: Retries,
        rates: Rates,
        secrets: Sequence[str],
    ) -> None:
        """`model`, `address` ("" for the provider's own) and `proxy` are for messages, which hold no `secrets`."""
        self._model, self._timeout, self._retries, self._secrets = model, timeout, retries, secrets
        self._address, self._proxy, self._is_reached = address, proxy, False
        self._gate, self._rates = Gate(max_parallel), rates
        self._silence = Silence(model)
        self._outages: WeakKeyDictionary[Ledger, Outage] = WeakKeyDictionary()  # a ledger is a run

    async def send(
        self,
        call: Call,
        purpose: Purpose,
        *,
        shape: Shape,
        check: Check,
    ) -> Any:  # noqa: ANN401
        """Await `call()`, again if need be, until `check` finds nothing wrong with what it gives.

        A request holds its place while it is open, not while it waits for its next attempt. The ledger is told how it
        ended, and asked before each attempt whether the run's budget has room for it.

        Raises:
            LLMSetupError: If no call can succeed.
            LLMUnavailableError: After the last attempt, or at once when the run's other calls found the provider gone.
            BadRequestError: If the provider did not accept the request as it is.
            RefusedError: If it refused the content.
            PromptTooLongError: If it found it too long.
            LLMReplyError: If what it gives has not the form of an answer, as often as it was asked.
            BudgetExceededError: If the run's budget has no room for it; it was not sent.
            InputError: If there is a budget, and the price is unknown.
        """
        sending = Sending(purpose, shape, purpose.ledger.now())
        outage = self._outages.setdefault(purpose.ledger, Outage(pause=self._retries.longest_wait))

        async def request() -> Any:  # noqa: ANN401
            _check_not_ending(purpose)
            sending.attempts += 1
            try:
                response, fault = await self._within_budget(call, sending, check)
                if fault is not None:
                    raise FaultError(fault)
            except FaultError as error:
                raise FaultError(self._judge(error.fault, purpose)) from None
            self._is_reached = True
            return response

        async def attempt() -> Any:  # noqa: ANN401
            await self._gate.enter(purpose.number)
            try:
                await self._rates.wait(shape.sent)
                return await outage.attempt(request)
            except FaultError:
                _check_not_ending(purpose)  # else it would wait for its next attempt
                raise
            finally:
                self._gate.leave()

        with open_span(purpose, shape) as span:
            try:
                response = await retry(
                    attempt, self._retries, spent=lambda: sending.seconds_open, silence=self._silence
                )
            except FaultError as error:
                if error.fault.is_tried_again:
                    outage.give_up(error.fault)
                told = self._translate(error)
                span.set(sending.end(self._model, told))
                raise told from error
            except LLMError as error:
                span.set(sending.end(self._model, error))
                raise
            span.set({**sending.end(self._model, None), **describe_response(response)})
        return response

    def _judge(self, fault: Fault, purpose: Purpose) -> Fault:
        """What a fault means here: a reply that was heard in part is not asked for again; who answered comes back."""
        if purpose.was_heard:
            return replace(fault, kind="interrupted")
        if fault.kind in ("absent", "page") and self._is_reached:
            return replace(fault, kind="transient")
        self._is_reached = self._is_reached or fault.kind not in ("absent", "page")
        return fault

    async def _within_budget(self, call: Call, sending: Sending, check: Check) -> tuple[Any, Fault | None]:
        """Run one attempt if the run's budget has room for what it may cost."""
        budget, task = sending.purpose.ledger.budget, sending.purpose.task
        if budget is None:
            response, fault, _ = await self._count(call, sending, check)
            return response, fault
        price = sending.shape.price
        if price is None:
            raise unknown_price(self._model)
        async with budget.reserve(partial(sending.estimate, budget, price)) as reservation:
            response, fault, used = await self._count(call, sending, check)
            reservation.spent = used.cost
            if fault is None:
                budget.learn(task, used.completion_tokens)
        return response, fault

    async def _count(self, call: Call, sending: Sending, check: Check) -> tuple[Any, Fault | None, Usage]:
        """Run one attempt, and account for it if it was answered.

        Returns:
            The answer, what is wrong with it, and what it used: of one whose tokens nobody tells an estimate. One that
            is wrong and tells none was paid for by nobody.
        """
        start, shape = perf_counter(), sending.shape
        try:
            with self._silence.watch(self._timeout, "given up"):
                response = await self._await_kept(call, sending)
        except FaultError as error:
            outcome: Outcome = "rate_limited" if error.fault.status == 429 else "failed"
            self._gate.note(outcome, seconds=perf_counter() - start, wait=error.fault.wait)
            raise
        finally:
            sending.seconds_open += perf_counter() - start
        self._gate.note("answered", seconds=perf_counter() - start)
        self._silence.answered()
        fault, usage = (
            find_page(response) or check(response, shape.texts),
            read_usage(response, shape, perf_counter() - start),
        )
        if fault is not None:
            fault = replace(fault, reason=redact(fault.reason, self._secrets))
        if fault is not None and usage.uncounted:
            return response, fault, Usage()
        used = estimate_usage(response, shape) if usage.uncounted else usage
        self._rates.settle(shape.sent, used.prompt_tokens + used.completion_tokens, used.completion_tokens)
        sending.add(usage)
        return response, fault, used

    async def _await_kept(self, call: Call, sending: Sending) -> Any:  # noqa: ANN401
        """`_await`; of building, whose replies are kept, also for a moment after the run was cancelled."""
        awaited = self._await(call, sending.shape.texts)
        return await (linger(awaited) if sending.purpose.task in _KEPT else awaited)

    async def _await(self, call: Call, sent: Sequence[str]) -> Any:  # noqa: ANN401
        """Run one attempt; whatever the libraries raise becomes a `FaultError` that holds no secret."""
        try:
            async with asyncio.timeout(self._timeout):
                return await call()
        except (LLMError, FaultError):  # a function of the user's says what it means, as does the reading of a stream
            raise
        except MissingSetupError as error:
            fault = Fault("setup", str(error))
        except Exception as error:  # noqa: BLE001  # LiteLLM lets nearly anything through; it is classified, not hidden
            fault = read_fault(error, sent=sent, secrets=self._secrets)
            _log.debug("%s: %s", self._model, fault)
        raise FaultError(fault)  # outside of the handler: the library's own exception may quote the key

    def _translate(self, error: FaultError) -> LLMError:
        fault, model = error.fault, self._model
        if fault.kind in ("setup", "page", "absent"):
            return LLMSetupError(model, self._setup_problem(error))
        if fault.kind == "transient":
            asked = f", asked to wait {fault.wait:.0f} s more" if fault.wait else ""
            tried = f"gave up after {error.attempts} attempts and {error.seconds:.0f} s of waiting{asked}"
            return LLMUnavailableError(model, f"{tried}: {fault.reason}")
        if fault.kind == "broken":
            failed = f"the client library itself failed, {error.attempts} times; another release of it may help"
            return LLMUnavailableError(model, f"{failed}: {fault.reason}")
        if fault.kind == "misshapen":
            return LLMReplyError(model, f"gave, {error.attempts} times, {fault.reason}")
        if fault.kind in _UNAVAILABLE:
            return LLMUnavailableError(model, f"{_UNAVAILABLE[fault.kind]}: {fault.reason}")
        if fault.kind == "too_long":
            return PromptTooLongError(model, f"the prompt is too long: {fault.reason}")
        if fault.kind == "refused":
            return RefusedError(model, f"refused to answer: {fault.reason}")
        return BadRequestError(model, fault)

    def _setup_problem(self, error: FaultError) -> str:
        fault, there = error.fault, f" at {self._address}" if self._address else ""
        if fault.kind == "page":
            return f"{self._address or 'its server'} gives {fault.reason}: {_ENDS}"
        if fault.kind == "setup":
            hint = f" ({_ENDS})" if fault.status == 404 else ""
            return unknown_provider(self._model) if fault.is_unknown_provider else fault.reason + hint
        tried = f"{error.attempts} attempts in {error.seconds:.0f} s: {fault.reason}"
        if self._proxy is None:
            return f"nobody answers{there} ({tried}). Is the server started, the address right, and a network there?"
        through = f"nobody answers{there} through the proxy {self._proxy} ({tried})"
        return f"{through}. Is the proxy there? NO_PROXY names hosts that are called without it"


def is_about_prompt(error: LLMError) -> bool:
    """Whether the provider did not take what it was sent, and answers what is sent otherwise."""
    return isinstance(error, BadRequestError | RefusedError | PromptTooLongError)


def _check_not_ending(purpose: Purpose) -> None:
    """See that the run of a call still goes on; it is ended by whatever cancelled it."""
    if purpose.task in _KEPT and current_ending().has_begun:
        raise asyncio.CancelledError


def unknown_provider(model: str) -> str:
    """What is wrong with a name that nobody serves; `offline` is the one name that is no provider's."""
    return (
        "no provider is known by this name. Give provider/name, such as openai/gpt-4o-mini or ollama/llama3.1, or the "
        f"address of a server that has it (api_base), or 'offline'.{did_you_mean(model, ['offline'])}"
    )


def unknown_price(
    model: str, tasks: Sequence[str] = (), *, is_reasoner: bool = False, is_client: bool = False
) -> InputError:
    """Why a budget cannot be kept, for these tasks of a model's, an own reasoner's or an own `LLM`'s; what to do."""
    of_tasks = f" (for the task{'s' if len(tasks) > 1 else ''} {' and '.join(tasks)})" if tasks else ""
    if is_reasoner:
        return InputError(
            f"{model}: what the calls of an own Reasoner cost is unknown, so max_cost cannot be kept{of_tasks}, and "
            "prices= cannot say it. Leave max_cost out, or give a function from messages to text in its place"
        )
    prices = f"..., prices={{{model!r}: (0.15, 0.60)}})"
    how = f"LLM({prices}" if is_client else f"Index({prices} or --price-for {model}=0.15,0.60"
    return InputError(
        f"{model}: its price is unknown, so max_cost cannot be kept{of_tasks}. Say it in dollars per million tokens, "
        f"sent and received, as in {how}, or leave max_cost out"
    )
