"""What a model turned out to accept: refused parameters are left out from then on, response formats step down."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from minirag.llm.faults import Fault
from minirag.llm.modes import MODES, UNWORDED, Mode, ModeMemory
from minirag.llm.structured import describe_schema, strict_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

_log = logging.getLogger(__name__)

Message = dict[str, str]
_FORM_PARAMETERS = ("response_format", "tools", "tool_choice")
_BUDGETS = ("max_tokens", "max_completion_tokens")
_LARGE_REPLY = 4096  # tokens; the least that a cut-off reply is given the second time
_FORMAT_WORDS = re.compile(
    r"response_format|json[ _](?:schema|mode|object)|structured output|schema|grammar|guided|\btools?\b|function.call",
    re.IGNORECASE,
)


_STREAM_WORDS = re.compile(r"stream", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent besides the model's name, and the response format that it asks for."""

    messages: tuple[Message, ...]
    parameters: Mapping[str, Any]
    mode: Mode

    @property
    def most_received(self) -> int | None:
        """The most tokens that the answer may have, None where that is the model's own limit."""
        return next((int(self.parameters[name]) for name in _BUDGETS if name in self.parameters), None)


class Accepted:
    """Builds requests from what the model has accepted so far, and learns from refusals."""

    def __init__(self, model: str, parameters: Mapping[str, Any], *, mode: Callable[[], Mode]) -> None:
        """Begin with all parameters, and with that way to ask for the form of a reply, found out when first needed."""
        self._first_mode = mode
        self._model = model
        self._parameters = dict(parameters)
        self._budget_names = list(_BUDGETS)  # what the model may still accept, best first
        self._budget: int | None = None
        self._streaming: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        self._schemas: dict[type[BaseModel], dict[str, Any]] = {}
        for name in _BUDGETS:
            value = self._parameters.pop(name, None)
            if value is not None:
                self._budget = int(value)
                self._budget_names.sort(key=name.__ne__)

    def request(
        self,
        messages: Sequence[Message],
        reply: type[BaseModel] | None,
        *,
        budget: int | None,
        streams: bool = False,
        without: Collection[str] = (),
    ) -> Request:
        """A request for a reply of that form, or for text.

        Args:
            messages: The conversation.
            reply: The form.
            budget: Replaces the most tokens that the reply may have.
            streams: Whether it should come in pieces, as far as the provider does that.
            without: Names that `find_refused` gave for these messages.
        """
        streaming = self._streaming if streams and "stream" not in without else {}
        parameters = {name: value for name, value in (self._parameters | streaming).items() if name not in without}
        budget = budget or self._budget
        budget_names = [name for name in self._budget_names if name not in without]
        if budget is not None and budget_names:
            parameters[budget_names[0]] = budget
        if reply is None:
            return Request(tuple(messages), parameters, "text")
        mode = self._modes.first_but(without)
        parameters |= self._form(mode, reply)
        if mode not in UNWORDED:
            messages = _with_schema(messages, reply)
        return Request(tuple(messages), parameters, mode)

    @cached_property
    def _modes(self) -> ModeMemory:
        return ModeMemory(self._first_mode())

    def larger_budget(self, used: int) -> int:
        """Tokens for a reply that was cut off after `used`: twice the caller's limit, or twice what it took."""
        return 2 * self._budget if self._budget is not None else max(2 * used, _LARGE_REPLY)

    def find_refused(self, fault: Fault, request: Request) -> str | None:
        """The name of what the provider seems to refuse in a request: a parameter's, or a mode's; None if nothing."""
        name = _refused(fault, request)
        return request.mode if name in _FORM_PARAMETERS else name

    def learn(self, refused: Iterable[str]) -> None:
        """Leave out, from now on, what was refused in a request that was answered once it came without."""
        for name in refused:
            if self._leave_out(name):
                self._warn(name)

    def _leave_out(self, name: str) -> bool:
        """Gives whether that is news, as another call may have learned it meanwhile."""
        if name in MODES:
            return self._modes.refuse(name)
        if name in self._budget_names:
            self._budget_names.remove(name)
            return True
        gone = [kept.pop(name, None) for kept in (self._parameters, self._streaming) if name in kept]
        if name == "stream":
            self._streaming.clear()
        return bool(gone)

    def note_reply(self, mode: Mode, *, in_form: bool) -> None:
        """Learn from a reply whether the model keeps to the form that it was asked for in this way."""
        if self._modes.note(mode, in_form=in_form):
            _log.warning("%s does not keep to %s; asking by %s from now on", self._model, mode, self._modes.mode)

    def _form(self, mode: Mode, reply: type[BaseModel]) -> dict[str, Any]:
        """The parameters by which a provider is asked for the form."""
        if mode == "json_schema":
            schema = {"name": reply.__name__, "schema": self._schema(reply), "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        if mode == "tool":
            function = {"name": reply.__name__, "description": "Give the reply.", "parameters": self._schema(reply)}
            choice = {"type": "function", "function": {"name": reply.__name__}}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}

    def _schema(self, reply: type[BaseModel]) -> dict[str, Any]:
        if reply not in self._schemas:  # pydantic takes milliseconds to build one
            self._schemas[reply] = strict_schema(reply)
        return self._schemas[reply]

    def _warn(self, refused: str) -> None:
        """Without the provider's words, which may quote the prompt; they are logged with the refused request."""
        _log.warning("%s refuses %s, which is left out from now on", self._model, refused)


def _refused(fault: Fault, request: Request) -> str | None:
    """The name of what the provider refused among the parameters that were sent."""
    sent, said = request.parameters, fault.own_words
    field = (fault.parameter or "").split(".")[0]
    if field in sent:
        return field
    named = [name for name in sent if re.search(rf"\b{re.escape(name)}\b", said)]
    if named:
        return min(named, key=said.index)
    if "stream" in sent and _STREAM_WORDS.search(said):
        return "stream"
    formed = next((name for name in _FORM_PARAMETERS if name in sent), None)
    return formed if _FORMAT_WORDS.search(said) else None


def _with_schema(messages: Sequence[Message], reply: type[BaseModel]) -> list[Message]:
    """The schema goes to the end of the system message, so that the constant part stays in front."""
    wanted = "Reply with one JSON object and nothing else. Its JSON Schema:\n" + describe_schema(reply)
    first, *rest = messages
    if first["role"] != "system":
        return [{"role": "system", "content": wanted}, *messages]
    return [{"role": "system", "content": f"{first['content']}\n\n{wanted}"}, *rest]
