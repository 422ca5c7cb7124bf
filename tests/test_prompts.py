"""The five prompts: their examples, their parts, and what changes their fingerprints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import BaseModel, Field

from minirag.reasoner.numbers import foreign_numbers
from minirag.reasoner.prompts import REMINDER, check_examples, fingerprint, messages_for, system_for
from minirag.reasoner.replies import REPLIES, ThinkReply
from minirag.reasoner.standard import ANSWER_MARK, NOTICE, STANDARD
from minirag.records import THINKING, PromptExample, Prompts, TaskPrompt, Thinking

OWN = PromptExample(
    {"title": "Log", "passage": "Pump 7 failed."}, {"nothing_to_extract": True, "facts": [], "triples": []}
)


@pytest.mark.parametrize("task", THINKING)
def test_the_standard_examples_have_the_data_and_the_form_that_are_asked_for(task: Thinking) -> None:
    standard = STANDARD[task]
    check_examples(Prompts(**{task: TaskPrompt(examples=standard.examples)}))
    for example in standard.examples:
        assert tuple(example.given) == standard.fields
        REPLIES[task].model_validate(example.reply, strict=True)
    for field in standard.fields:
        assert f"`{field}`" in standard.data
    for field in REPLIES[task].model_fields:
        assert f"- `{field}`:" in standard.form


def test_the_standard_examples_say_nothing_that_their_data_do_not() -> None:
    for example in STANDARD["extract"].examples:
        for fact in example.reply["facts"]:
            assert foreign_numbers(fact["text"], [example.given["passage"], example.given["title"]]) == ()
            assert all(entity in fact["text"] for entity in fact["entities"])


@pytest.mark.parametrize("task", THINKING)
def test_a_prompt_has_all_of_its_parts_once(task: Thinking) -> None:
    system, user = messages_for(task, {"x": "y"})
    assert system == {"role": "system", "content": system_for(task)}
    text = system["content"]
    for part in (NOTICE, STANDARD[task].data, STANDARD[task].form, STANDARD[task].own_language):
        assert text.count(part) == 1
    assert "\n\n\n" not in text
    assert "{data}" not in text
    assert user == {"role": "user", "content": f'{{"task": "{task}", "x": "y"}}\n\n{REMINDER}'}


def test_what_is_set_goes_to_its_place() -> None:
    prompt = TaskPrompt(instructions="Units are of ships.", language="French", examples=(OWN,))
    text = system_for("extract", prompt)
    assert (
        text.index(NOTICE) < text.index("Write facts, relations and descriptions in French") < text.index("of ships.")
    )
    assert text.index("Units are of ships.") < text.index("`nothing_to_extract`: true") < text.index("Pump 7")
    assert STANDARD["extract"].own_language not in text
    assert "Lena Hart" not in text
    assert text.endswith('Reply: {"nothing_to_extract": true, "facts": [], "triples": []}')


def test_an_own_template_has_minirags_parts_where_it_wants_them() -> None:
    text = system_for("think", TaskPrompt(template='Think. {{data}} {"x": {"y": 1}}\n{data}\n{form}'))
    assert text.startswith('Think. {data} {"x": {"y": 1}}\n' + NOTICE)
    assert ANSWER_MARK in text
    assert "Example" not in text


def test_what_is_put_in_is_not_filled_in_again() -> None:
    text = system_for("read", TaskPrompt(instructions="Write {data} and {form} as they are."))
    assert "Write {data} and {form} as they are." in text
    assert text.count(NOTICE) == 1


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            replace(OWN, given={"text": "x"}),
            r"prompts.extract, example 1: the data have no 'text'; they have title, pas",
        ),
        (replace(OWN, reply={"facts": []}), r"prompts.extract, example 1, nothing_to_extract: Field required"),
        (
            replace(OWN, reply={**OWN.reply, "facts": [{"text": 1, "entities": []}]}),
            r"facts.0.text: Input should be a v",
        ),
        (
            replace(OWN, reply={**OWN.reply, "nothing_to_extract": False}),
            r"example 1, reply: Value error, facts is empty",
        ),
    ],
)
def test_examples_fit_their_task(example: PromptExample, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_examples(Prompts(extract=TaskPrompt(examples=(example,))))


def test_a_fingerprint_follows_the_prompt_and_the_form() -> None:
    class Renamed(BaseModel):
        thought: str = Field(description="Two sentences.")

    standard = TaskPrompt()
    known = fingerprint("think", standard, [ThinkReply])
    assert fingerprint("think", TaskPrompt(), [ThinkReply]) == known
    assert len(known) == 12
    others = [
        fingerprint("think", standard, [Renamed]),
        fingerprint("read", standard, [ThinkReply]),
        fingerprint("think", TaskPrompt(instructions="Be brief."), [ThinkReply]),
        fingerprint("think", TaskPrompt(language="French"), [ThinkReply]),
        fingerprint("think", TaskPrompt(template="{data} {form}"), [ThinkReply]),
        fingerprint("think", TaskPrompt(examples=(PromptExample({"question": "?"}, {"thought": "x"}),)), [ThinkReply]),
    ]
    assert len({known, *others}) == len(others) + 1


def test_prompts_of_two_passages_share_all_but_the_data() -> None:
    first = json.dumps(messages_for("extract", {"title": "Lena Hart", "passage": "She died in Oslo."}))
    second = json.dumps(messages_for("extract", {"title": "Bergen", "passage": "Bergen is in Norway."}))
    shared = next(place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert first[:shared].endswith('{\\"task\\": \\"extract\\", \\"title\\": \\"')
    assert shared > 0.9 * len(first)
