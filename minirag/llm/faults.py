"""What an exception of openai or LiteLLM means: whose fault it is, whether to try again, and what to tell the user.

LiteLLM's exceptions subclass openai's but are looser: a missing key can be an internal server error of status 500, a
refused connection too, the provider's own body is part of the text, and Retry-After is on `response.headers` for some
providers and on `litellm_response_headers` for the others (measured on litellm 1.110.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from minirag.llm.credit import tells_no_credit
from minirag.llm.echoes import without_echoes
from minirag.llm.waits import asked_wait, wait_in_words
from minirag.redacting import one_line, redact, shown

FaultKind = Literal[
    "setup",
    "transient",
    "broken",
    "misshapen",
    "page",
    "absent",
    "outage",
    "interrupted",
    "too_long",
    "refused",
    "bad_request",
]

_NO_KEY = re.compile(
    r"missing (?:\S+ )?(?:api[ _-]?key|credentials)|missing \w+ api key|(?:invalid|incorrect) api[ _-]?key"
    r"|api[ _-]?key not valid|no (?:api )?key is set|unable to locate credentials|must set the \w+ env",
    re.IGNORECASE,
)
_NO_ADDRESS = re.compile(r"Request URL (?:has an unsupported|is missing an)|Invalid port: |Port out of range")
_NO_PROVIDER = "LLM Provider NOT provided"  # LiteLLM's words for a name that it does not know
_NO_MODEL = re.compile(
    rf"{_NO_PROVIDER}|model[ _]not[ _]found|model \S+ (?:does not exist|not found)|(?:unknown|invalid) model"
    r"|no healthy deployments for this model|pip install",  # of a router that has nobody by a name
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:maximum|available) (?:number of )?(?:context|tokens?)",
    re.IGNORECASE,
)
_TOO_LONG_ANYWAY = re.compile(r"input length exceeds the context length|exceed_context_size")  # with a status 500, too
_FILTERED = re.compile(r"content[ _](?:filter|policy|management)|moderation|flagged|safety", re.IGNORECASE)
_NO_STREAM = re.compile(r"InvokeModelWithResponseStream")  # Amazon's right to stream is another than that to ask
_OLLAMA_BROKE = re.compile(r"unexpected response from Ollama: \{'error': ['\"](.+?)['\"]\}")  # a line of a stream
_PAGE = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_PAGE_WITHIN = re.compile(r"Original Response: " + _PAGE.pattern, re.IGNORECASE | re.DOTALL)  # LiteLLM's words
_PAGE_REASON = "a web page in the place of an answer"
_NO_ENDPOINT = re.compile(r"unexpected endpoint", re.IGNORECASE)  # LM Studio, with status 200
_NO_PROXY = re.compile(r"unknown scheme for proxy|using socks proxy|proxy protocol must be", re.IGNORECASE)
_PROXY_REFUSES = re.compile(r"\b407 Proxy Authentication", re.IGNORECASE)
_UNSENDABLE = "holds a blank at an end, a line break or a letter beyond ASCII"
UNSENDABLE_KEY = f"the API key {_UNSENDABLE}"
_NO_HEADER = re.compile(r"control character detected in headers|illegal header value", re.IGNORECASE)
_CREDENTIALS_IN_ADDRESS = "credentials encoded in URL"  # in the words of LiteLLM's client, which adds a header always
NO_CREDENTIALS_IN_ADDRESS = (
    "LiteLLM takes no user and password in an address. A server of OpenAI's protocol, called openai/NAME instead, gets "
    "them; for another leave them out of api_base, and give extra_headers={'Authorization': 'Basic ...'}"
)
_CONNECTING = ("ConnectError", "ClientConnectorError", "EndpointConnectionError", "ConnectionRefusedError", "gaierror")
_ADDRESSING = ("InvalidURL", "NonHttpUrlClientError", "UnsupportedProtocol")
_PROGRAMMING_ERRORS = (AttributeError, TypeError, LookupError, NameError, ArithmeticError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed request.

    Attributes:
        kind: "setup" (no call can succeed), "transient" (try again), "broken" (the client library itself failed,
            perhaps on an answer that is paid for: tried once more at most), "misshapen" (an answer that has not the
            form of one: likewise), "page" (a web page in its place) and "absent" (no connection came about): tried few
            times only, unless somebody answered before; "outage" (not tried, as the provider is gone),
            "interrupted" (in the middle of a reply of which something was shown already), "too_long" and "refused"
            (this prompt cannot succeed), "bad_request" (the provider did not accept it as it is).
        reason: The provider's words in one line, without secrets.
        wait: Seconds that the provider asks to wait, None if it does not say.
        parameter: The parameter that the provider names as refused, if it names one in a field.
        status: The HTTP status, if there was one.
        own_words: The reason as it came, but for what it repeats of the request: to learn from, and never to be told,
            as a key may be part of any word.
    """

    kind: FaultKind
    reason: str
    wait: float | None = None
    parameter: str | None = None
    status: int | None = None
    own_words: str = field(default="", repr=False, compare=False)

    @property
    def is_tried_again(self) -> bool:
        """Whether another attempt may do better."""
        return self.kind in ("transient", "broken", "misshapen", "page", "absent")

    @property
    def outline(self) -> str:
        """What happened in minirag's own words: the provider's may quote the prompt, and are told of its call alone."""
        if self.status == 408:
            return "no answer in time"
        return f"status {self.status}" if self.status is not None else "no answer"

    @property
    def is_unknown_provider(self) -> bool:
        """Whether LiteLLM knows nobody who serves a model of this name."""
        return _NO_PROVIDER in self.reason


