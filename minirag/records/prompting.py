"""What a user sets of the prompts, task by task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

Thinking = Literal["extract", "bridge", "read", "extend", "think"]
"""The tasks that a model does by a prompt."""

THINKING: tuple[Thinking, ...] = get_args(Thinking)
REQUIRED = ("data", "form")
OPTIONAL = ("language", "instructions", "examples")
_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_]+)\}\}|\{([A-Za-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptExample:
    """One example of a task.

    Attributes:
        given: The data, in the fields that the task's own have: title and passage to `extract`, question and context to
            `read`, and so on; `minirag prompts` prints the standard ones. Fields may be left out.
        reply: What the model should reply to them, whole.
    """

    given: Mapping[str, Any]
    reply: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check that both are JSON objects.

        Raises:
            ValueError: If one is not.
        """
        for name, value in (("given", self.given), ("reply", self.reply)):
            if not isinstance(value, Mapping) or not value:
                raise ValueError(f"an example's {name} is an object with at least one field, not {value!r}")
            try:
                object.__setattr__(self, name, json.loads(json.dumps(dict(value), allow_nan=False)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"an example's {name} must hold JSON values alone: {error}") from error


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """What is special about one task's prompt; nothing by default.

    Attributes:
        instructions: Of the domain, the tone, the length, …: one or several sentences that go behind the standard ones
            and prevail over them.
        language: What to write in ("French", "pt-BR"); "" leaves the language of the passage or of the question.
        examples: In the place of the standard ones.
        template: The whole system message in the place of the standard one. `{data}` and `{form}` stand where minirag
            says how the data come and what to reply; `{language}`, `{instructions}` and `{examples}` where these
            go, if there are any. Data never go into it. `{{word}}` gives a literal `{word}`.
    """

    instructions: str = ""
    language: str = ""
    examples: tuple[PromptExample, ...] = ()
    template: str = ""

    def __post_init__(self) -> None:
        """Check the texts, and the template's placeholders.

        Raises:
            ValueError: If something is of another type, or the template lacks a placeholder or has an unknown one.
        """
        for name in ("instructions", "language", "template"):
            _check_text(name, getattr(self, name))
        if "\n" in self.language:
            raise ValueError(f"language is a name such as 'French', in one line, not {self.language!r}")
        if isinstance(self.examples, str | Mapping) or not isinstance(self.examples, Sequence):
            raise ValueError(f"examples is a sequence of PromptExample, not {self.examples!r}")
        for example in self.examples:
            if not isinstance(example, PromptExample):
                raise ValueError(f"examples holds PromptExample, not {example!r}")
        object.__setattr__(self, "examples", tuple(self.examples))
        if self.template.strip():
            self._check_template()
        elif self.template:
            raise ValueError('template is blank; leave it out ("") for the standard one')

    def _check_template(self) -> None:
        found = placeholders_in(self.template)
        for name in found:
            if name not in REQUIRED + OPTIONAL:
                raise ValueError(
                    f"template has {{{name}}}, which is no placeholder: there are {_braced(REQUIRED + OPTIONAL)}. The "
                    f"data come in a message of their own; a literal {{{name}}} is written {{{{{name}}}}}"
                )
        given = [name for name in OPTIONAL if getattr(self, name)]
        if missing := [name for name in (*REQUIRED, *given) if name not in found]:
            raise ValueError(
                f"template lacks {_braced(missing)}. {{data}} and {{form}} stand where minirag says how the data come "
                "and what to reply; {language}, {instructions} and {examples} where these go"
            )


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is special about the prompts of an index.

    Attributes:
        extract: Passages into facts and triples, while indexing.
        bridge: Facts of several documents into bridging facts, while indexing.
        read: The answer from the evidence.
        extend: KiRAG's Constructor: the next unit of the chain.
        think: IRCoT's next thought.
    """

    extract: TaskPrompt = field(default_factory=TaskPrompt)
    bridge: TaskPrompt = field(default_factory=TaskPrompt)
    read: TaskPrompt = field(default_factory=TaskPrompt)
    extend: TaskPrompt = field(default_factory=TaskPrompt)
    think: TaskPrompt = field(default_factory=TaskPrompt)

    def __post_init__(self) -> None:
        """Check the types.

        Raises:
            ValueError: If one is no `TaskPrompt`.
        """
        for task in THINKING:
            if not isinstance(getattr(self, task), TaskPrompt):
                raise ValueError(f"prompts.{task} is a TaskPrompt, not {getattr(self, task)!r}")

    def of(self, task: Thinking) -> TaskPrompt:
        """The one of a task."""
        found: TaskPrompt = getattr(self, task)
        return found

    @property
    def own(self) -> tuple[Thinking, ...]:
        """The tasks that have something special."""
        return tuple(task for task in THINKING if self.of(task) != TaskPrompt())

    def over(self, other: Prompts) -> Prompts:
        """`other`, with this one's where it has something special."""
        return replace(other, **{task: self.of(task) for task in self.own})

    def to_dict(self) -> dict[str, Any]:
        """JSON values, without what is standard; `from_dict` reads them."""
        return {task: _told(self.of(task)) for task in self.own}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Prompts:
        """Read what `to_dict` gives, or what a TOML or JSON file holds: `{"read": {"language": "French"}}`.

        Raises:
            ValueError: If a name is unknown or a value is of another type; the message says where.
        """
        _check_names("prompts", value, THINKING)
        return cls(**{task: _read_task(task, given) for task, given in value.items()})


def placeholders_in(template: str) -> tuple[str, ...]:
    """The names in single braces, each once, in order."""
    return tuple(dict.fromkeys(name for _, name in _PLACEHOLDER.findall(template) if name))


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders replaced, in one pass: what is put in is not looked at again."""
    return _PLACEHOLDER.sub(lambda found: f"{{{found[1]}}}" if found[1] else values[found[2]], template)


def _told(prompt: TaskPrompt) -> dict[str, Any]:
    told: dict[str, Any] = {f.name: getattr(prompt, f.name) for f in fields(prompt) if getattr(prompt, f.name)}
    if prompt.examples:
        told["examples"] = [{"given": dict(e.given), "reply": dict(e.reply)} for e in prompt.examples]
    return told


def _read_task(task: str, given: object) -> TaskPrompt:
    _check_names(task, given, tuple(f.name for f in fields(TaskPrompt)))
    values = dict(given)  # type: ignore[call-overload]  # it is a mapping: it was checked
    try:
        if "examples" in values:
            examples = values["examples"]
            if not isinstance(examples, list | tuple | str):
                raise ValueError(f"examples is a list of objects with given and reply, not {examples!r}")
            values["examples"] = tuple(map(_read_example, examples))
        return TaskPrompt(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"prompts.{task}: {error}") from error


def _read_example(example: object) -> PromptExample:
    _check_names("an example", example, ("given", "reply"))
    values = dict(example)  # type: ignore[call-overload]  # likewise
    if len(values) < 2:
        raise ValueError(f"an example has given and reply, not {', '.join(values) or 'nothing'} alone")
    return PromptExample(**values)


def _check_names(where: str, value: object, known: Sequence[str]) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is an object with {', '.join(known)}, not {value!r}")
    if unknown := [name for name in value if name not in known]:
        raise ValueError(f"{where} has no {unknown[0]!r}; it has {', '.join(known)}")


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} holds half a character (a lone surrogate) at place {error.start}") from error


def _braced(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)
