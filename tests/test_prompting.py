"""Own prompts: what they may be, where they arrive, and that the file remembers them."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, PromptExample, Prompts, TaskPrompt, ask
from minirag.extraction import extraction_key
from minirag.prompting import check_prompts
from minirag.reasoner import bridging_version
from minirag.reasoner.prompts import system_for
from minirag.reasoner.standard import STANDARD
from minirag.records import Ledger, Passage
from tests.loopback import Loopback, honest

DOCUMENTS = [
    Document("aylwin", "Aylwin is a silent film. It was directed by Henry Edwards.", "Aylwin (film)"),
    Document("henry", "Henry Edwards was an actor. He was born in Weston.", "Henry Edwards"),
]
NOTHING = {"nothing_to_extract": True, "facts": [], "triples": []}
OWN = Prompts(
    extract=TaskPrompt(
        instructions="All ships are vessels of the Hart line.",
        examples=(PromptExample({"passage": "Pump 7 failed."}, NOTHING),),
    ),
    bridge=TaskPrompt(template="Connect, as the house does.\n{data}\n{language}\n{form}", language="German"),
    read=TaskPrompt(language="French", instructions="Answer in full sentences."),
    think=TaskPrompt(instructions="Think of ships."),
)


def systems(server: Loopback) -> dict[str, str]:
    """The last system message of each task."""
    return dict(zip(server.tasks(), (request.system for request in server.requests), strict=True))


def open_with(server: Loopback, path: Path, **options: Any) -> Index:  # noqa: ANN401
    return Index(path, model="openai/any", api_base=server.api_base, api_key="k", **options)


# --- where they arrive ---------------------------------------------------------------------------------------------


def test_they_arrive_in_the_system_message_of_their_task_alone(tmp_path: Path) -> None:
    with Loopback(honest) as server, open_with(server, tmp_path / "a.usearch", prompts=OWN) as index:
        index.add(DOCUMENTS, progress=False)
        ask("Where was Henry Edwards born?", index, strategy="ircot")
        sent = systems(server)
        assert sent == {task: system_for(task, OWN.of(task)) for task in ("extract", "bridge", "think", "read")}
        assert "vessels of the Hart line" in sent["extract"]
        assert "Pump 7 failed." in sent["extract"]
        assert sent["bridge"].startswith("Connect, as the house does.")
        assert "Write bridging facts in German" in sent["bridge"]
        assert "Write the answer in French" in sent["read"]
        assert "Answer in full sentences." in sent["read"]
        for request in server.requests:
            assert not re.search("Hart line|Pump 7|the house|French|full sentences", request.prompt)


def test_reading_takes_others_for_one_question(tmp_path: Path) -> None:
    with Loopback(honest) as server, open_with(server, tmp_path / "a.usearch", prompts=OWN) as index:
        index.add(DOCUMENTS, progress=False)
        mine = Prompts(read=TaskPrompt(language="Esperanto"))
        ask("Where was Henry Edwards born?", index, strategy="ircot", prompts=mine)
        assert systems(server)["read"] == system_for("read", mine.read)
        assert systems(server)["think"] == system_for("think", OWN.think)
        ask("Where was Henry Edwards born?", index)
        assert systems(server)["read"] == system_for("read", OWN.read)
        with pytest.raises(ValueError, match="of read, extend and think; bridge and extract is done while indexing"):
            ask("Where?", index, prompts=OWN)


# --- the file remembers --------------------------------------------------------------------------------------------


def test_the_file_remembers_them(tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    with Loopback(honest) as server:
        open_with(server, path, prompts=OWN).close()
        with open_with(server, path, mode="r") as index:
            assert index.prompts == index.info().prompts == OWN
        with open_with(server, path) as index:
            index.add(DOCUMENTS, progress=False)
            index.compact()
            assert index.prompts == OWN
        assert systems(server)["extract"] == system_for("extract", OWN.extract)
        with open_with(server, path, prompts=Prompts(read=OWN.think), mode="r") as index:
            assert index.prompts == Prompts(read=OWN.think)
        with open_with(server, path) as index:
            assert index.prompts == OWN
    assert Prompts.from_dict(json.loads(json.dumps(OWN.to_dict()))) == OWN


def test_others_replace_them_and_say_what_that_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    with Loopback(honest) as server:
        with open_with(server, path) as index:
            index.add(DOCUMENTS, progress=False)
        asked = len(server.requests)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            open_with(server, path, prompts=Prompts(read=OWN.read)).close()
        message = r"a.usearch: the prompt of bridge and extract has changed.*reextract=True.* for the 2 documents"
        with pytest.warns(UserWarning, match=message) as caught:
            index = open_with(server, path, prompts=OWN)
        assert caught[0].filename == __file__
        with index:
            assert index.add(DOCUMENTS, progress=False).usage.calls == 0
            report = index.add(DOCUMENTS, progress=False, reextract=True)
            assert report.usage.calls == asked == 3
        assert systems(server)["extract"] == system_for("extract", OWN.extract)
        with pytest.warns(UserWarning, match="has changed"):
            open_with(server, path, prompts=Prompts()).close()
        with open_with(server, path, mode="r") as index:
            assert index.prompts == Prompts()


def test_a_changed_document_is_read_anew_by_a_changed_prompt_and_not_by_others(tmp_path: Path) -> None:
    path = tmp_path / "a.usearch"
    long = "\n\n".join(f"Part {n}. " + f"Henry Edwards made film number {n}. " * 30 for n in range(4))
    with Loopback(honest) as server:
        with open_with(server, path) as index:
            index.add(Document("films", long), progress=False)
            passages = index.info().passages
        assert len(server.requests) == passages > 3
        with pytest.warns(UserWarning, match="the prompt of bridge has changed"):
            index = open_with(server, path, prompts=Prompts(read=OWN.read, bridge=OWN.bridge))
        with index:
            index.add(Document("films", long + " And one more."), progress=False)
        assert len(server.requests) == passages + 1
        with pytest.warns(UserWarning, match="the prompt of extract has changed"):
            index = open_with(server, path, prompts=Prompts(read=OWN.read, bridge=OWN.bridge, extract=OWN.extract))
        with index:
            index.add(Document("films", long), progress=False)
        assert len(server.requests) == 2 * passages + 1


def test_keys_follow_their_own_prompt_alone(tmp_path: Path) -> None:
    passage = Passage("p", "d", "Text.", 0, 5)

    def keys(prompts: Prompts) -> tuple[str, str]:
        with Index(tmp_path / "a.usearch", mode="r", model="openai/any", prompts=prompts) as index:
            reasoner = index.reasoner(None, Ledger())
            return extraction_key(passage, title="", reasoner=reasoner), bridging_version(reasoner)

    Index(tmp_path / "a.usearch", model="offline").close()
    extract, bridge = keys(Prompts())
    assert keys(Prompts(read=OWN.read, think=OWN.think, extend=TaskPrompt(language="French"))) == (extract, bridge)
    changed, same = keys(Prompts(extract=OWN.extract))
    assert (changed != extract, same) == (True, bridge)
    same, changed = keys(Prompts(bridge=OWN.bridge))
    assert (same, changed != bridge) == (extract, True)


# --- what they may be ----------------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"reed": {}}, r"prompts has no 'reed'; it has extract, bridge, read, extend, think"),
    ({"read": "Be brief."}, r"read is an object with instructions, language, examples, template, not 'Be brief.'"),
    ({"read": {"tone": "dry"}}, r"read has no 'tone'; it has instructions, language, examples, template"),
    ({"read": {"instructions": 3}}, r"prompts.read: instructions is a text, not 3"),
    ({"read": {"instructions": "\ud800"}}, r"instructions holds half a character \(a lone surrogate\) at place 0"),
    ({"read": {"language": "a\nb"}}, r"prompts.read: language is a name such as 'French', in one line, not 'a\\nb'"),
    (
        {"read": {"template": "Answer."}},
        r"prompts.read: template lacks \{data\}, \{form\}. \{data\} and \{form\} stand",
    ),
    ({"read": {"template": "{data}"}}, r"template lacks \{form\}\. "),
    ({"read": {"template": "{form} {{data}}"}}, r"template lacks \{data\}\. "),
    ({"read": {"template": "{data}{form}", "language": "French"}}, r"template lacks \{language\}\. "),
    ({"read": {"template": "{data}{form}", "instructions": "x"}}, r"template lacks \{instructions\}\. "),
    (
        {"read": {"template": "{data}{form}{question}"}},
        r"template has \{question\}, which is no placeholder: .*literal",
    ),
    ({"read": {"template": " "}}, r"template is blank; leave it out"),
    ({"read": {"examples": "x"}}, r"an example is an object with given, reply, not 'x'"),
    ({"read": {"examples": 3}}, r"prompts.read: examples is a list of objects with given and reply, not 3"),
    ({"read": {"examples": [{"given": {"question": "?"}}]}}, r"an example has given and reply, not given alone"),
    ({"read": {"examples": [{"given": [], "reply": {}}]}}, r"an example's given is an object with at least one field"),
    ({"read": {"examples": [{"given": {"question": {1}}, "reply": {"a": 1}}]}}, r"given must hold JSON values alone"),
]


@pytest.mark.parametrize(("value", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_is_said_where(value: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Prompts.from_dict(value)


def test_wrong_types_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"prompts is a minirag.Prompts, not \{'read': \{\}\}; Prompts.from_dict makes"
    ):
        Index(tmp_path / "a.usearch", model="offline", prompts={"read": {}})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"prompts.read is a TaskPrompt, not 'Be brief.'"):
        Prompts(read="Be brief.")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="examples holds PromptExample, not 3"):
        TaskPrompt(examples=(3,))  # type: ignore[arg-type]
    assert not (tmp_path / "a.usearch").exists()


def test_a_wrong_example_is_said_before_a_file_is_made(tmp_path: Path) -> None:
    prompts = Prompts(read=TaskPrompt(examples=(PromptExample({"passage": "x"}, {"found": True}),)))
    with pytest.raises(
        ValueError, match=r"prompts.read, example 1: the data have no 'passage'; they have context, chai"
    ):
        Index(tmp_path / "a.usearch", model="offline", prompts=prompts)
    assert not (tmp_path / "a.usearch").exists()


def test_the_standard_prompts_can_be_given_as_own() -> None:
    for task, standard in STANDARD.items():
        own = TaskPrompt(template=standard.template, examples=standard.examples)
        assert system_for(task, own) == system_for(task)
        assert check_prompts(Prompts(**{task: own})).own == (task,)
