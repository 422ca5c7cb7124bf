"""The server in a process of its own, asked by the SDK's own client."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import minirag
from minirag import Document, Index
from minirag.answering import ask, retrieve
from minirag.storage.lock import writer_lock
from tests.coast import ANSWER, ENGINEER, LIGHTHOUSE, QUESTION, build_coast
from tests.extras import need
from tests.loopback import Loopback, Request, Served, honest, status

pytestmark = pytest.mark.extra
need("mcp")

import anyio  # noqa: E402
from anyio.from_thread import BlockingPortal, start_blocking_portal  # noqa: E402
from mcp import Client, MCPError, StdioServerParameters, stdio_client  # noqa: E402
from mcp.types import CallToolResult  # noqa: E402

ROOT = Path(minirag.__file__).parent.parent
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "no-key"}


class Agent:
    """The SDK's client, from a test that does not await."""

    def __init__(self, client: Client, portal: BlockingPortal, errors: Path) -> None:
        self.client, self.portal, self.errors = client, portal, errors
        self.progress: list[tuple[float, str | None]] = []

    def call(self, tool: str, **arguments: Any) -> CallToolResult:  # noqa: ANN401
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            assert total is None
            self.progress.append((progress, message))

        self.progress.clear()
        return self.portal.call(partial(self.client.call_tool, tool, arguments, progress_callback=heard))

    def get(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """What a tool gives to programs."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        given: dict[str, Any] = result.structured_content
        return given

    def fail(self, tool: str, **arguments: Any) -> str:  # noqa: ANN401
        """What a tool says of an error."""
        result = self.call(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        assert "Traceback" not in text_of(result)
        return text_of(result)


@contextmanager
def served(errors: Path, *arguments: str | Path) -> Iterator[Agent]:
    """`minirag mcp` with these arguments, as an agent starts it; what it writes to standard error goes to a file."""
    command = ["-m", "minirag", "mcp", *map(str, arguments)]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=ENVIRONMENT, cwd=errors.parent)
    with errors.open("w", encoding="utf-8") as log, start_blocking_portal() as portal:
        client = Client(stdio_client(parameters, errlog=log), read_timeout_seconds=120)
        with portal.wrap_async_context_manager(client):
            yield Agent(client, portal, errors)


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_coast(tmp_path_factory.mktemp("coast") / "coast.usearch")


@pytest.fixture(scope="module")
def agent(coast: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with served(tmp_path_factory.mktemp("errors") / "stderr.txt", coast, "--about", "articles about a coast") as agent:
        yield agent


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return str(content.text)


# --- what is offered -----------------------------------------------------------------------------------------------


def test_tools_come_with_schemas_and_say_that_they_only_read(agent: Agent) -> None:
    tools = {tool.name: tool for tool in agent.portal.call(agent.client.list_tools).tools}

    assert list(tools) == ["ask", "search", "list_documents", "read_document"]
    assert {tool.annotations.read_only_hint for tool in tools.values()} == {True}
    assert all("articles about a coast" in tool.description for tool in tools.values())
    assert tools["ask"].input_schema["required"] == ["question"]
    assert list(tools["search"].input_schema["properties"]) == ["query", "k", "kinds", "where"]
    assert {name: list(tool.output_schema["properties"]) for name, tool in tools.items()} == {
        "ask": ["answer", "found", "citations", "chain", "model", "strategy", "calls", "cost"],
        "search": ["hits"],
        "list_documents": ["documents", "total", "next_offset"],
        "read_document": ["id", "title", "metadata", "text", "length", "next_offset"],
    }


def test_the_server_says_who_it_is_and_what_it_holds(agent: Agent) -> None:
    info = agent.client.server_info

    assert (info.name, info.version) == ("minirag", minirag.__version__)
    assert agent.client.instructions.startswith("Answers from an index of documents: articles about a coast.")


# --- asking and searching ------------------------------------------------------------------------------------------


def test_ask_answers_with_citations_for_programs_and_for_models(agent: Agent, coast: Path) -> None:
    result = agent.call("ask", question=QUESTION)

    answer = ask(QUESTION, coast, model="offline")
    assert result.structured_content is not None
    assert result.structured_content["answer"] == answer.text == ANSWER
    assert result.structured_content["found"]
    assert [each["passage_id"] for each in result.structured_content["citations"]] == [
        citation.passage_id for citation in answer.citations
    ]
    assert result.structured_content["chain"] == [hit.text for hit in answer.chain]
    assert text_of(result).startswith(f"{ANSWER}\n\n[1] ")
    assert f"] Lucasta Farrow ({ENGINEER})\nLucasta Farrow (1822" in text_of(result)
    assert f"] Hallow Head Lighthouse ({LIGHTHOUSE})\n" in text_of(result)
    assert agent.progress[0] == (0, "answering")


def test_ask_says_when_there_is_no_answer(agent: Agent) -> None:
    result = agent.call("ask", question="What is the atomic weight of bismuth?")

    assert not result.is_error
    assert result.structured_content is not None
    assert not result.structured_content["found"]
    assert text_of(result).endswith("(The indexed documents do not answer this.)")


def test_search_gives_the_passages_that_kirag_ranks_best(agent: Agent, coast: Path) -> None:
    hits = agent.get("search", query=QUESTION)["hits"]

    expected = retrieve(QUESTION, coast, strategy="kirag", model="offline").hits
    assert [(hit["id"], hit["text"], hit["kind"]) for hit in hits] == [(h.id, h.text, "passage") for h in expected]


def test_search_for_facts_and_bridging_facts(agent: Agent) -> None:
    result = agent.call("search", query=QUESTION, k=2, kinds=["fact", "bridge"])

    assert result.structured_content is not None
    assert [hit["kind"] for hit in result.structured_content["hits"]] == ["bridge", "fact"]
    first = text_of(result).split("\n", 1)[0]
    assert first == f"1. bridging fact of Hallow Head Lighthouse ({LIGHTHOUSE}), Lucasta Farrow ({ENGINEER})"


def test_filters_narrow_what_is_asked_and_found(agent: Agent) -> None:
    lighthouse = {"initial": "H"}

    assert agent.get("ask", question=QUESTION, where=lighthouse)["answer"] != ANSWER
    for kinds in (None, ["bridge", "fact"]):
        hits = agent.get("search", query=QUESTION, kinds=kinds, where=lighthouse)["hits"]
        assert {each for hit in hits for each in hit["document_ids"]} <= {LIGHTHOUSE, "hesper"}
    assert "unknown operator '$near' in year" in agent.fail("search", query="light", where={"year": {"$near": 2}})


def test_many_calls_at_once(agent: Agent) -> None:
    answers: list[str] = []

    async def one() -> None:
        result = await agent.client.call_tool("ask", {"question": QUESTION})
        answers.append(result.structured_content["answer"])

    async def many() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(one)

    agent.portal.call(many)

    assert answers == [ANSWER] * 12


# --- documents -----------------------------------------------------------------------------------------------------


def test_documents_are_listed_page_by_page(agent: Agent) -> None:
    first = agent.get("list_documents", limit=20)
    rest = agent.get("list_documents", limit=20, offset=first["next_offset"])

    assert (first["total"], first["next_offset"], rest["next_offset"]) == (24, 20, None)
    assert len({each["id"] for each in first["documents"] + rest["documents"]}) == 24
    found = agent.get("list_documents", containing="LIGHTHOUSE")["documents"]
    assert found == [
        {"id": LIGHTHOUSE, "title": "Hallow Head Lighthouse"},
        {"id": "gull-point-lighthouse", "title": "Gull Point Lighthouse"},
    ]


def test_a_document_is_read_in_parts(agent: Agent, coast: Path) -> None:
    with Index(coast, mode="r", model="offline") as index:
        document = index.document(ENGINEER)

    first = agent.get("read_document", document_id=ENGINEER, limit=500)
    rest = agent.get("read_document", document_id=ENGINEER, offset=first["next_offset"])

    assert first["text"] + rest["text"] == document.text
    assert (first["next_offset"], rest["next_offset"], first["length"]) == (500, None, len(document.text))
    assert (first["title"], first["metadata"]) == ("Lucasta Farrow", {"initial": "L", "set": "coast"})


def test_a_document_is_a_resource(agent: Agent) -> None:
    (template,) = agent.portal.call(agent.client.list_resource_templates).resource_templates
    (content,) = agent.portal.call(agent.client.read_resource, f"minirag://documents/{ENGINEER}").contents

    assert template.uri_template == "minirag://documents/{+document_id}"
    assert content.text == agent.get("read_document", document_id=ENGINEER)["text"]
    with pytest.raises(MCPError, match=r"there is no document '\.\./etc/passwd'"):
        agent.portal.call(agent.client.read_resource, "minirag://documents/../etc/passwd")


# --- errors --------------------------------------------------------------------------------------------------------


def test_errors_are_for_the_agent_to_read(agent: Agent) -> None:
    assert agent.fail("ask", question=" ").endswith("the question is blank")
    assert agent.fail("read_document", document_id="none").endswith(
        "there is no document 'none'; list_documents gives the ids"
    )
    assert "less than or equal to 100" in agent.fail("search", query="light", k=1_000)
    assert "'passage', 'fact', 'bridge' or 'triple'" in agent.fail("search", query="light", kinds=["thought"])
    assert "Unknown tool" in agent.fail("add", documents=[{"text": "A lake."}])
    assert agent.get("ask", question=QUESTION)["answer"] == ANSWER
    assert "Traceback" not in agent.errors.read_text(encoding="utf-8")


def test_a_model_answers_and_its_failures_are_told(coast: Path, tmp_path: Path) -> None:
    def once(request: Request) -> Served:
        return honest(request) if len(server.requests) == 1 else status(401)  # the key was withdrawn

    with Loopback(once) as server:
        named = ("--model", "openai/any", "--api-base", server.api_base, "--strategy", "indexrag", "-k", "4")
        with served(tmp_path / "stderr.txt", coast, *named) as agent:
            answered = agent.get("ask", question=QUESTION)
            told = agent.fail("ask", question=QUESTION)

    assert (answered["model"], answered["strategy"], answered["calls"]) == ("openai/any", "indexrag", 1)
    assert "openai/any: " in told
    assert "no-key" not in told
    assert (tmp_path / "stderr.txt").read_text(encoding="utf-8") == ""


# --- writing -------------------------------------------------------------------------------------------------------


def test_what_another_process_commits_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(Document("lake", "Lake Lugano lies in Switzerland.", "Lake Lugano"), progress=False)
        with served(tmp_path / "stderr.txt", path) as agent:
            assert agent.get("list_documents")["total"] == 1

            index.add(Document("como", "Como lies in Italy.", "Como"), progress=False)

            assert agent.get("search", query="Como", k=1)["hits"][0]["document_ids"] == ["como"]
            index.delete("como")
            assert [hit["document_ids"] for hit in agent.get("search", query="Como")["hits"]] == [["lake"]]


def test_documents_are_added_where_it_is_allowed(tmp_path: Path) -> None:
    path, secret = tmp_path / "new.usearch", tmp_path / "secret.txt"
    secret.write_text("The password is swordfish.")
    with served(tmp_path / "stderr.txt", path, "--writable") as agent:
        added = agent.call(
            "add",
            documents=[
                {
                    "id": "lake",
                    "title": "Lake Lugano",
                    "text": "Lake Lugano lies in Switzerland.",
                    "metadata": {"a": 1},
                },
                {"text": str(secret)},
                {"text": "  "},
            ],
        )
        progress = list(agent.progress)
        again = agent.get("add", documents=[{"id": "lake", "text": "Lake Lugano lies in Ticino."}])
        found = agent.get("ask", question="Where does Lake Lugano lie?")
        texts = [
            agent.get("read_document", document_id=each["id"])["text"]
            for each in agent.get("list_documents")["documents"]
        ]
        (tool,) = [each for each in agent.portal.call(agent.client.list_tools).tools if each.name == "add"]

    assert added.structured_content is not None
    assert added.structured_content["added"][0] == "lake"
    assert len(added.structured_content["added"]) == 2
    assert [each["id"] for each in added.structured_content["failed"]] == ["source #3"]
    assert text_of(added).startswith("added: lake, ")
    assert again["updated"] == ["lake"]
    assert "Ticino" in found["citations"][0]["text"]
    assert sorted(texts) == sorted([str(secret), "Lake Lugano lies in Ticino."])  # the file's name, not what is in it
    assert [number for number, _ in progress] == list(range(1, len(progress) + 1))
    assert progress[-1][1] is not None
    assert (tool.annotations.read_only_hint, tool.annotations.idempotent_hint) == (False, True)


def test_a_filtered_server_shows_nothing_else(coast: Path, tmp_path: Path) -> None:
    with served(tmp_path / "stderr.txt", coast, "--where", '{"initial": "H"}') as agent:
        listed = {each["id"] for each in agent.get("list_documents")["documents"]}
        hidden = agent.fail("read_document", document_id=ENGINEER)
        answer = agent.get("ask", question=QUESTION)
        with pytest.raises(MCPError, match="there is no document"):
            agent.portal.call(agent.client.read_resource, f"minirag://documents/{ENGINEER}")
        outside = agent.get("search", query=QUESTION, where={"initial": "L"})
    refused = run_raw(coast, "--writable", "--where", '{"initial": "H"}', cwd=tmp_path)

    assert LIGHTHOUSE in listed
    assert {each[0] for each in listed} == {"h"}
    assert f"there is no document '{ENGINEER}'" in hidden
    assert answer["answer"] != ANSWER
    assert outside == {"hits": []}
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--where and --writable do not go together" in refused.stderr


def test_a_lock_is_told_and_waited_out_by_asking_again(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with served(tmp_path / "stderr.txt", path, "--writable") as agent:
        with writer_lock(path):
            told = agent.fail("add", documents=[{"id": "lake", "text": "A lake."}])
        added = agent.get("add", documents=[{"id": "lake", "text": "A lake."}])

    assert f"process {os.getpid()} is writing it" in told
    assert added["added"] == ["lake"]


# --- as users set it up ---------------------------------------------------------------------------------------------


def test_the_readme_s_configuration_starts_it(coast: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", readme, flags=re.DOTALL)
    (configured,) = json.loads(block)["mcpServers"].values()
    arguments = [str(coast) if each == "/path/to/notes.usearch" else each for each in configured["args"]]
    assert configured["command"] == "minirag"
    assert set(configured["env"]) == {"MINIRAG_MODEL", "OPENAI_API_KEY"}

    with served(tmp_path / "stderr.txt", *arguments[1:]) as agent:
        assert arguments[0] == "mcp"
        assert "minutes of the board, 2019 to 2024" in agent.client.instructions
        assert agent.get("list_documents")["total"] == 24


# --- the process ---------------------------------------------------------------------------------------------------


def run_raw(*arguments: str | Path, sent: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minirag", "mcp", *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIRAG_")}
    return subprocess.run(
        command, input=sent, env=kept | ENVIRONMENT, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_standard_output_carries_messages_alone(coast: Path, tmp_path: Path) -> None:
    started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"name": "ask", "arguments": {"question": QUESTION}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": started},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    ]
    command = [sys.executable, "-m", "minirag", "mcp", str(coast)]
    process = subprocess.Popen(
        command,
        env=os.environ | ENVIRONMENT,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    process.stdin.flush()
    lines = [json.loads(process.stdout.readline()) for _ in range(2)]
    rest, errors = process.communicate(timeout=60)

    assert (process.returncode, rest) == (0, "")
    assert [line["id"] for line in lines] == [1, 2]
    assert lines[1]["result"]["structuredContent"]["answer"] == ANSWER
    assert errors.splitlines() == [errors.strip()]  # the note that nobody named a model
    assert errors.startswith("Note: answering offline")


def test_a_missing_index_ends_it_at_once(tmp_path: Path) -> None:
    done = run_raw("none.usearch", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "none.usearch: there is no such file. Build it: minirag index PATHS" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_file_it_says_how_to_name_one(tmp_path: Path) -> None:
    done = run_raw(cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "name the index: minirag mcp FILE" in done.stderr