class FaultError(Exception):
    """Carries a `Fault` from the call to where it is judged; never leaves minirag.llm."""

    def __init__(self, fault: Fault) -> None:
        """One attempt and no wait, until the retrying says otherwise."""
        self.fault = fault
        self.attempts = 1
        self.seconds = 0.0
        super().__init__(fault.reason)


def read_fault(error: Exception, *, sent: Sequence[str] = (), secrets: Sequence[str] = ()) -> Fault:
    """What an exception of the openai client or of LiteLLM means.

    Args:
        error: The exception.
        sent: The texts of the request: a provider may repeat them, and what they say is not the provider's word.
        secrets: What must not be repeated.
    """
    import openai

    within = getattr(error, "original_exception", None)  # of a stream that LiteLLM saw break, wrapped in its own
    error = within if isinstance(within, Exception) else error
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Fault("transient", "no answer in time", status=408)
    told = _text(error)
    said = without_echoes(told, sent)
    is_repeating = said != told  # so somebody was reached
    if not is_repeating and _is_unsendable(error):  # whose own words may quote it
        return Fault("setup", f"the API key, or a header that you gave, {_UNSENDABLE}")
    if not is_repeating and any(_CREDENTIALS_IN_ADDRESS in str(seen) for seen in _chain(error)):
        return Fault("setup", NO_CREDENTIALS_IN_ADDRESS)
    status = _status(error, is_repeating=is_repeating)
    kind = _kind(error, status, said, is_repeating=is_repeating)
    if kind == "transient" and _PAGE_WITHIN.search(said):
        return Fault("page", _PAGE_REASON)
    if kind == "transient" and status in (None, 500):
        absence = _absence(error)
        if absence is not None:
            return Fault("absent", one_line(redact(absence, secrets)))
    is_broken = kind == "transient" and _is_programming_error(error)
    reason = _reason(error, told)
    parameter = getattr(error, "param", None)
    return Fault(
        kind="broken" if is_broken else kind,
        reason=one_line(redact(reason, secrets)) or type(error).__name__,
        wait=asked_wait(error, said),
        parameter=parameter if isinstance(parameter, str) else None,
        status=None if is_broken else status,
        own_words=one_line(without_echoes(reason, sent)),
    )


def fault_in_answer(error: Any, *, sent: Sequence[str] = ()) -> Fault:  # noqa: ANN401
    """What an error means that came in the body of a status 200 (OpenRouter does that); None if the body had none.

    `sent` are the texts of the request, as for `read_fault`.
    """
    if not isinstance(error, dict):
        told = f": {one_line(redact(shown(error)))}" if error else ""
        if _NO_ENDPOINT.search(without_echoes(told, sent)):
            return Fault("setup", told.removeprefix(": "), status=404)
        return Fault("transient", f"an answer without content{told}")
    code, reason = error.get("code"), one_line(redact(shown(error.get("message", error))))
    said = without_echoes(reason, sent)
    kind: FaultKind = "setup" if code in (401, 402, 404) or tells_no_credit(said) else "transient"
    return Fault(kind, reason, wait=wait_in_words(said), status=code if isinstance(code, int) else None)


def find_page(answer: Any) -> Fault | None:  # noqa: ANN401
    """The fault of what is no JSON in the place of an answer, with status 200; the openai client gives it as a text."""
    if not isinstance(answer, str) or not answer.strip():
        return None
    return Fault("page", _PAGE_REASON if _PAGE.match(answer) else f"a text that is no JSON: {one_line(answer, 80)}")


