"""What a chat completion says, in the shape that openai and LiteLLM share, whatever a server left out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from minirag.errors import LLMReplyError
from minirag.llm.accepted import Message
from minirag.llm.faults import Fault, fault_in_answer, one_line
from minirag.llm.structured import storable_text


def find_fault(completion: Any) -> Fault | None:  # noqa: ANN401
    """What is wrong with an answer that came with status 200 but holds no message."""
    choices = getattr(completion, "choices", None)
    if choices and getattr(choices[0], "message", None) is not None:
        return None
    return fault_in_answer(getattr(completion, "error", None))


def is_cut_off(completion: Any) -> bool:  # noqa: ANN401
    """Whether the model ran out of tokens."""
    return bool(completion.choices[0].finish_reason == "length")


def tokens_received(completion: Any) -> int:  # noqa: ANN401
    """How many tokens the answer took, 0 if unknown."""
    value = getattr(getattr(completion, "usage", None), "completion_tokens", None)
    return value if isinstance(value, int) else 0


def text_of(completion: Any, model: str) -> str:  # noqa: ANN401
    """The text of the answer, "" if it has none.

    Raises:
        LLMReplyError: If the model or its provider's filter refused.
    """
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason in ("content_filter", "refusal"):
        raise LLMReplyError(model, f"refused to answer: {one_line(str(refusal or 'content filter'))}")
    content = _called_with(choice.message) or choice.message.content or ""
    if isinstance(content, list):  # parts, of which thoughts are no text
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return storable_text(str(content)).strip()


def _called_with(message: Any) -> str:  # noqa: ANN401
    """The arguments of the tool that stands for the form of the reply, as JSON; "" if none was called."""
    calls = getattr(message, "tool_calls", None)
    arguments = calls[0].function.arguments if calls else ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def corrected(messages: Sequence[Message], text: str, problem: str) -> list[Message]:
    """The conversation that asks once more, with the unusable reply and what is wrong with it."""
    wanted = f"That reply cannot be used. {problem} Answer again, whole, in the form that was asked for."
    return [
        *messages,
        {"role": "assistant", "content": text or "(an empty reply)"},
        {"role": "user", "content": wanted},
    ]
