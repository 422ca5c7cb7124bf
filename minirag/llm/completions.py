"""What a chat completion says, in the shape that openai and LiteLLM share, whatever a server left out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from minirag.errors import LLMReplyError
from minirag.llm.accepted import Message
from minirag.llm.delimiting import disarm
from minirag.llm.faults import Fault, fault_in_answer, misshapen
from minirag.llm.structured import storable_text
from minirag.redacting import one_line


def find_fault(completion: Any, sent: Sequence[str]) -> Fault | None:  # noqa: ANN401
    """What is wrong with an answer that came with status 200: it holds no message, or one of another form.

    `sent` are the texts of the request, which an error may repeat. Whatever passes can be read by the functions below.
    """
    choices = getattr(completion, "choices", None)
    message = getattr(first_of(choices), "message", None)
    if message is None:
        error = getattr(completion, "error", None)
        is_empty = not choices or isinstance(choices, list)
        return fault_in_answer(error, sent=sent) if error or is_empty else misshapen("choices that are no list")
    if not hasattr(message, "content"):
        return misshapen(f"a message that is {_kind_of(message)}")
    if not isinstance(message.content, str | list | None):
        return misshapen(f"a content that is {_kind_of(message.content)}")
    return None


def first_of(items: Any) -> Any:  # noqa: ANN401
    """The first of a list; None where it has none, or is no list."""
    return items[0] if isinstance(items, list) and items else None


def arguments_of(message: Any) -> Any:  # noqa: ANN401
    """What the first tool was called with, of a message or a piece of one; None where no function was."""
    function = getattr(first_of(getattr(message, "tool_calls", None)), "function", None)
    return getattr(function, "arguments", None)


def _kind_of(value: Any) -> str:  # noqa: ANN401
    names = ((str, "a text"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def is_cut_off(completion: Any) -> bool:  # noqa: ANN401
    """Whether the model ran out of tokens."""
    return bool(completion.choices[0].finish_reason == "length")


def tokens_received(completion: Any) -> int:  # noqa: ANN401
    """How many tokens the answer took, 0 if unknown."""
    return _tokens(completion, "completion_tokens")


def tokens_sent(completion: Any) -> int:  # noqa: ANN401
    """How many tokens the model read, 0 if unknown."""
    return _tokens(completion, "prompt_tokens")


def _tokens(completion: Any, name: str) -> int:  # noqa: ANN401
    value = getattr(getattr(completion, "usage", None), name, None)
    return value if isinstance(value, int) else 0


def text_of(completion: Any, model: str, *, is_formed: bool) -> str:  # noqa: ANN401
    """The text of the answer, "" if it has none.

    Args:
        completion: The answer.
        model: Its name, for errors.
        is_formed: Whether a JSON object is expected. Servers that divide thoughts from replies sometimes leave it among
            the thoughts (LM Studio, vLLM without an end of thinking): then it is taken from their end.

    Raises:
        LLMReplyError: If the model or its provider's filter refused.
    """
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason in ("content_filter", "refusal"):
        why = refusal if isinstance(refusal, str) else "content filter"
        raise LLMReplyError(model, f"refused to answer: {one_line(why)}")
    text = storable_text(_called_with(choice.message) or _joined(choice.message.content)).strip()
    return text or (_object_at_the_end_of_thoughts(choice.message) if is_formed else "")


def provider_of(answer: Any) -> str | None:  # noqa: ANN401
    """Who gave an answer, or a piece of one, by LiteLLM's note on it; None on those of other libraries."""
    return note_of(answer, "custom_llm_provider")


def note_of(answer: Any, name: str) -> str | None:  # noqa: ANN401
    """What LiteLLM notes on an answer, or on a piece of one; None where it does not, or another library gave it."""
    notes = getattr(answer, "_hidden_params", None)
    found = notes.get(name) if isinstance(notes, dict) else None
    return found if isinstance(found, str) and found else None


def thoughts_of(message: Any) -> str:  # noqa: ANN401
    """What a message, or a piece of one, holds of the model's thoughts, under the names that servers give them."""
    thoughts = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    return thoughts if isinstance(thoughts, str) else ""


def _object_at_the_end_of_thoughts(message: Any) -> str:  # noqa: ANN401
    thoughts = storable_text(thoughts_of(message)).strip()
    return thoughts if thoughts.removesuffix("```").rstrip().endswith("}") else ""


def _called_with(message: Any) -> str:  # noqa: ANN401
    """The arguments of the tool that stands for the form of the reply, as JSON; "" if none was called."""
    arguments = arguments_of(message)
    if isinstance(arguments, dict):  # of servers that write out what should be a text
        try:
            return json.dumps(arguments)
        except (TypeError, ValueError, RecursionError):
            return ""
    return arguments if isinstance(arguments, str) else ""


def _joined(content: str | list[Any] | None) -> str:
    """The text of a content that may come in parts, of which thoughts are no text."""
    if not isinstance(content, list):
        return content or ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def corrected(messages: Sequence[Message], text: str, problem: str, *, form: str | None) -> list[Message]:
    """The conversation that asks once more, with the unusable reply and what is wrong with it.

    Both may hold what the material made the model write, and so are escaped as the material is. `form` is the JSON
    Schema where the prompt did not spell it out: some servers ignore what is asked for beside it.
    """
    wanted = f"That reply cannot be used. {disarm(problem)} Answer again, whole, in the form that was asked for."
    if form is not None:
        wanted += f" It is one JSON object and nothing else, with this JSON Schema:\n{form}"
    return [
        *messages,
        {"role": "assistant", "content": disarm(text) or "(an empty reply)"},
        {"role": "user", "content": wanted},
    ]
