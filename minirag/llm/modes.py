"""How the form of a reply is asked for: by schema, by a tool to call, by JSON mode, or in words; best first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from minirag.llm.catalog import read_shipped
from minirag.llm.routing import Route, find_entry

Mode = Literal["json_schema", "tool", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "tool", "json_object", "text")
UNWORDED: tuple[Mode, ...] = ("json_schema", "tool")  # the schema goes beside the prompt, not into it

_TAKES_SCHEMAS = frozenset({"ollama", "ollama_chat"})  # by their `format`, though LiteLLM's map says nothing of it
_TAKEN_NATIVELY = ("supports_native_structured_output", "supports_bedrock_native_structured_output_by_default")
_ENOUGH = 4  # more replies out of form than in it, until the next way is tried


def first_mode(route: Route, *, api_base: str | None) -> Mode:
    """The best way that a model is known to take, by LiteLLM's map. Of unknown ones the best is tried first.

    Those are also the user's own: who registers a model tells its price, and seldom more.
    """
    if route.library == "function":
        return "text"
    entry = find_entry(route, api_base=api_base, models=read_shipped())
    if _streams_tools_only(entry):
        return "tool"
    if not entry or entry.get("supports_response_schema") or entry.get("litellm_provider") in _TAKES_SCHEMAS:
        return "json_schema"
    return "tool" if entry.get("supports_function_calling") else "json_object"


def _streams_tools_only(entry: Mapping[str, Any]) -> bool:
    """Whether LiteLLM makes a tool of a schema itself, and then does not stream what is called (1.110.2, Bedrock)."""
    is_bedrock = entry.get("litellm_provider") in ("bedrock", "bedrock_converse")
    return is_bedrock and bool(entry.get("supports_tool_choice")) and not any(map(entry.get, _TAKEN_NATIVELY))


class ModeMemory:
    """Which way works for a model.

    Attributes:
        mode: The one to use now.
    """

    def __init__(self, mode: Mode) -> None:
        """Begin with this one."""
        self.mode = mode
        self._out_of_form = 0

    def first_but(self, without: Collection[str]) -> Mode:
        """The best that is left: the one to use now, or the next that is not among these; the last one always is."""
        left = MODES[MODES.index(self.mode) :]
        return next((mode for mode in left if mode not in without), MODES[-1])

    def refuse(self, mode: str) -> bool:
        """The provider does not take it; gives whether that is news, as another call may have learned it meanwhile."""
        if mode != self.mode or mode == MODES[-1]:
            return False
        self.mode = MODES[MODES.index(self.mode) + 1]
        self._out_of_form = 0
        return True

    def note(self, mode: Mode, *, in_form: bool) -> bool:
        """Learn from a reply whether the way is merely ignored; gives whether the next one is used from now on."""
        if mode != self.mode:
            return False
        self._out_of_form = max(0, self._out_of_form + (-1 if in_form else 1))
        return self._out_of_form >= _ENOUGH and self.refuse(mode)