def misshapen(what: str) -> Fault:
    """The fault of an answer that came with status 200 and has another form than it should."""
    return Fault("misshapen", f"an answer of another form than it should have: {what}")


def _is_unsendable(error: Exception) -> bool:
    """Whether a client found, before anything left, that a header cannot be sent."""
    return any(
        (isinstance(seen, UnicodeEncodeError) and seen.encoding in ("ascii", "latin-1")) or _NO_HEADER.search(str(seen))
        for seen in _chain(error)
    )


def _absence(error: Exception) -> str | None:
    """Why no connection came about, in the words of whoever was nearest to the network; None where one did."""
    chain = list(_chain(error))
    if not any(_is_named(seen, _CONNECTING) for seen in chain):
        return None
    return str(chain[-1]) or type(chain[-1]).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from; of a group the first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        within = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else None
        seen = seen.__cause__ or seen.__context__ or within


def _text(error: Exception) -> str:
    body = getattr(error, "body", None)
    try:
        return f"{error} {json.dumps(body, default=str)}" if isinstance(body, dict) else str(error)
    except RecursionError:
        return str(error)


def _status(error: Exception, *, is_repeating: bool) -> int | None:
    """The HTTP status; LiteLLM puts some by words that it finds, be they in what a provider repeats."""
    found = [getattr(seen, "status_code", None) for seen in (_chain(error) if is_repeating else [error])]
    statuses = [status for status in found if isinstance(status, int)]
    return statuses[-1] if statuses else None


def _kind(error: Exception, status: int | None, text: str, *, is_repeating: bool) -> FaultKind:
    if status in (401, 402, 404, 407) or _PROXY_REFUSES.search(text):
        return "setup"
    if status == 403 and _NO_STREAM.search(text):
        return "bad_request"
    if status == 403:
        return "refused" if _FILTERED.search(text) else "setup"
    if tells_no_credit(text):
        return "setup"
    if status == 429:  # before the words: "check your plan and billing" also comes with a mere rate limit
        return "transient"
    if _TOO_LONG_ANYWAY.search(text):
        return "too_long"
    if _OLLAMA_BROKE.search(text):  # which LiteLLM calls a bad request
        return "transient"
    if _NO_KEY.search(text) or _NO_MODEL.search(text) or (not is_repeating and _is_sent_nowhere(error)):
        return "setup"
    if status is not None and 400 <= status < 500 and status not in (408, 409, 425):
        return _bad_request_kind("" if is_repeating else type(error).__name__, status, text)
    return "transient"


def _is_sent_nowhere(error: Exception) -> bool:
    """Whether a client found that an address is none, or a proxy's: of a router, or of the environment."""
    return any(
        _NO_ADDRESS.search(str(seen)) or _NO_PROXY.search(str(seen)) or _is_named(seen, _ADDRESSING)
        for seen in _chain(error)
    )


def _is_named(error: BaseException, names: Sequence[str]) -> bool:
    """By name: each client has its own, and none need be installed."""
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _is_programming_error(error: Exception) -> bool:
    """Whether a client library did not fail at the provider but in its own code; LiteLLM gives that a status of 500."""
    import openai

    within = error.__cause__ or error.__context__
    is_wrapped = type(error).__module__.startswith("litellm") and isinstance(error, openai.APIConnectionError)
    return isinstance(within if is_wrapped else error, _PROGRAMMING_ERRORS)


def _bad_request_kind(name: str, status: int, text: str) -> FaultKind:
    """`name` is the exception's: LiteLLM has its own, which need not be imported for that."""
    if status == 413 or name == "ContextWindowExceededError" or _TOO_LONG.search(text):
        return "too_long"
    if name == "ContentPolicyViolationError" or _FILTERED.search(text):
        return "refused"
    return "bad_request"


def _reason(error: Exception, text: str) -> str:
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    broke = _OLLAMA_BROKE.search(text)
    if broke is not None:
        return broke[1]
    start = text.find("{")
    try:
        inner = json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        inner = None
    if isinstance(inner, dict) and isinstance(inner.get("error"), dict) and inner["error"].get("message"):
        return shown(inner["error"]["message"])
    if isinstance(inner, dict) and inner.get("error") and isinstance(inner["error"], str):  # Ollama's
        return inner["error"]
    cause = error.__cause__  # "Connection error." alone helps nobody
    first = str(error).split("Traceback (most recent call last)", 1)[0].rstrip()
    return f"{first} ({cause})" if cause is not None and str(cause) else first
