"""The command line: answers that stream on a terminal, limits of cost, and the log."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minirag import Document, Index
from minirag.cli import program
from minirag.encoder import SHIPPED
from minirag.evaluation.results import read_runs
from tests.loopback import Entry, Loopback, Request, Served, honest, status
from tests.terminals import confirmed, on_terminal

pytest.importorskip("pty")  # not on Windows

QUESTION = "Who directed Aylwin?"
REPLY = json.dumps({"found": True, "answer": "Henry Edwards\u0007 directed it.", "items": [1]})
RUN = re.compile(r"^\| people +\| (\w+) +\| openai/any +\|", re.MULTILINE)  # in eval's first table
MODEL = ("--model", "openai/any", "--price", "10", "30")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("COLUMNS", "100")
    path = tmp_path / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(Document("aylwin", "Aylwin was directed by Henry Edwards.", "Aylwin (film)"), progress=False)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, [str(argument) for argument in arguments])


def asked(script: list[Entry], notes: Path, *options: str) -> tuple[str, bool]:
    with Loopback(script) as server:
        shown = on_terminal("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base, *options)
    return shown, bool(server.requests[0].body.get("stream"))


def test_an_answer_streams_on_a_terminal(notes: Path) -> None:
    shown, streamed = asked([Served(text=REPLY, piece_delay=0.01)], notes)
    assert streamed
    assert shown.startswith("Henry Edwards directed it.\n\n[1] Aylwin (film)")
    assert re.search(r"openai/any, indexrag: 1 call, \$0\.0013, \d", shown)


def test_it_does_not_where_that_is_not_wanted_or_nobody_looks(notes: Path) -> None:
    shown, streamed = asked([REPLY], notes, "--no-stream")
    assert (streamed, shown.startswith("Henry Edwards directed it.\n\n[1] ")) == (False, True)
    with Loopback([REPLY]) as server:
        result = run("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base)
    assert result.stdout.startswith("Henry Edwards directed it.\n\n[1] ")
    assert "stream" not in server.requests[0].body


def test_what_was_repaired_is_shown_again(notes: Path) -> None:
    broken = json.dumps({"found": True, "answer": "Somebody.", "items": "one"})
    shown, _ = asked([broken, REPLY], notes)
    assert shown.startswith("Somebody.\nHenry Edwards directed it.\n\n[1] ")


def test_indexing_stops_at_a_cost_and_says_how_to_go_on(tmp_path: Path, notes: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"{name.upper()} Holm was born in Bergen.", encoding="utf-8")
    arguments = ("index", *(tmp_path / f"{name}.txt" for name in "abc"), "--index", notes, *MODEL)
    with Loopback(honest) as server:
        result = run(*arguments, "--api-base", server.api_base, "--max-cost", "0.0001")
        assert result.exit_code == 1
        assert "added 0, updated 0" in result.stdout
        assert "stopped at $0 of max_cost=$0.0001: the next call may cost up to $0.0" in result.stderr
        assert server.requests == []
        assert run(*arguments, "--api-base", server.api_base, "--max-cost", "1").exit_code == 0
    shown = run("info", notes).stdout
    assert re.search(r"\n  extract +3 calls, \$0\.0\d+, ", shown)
    with Index(notes, mode="r", model="offline") as index:
        usage = index.info().usage
    assert json.loads(run("info", notes, "--json").stdout)["usage"] == usage.to_dict()
    assert usage.tasks["extract"].calls == 3


def test_a_limit_holds_for_both_runs_where_pruning_is_confirmed(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()

    def write(names: str) -> None:
        for name in names:
            Path(f"docs/{name}.txt").write_text(f"{name.upper()} Holm was born in Bergen.", encoding="utf-8")

    def dear(request: Request) -> Served:
        return replace(honest(request), usage={"prompt_tokens": 5000, "completion_tokens": 10, "total_tokens": 5010})

    with Loopback(dear) as server:
        arguments = ("index", "docs", "--index", notes, *MODEL, "--api-base", server.api_base)
        write("abcde")
        assert run(*arguments).exit_code == 0
        sent = len(server.requests)
        write("f")
        for name in "abcd":
            Path(f"docs/{name}.txt").unlink()
        told = confirmed(*arguments, "--prune", "--max-cost", "0.105")
        assert (server.tasks()[sent:], "Delete them?" in told) == (["extract", "bridge"], True)
        assert "stopped at $0.1006 of max_cost=$0.1050" in told


def test_a_price_is_that_of_models_for_tasks_too(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A Holm was born in Bergen.", encoding="utf-8")
    with Loopback(honest) as server:
        model = ("--model-for", "extract=openai/any", "--model-for", "bridge=openai/any", "--api-base", server.api_base)
        arguments = ("index", tmp_path / "a.txt", "--index", notes, *model, "--price", "10", "30", "--max-cost", "1")
        result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert len(server.requests) == 1


def test_no_call_is_paid_for_a_page_that_cannot_be_written(notes: Path, tmp_path: Path) -> None:
    with Loopback(honest) as server:
        page = tmp_path / "none" / "x.html"
        result = run("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base, "--html", page)
    assert (result.exit_code, server.requests) == (2, [])
    assert f"--html {page}: there is no folder {page.parent}" in re.sub(r"\s*\n\s*", " ", result.stderr)


def test_a_price_needs_a_model(notes: Path) -> None:
    result = run("ask", QUESTION, "--index", notes, "--price", "1", "2")
    assert result.exit_code == 2
    assert "--price needs a --model" in result.stderr


@pytest.mark.parametrize(("flags", "levels"), [((), set()), (("-v",), {"INFO"}), (("-vv",), {"INFO", "DEBUG"})])
def test_the_log_is_shown_where_it_is_asked_for(notes: Path, flags: tuple[str, ...], levels: set[str]) -> None:
    with Loopback([REPLY]) as server:
        result = run("ask", QUESTION, "--index", notes, *MODEL, "--api-base", server.api_base, *flags)
    assert set(re.findall(r"^\d\d:\d\d:\d\d ([A-Z]+) minirag", result.stderr, re.MULTILINE)) == levels
    assert ("answered by indexrag with openai/any: 1 call" in result.stderr) is bool(levels)
    assert "secret" not in result.stderr


# --- eval and delete -----------------------------------------------------------------------------------------------


def write_dataset(folder: Path) -> Path:
    """Four people, and two questions about each."""
    folder.mkdir()
    people = ["Ada Holm", "Boris Lund", "Carla Wirth", "Dario Neri"]
    corpus = [{"id": f"p{n}", "title": name, "text": f"{name} was born in Karsund."} for n, name in enumerate(people)]
    questions = [
        {"question": f"{asked} was {name} born?", "answers": ["Karsund"], "gold_passage_ids": [f"p{n}"]}
        for n, name in enumerate(people)
        for asked in ("Where", "In which town")
    ]
    (folder / "corpus.json").write_text(json.dumps(corpus), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


def test_an_evaluation_stops_at_a_cost_and_goes_on(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes.parent
    monkeypatch.chdir(folder)
    strategies = ("--strategy", "naive", "--strategy", "indexrag")
    with Loopback(honest) as server:
        named = (*MODEL, "--api-base", server.api_base, "--concurrency", "2")
        asked = ("eval", write_dataset(folder / "people"), "--index", "p.usearch", *strategies, *named)

        none = run(*asked, "--max-cost", "0.0001")
        assert (none.exit_code, none.stdout, server.requests) == (1, "", [])
        last = none.stderr.splitlines()[-1]
        assert last.startswith("Error: stopped at $0 of max_cost=$0.0001: the next call may cost up to $0.0")
        assert last.endswith("is kept: the same add with a new max_cost goes on from there")

        some = run(*asked, "--max-cost", "0.1")
        assert some.exit_code == 1
        answered = re.search(r"stopped at \$(0\.\d+) of .* \d of 8 questions by (naive|indexrag) were", some.stderr)
        assert answered is not None
        assert 0 < float(answered[1]) <= 0.1
        assert "kept: the same run with a new max_cost goes on from there" in some.stderr
        finished = ["naive", "indexrag"].index(answered[2])
        assert RUN.findall(some.stdout) == ["naive", "indexrag"][:finished]
        for _ in range(5):
            if some.exit_code == 0:
                break
            some = run(*asked, "--max-cost", "0.1")
        sent = len(server.requests)
        again = run(*asked, "--ask-above", "0")  # all of it is kept: there is nothing to be said or asked
        assert (again.exit_code, again.stderr, len(server.requests)) == (0, "", sent)
        assert again.stdout == some.stdout
    assert some.exit_code == 0
    assert RUN.findall(some.stdout) == ["naive", "indexrag"]
    assert server.tasks().count("extract") == 4
    assert server.tasks().count("read") == 16


@pytest.mark.parametrize(
    ("http", "code", "reason"), [(402, "insufficient_quota", "no credit"), (401, "invalid_api_key", "wrong key")]
)
def test_an_evaluation_that_loses_its_credit_shows_what_is_complete(
    notes: Path, monkeypatch: pytest.MonkeyPatch, http: int, code: str, reason: str
) -> None:
    folder = notes.parent
    monkeypatch.chdir(folder)
    people = write_dataset(folder / "people")
    run("eval", people, "--index", "p.usearch", "--model", "offline", "--no-read", "--runs", "other")
    strategies = ("--strategy", "naive", "--strategy", "indexrag")
    asked: list[Request] = []

    def serve(request: Request) -> Served:
        asked.append(request)
        return honest(request) if len(asked) <= 10 else status(http, reason, code=code)

    with Loopback(serve) as server:
        named = (*MODEL, "--api-base", server.api_base, "--concurrency", "1", "--yes", "--json", "runs.json")
        result = run("eval", people, "--index", "p.usearch", *strategies, *named)
    assert result.exit_code == 1
    assert RUN.findall(result.stdout) == ["naive"]
    assert [(each.strategy, len(each.results)) for each in read_runs("runs.json")] == [("naive", 8)]
    assert result.stderr.splitlines()[-1].startswith("Error: openai/any: ")
    assert reason in result.stderr


def test_an_evaluation_that_cannot_keep_its_budget_asks_nothing(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes.parent
    monkeypatch.chdir(folder)
    people = write_dataset(folder / "people")
    run("eval", people, "--index", "p.usearch", "--model", "offline", "--no-read")
    with Loopback(honest) as server:
        asked = ("eval", people, "--index", "p.usearch", "--model", "openai/any", "--api-base", server.api_base)
        result = run(*asked, "--max-cost", "1", "--yes")
    assert (result.exit_code, server.requests) == (1, [])
    assert "openai/any: its price is unknown, so max_cost cannot be kept" in result.stderr


def test_an_evaluation_takes_another_encoder(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes.parent
    monkeypatch.chdir(folder)
    (folder / "encoder").mkdir()
    for file in SHIPPED.iterdir():
        (folder / "encoder" / file.name).write_bytes(file.read_bytes())
    config = json.loads((SHIPPED / "config.json").read_text(encoding="utf-8"))
    config |= {"name": "other", "document_prefix": "p: ", "fingerprint": "f" * 16}
    (folder / "encoder" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    asked = ("eval", write_dataset(folder / "people"), "--index", "p.usearch", "--model", "offline", "--no-read")

    assert run(*asked, "--encoder", "./encoder").exit_code == 0
    assert read_runs(next(Path("minirag-runs").glob("*.json")))[0].settings["encoder"] == "other"
    wrong = run("eval", "people", "--index", notes, "--model", "offline", "--encoder", "./encoder")
    assert wrong.exit_code == 1
    assert "notes.usearch: was built with encoder" in wrong.stderr


def test_deleting_stops_at_a_cost(notes: Path) -> None:
    with Index(notes, model="offline") as index:
        index.add([Document(name, f"{name} met Otto Vane in Karsund.") for name in ("a", "b", "c")], progress=False)
    with Loopback(honest) as server:
        arguments = ("--index", notes, *MODEL, "--api-base", server.api_base, "--max-cost")
        stopped = run("delete", "a", "gone", *arguments, "0.0001")
        assert (stopped.exit_code, server.requests) == (1, [])
        assert stopped.stdout.splitlines()[0] == "deleted 1, missing 1"
        assert "failed: gone: the index has no such document" in stopped.stderr
        assert "1 documents were deleted; what they left to be bridged afresh waits for the next add" in stopped.stderr
        assert run("delete", "aylwin", *arguments, "1").exit_code == 0
        assert server.tasks() == ["bridge"]


def test_an_evaluation_that_fails_first_leaves_no_empty_index(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes.parent
    monkeypatch.chdir(folder)
    asked = ("eval", write_dataset(folder / "people"), "--index", "p.usearch", *MODEL, "--max-cost", "0.0001")
    with Loopback(honest) as server:
        result = run(*asked, "--api-base", server.api_base)
    assert (result.exit_code, server.requests) == (1, [])
    assert "of max_cost=$0.0001" in result.stderr
    assert not (folder / "p.usearch").exists()


@pytest.mark.parametrize("spelled", ["nan", "inf", "-1", "-inf"])
@pytest.mark.parametrize(
    "command", [("index", "a.txt"), ("ask", QUESTION), ("delete", "a"), ("eval", "people"), ("reembed",)]
)
def test_a_limit_is_a_finite_number_of_dollars(notes: Path, command: tuple[str, ...], spelled: str) -> None:
    named = (notes,) if command == ("reembed",) else ("--index", notes)
    result = run(*command, *named, "--max-cost", spelled)
    assert result.exit_code == 2
    assert "Invalid value for '--max-cost'" in result.stderr


def test_what_cannot_be_kept_is_told_before_anything_is_asked(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes.parent)
    asked = ("eval", write_dataset(notes.parent / "people"), "--index", "p.usearch", "--model", "openai/any")
    result = run(*asked, "--api-base", "http://127.0.0.1:9/v1", "--max-cost", "1")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: openai/any: its price is unknown, so max_cost cannot be kept")
    assert "--price-for openai/any=0.15,0.60" in result.stderr
    assert not Path("p.usearch").exists()


# --- hosted encoders -----------------------------------------------------------------------------------------------

HOSTED = ("--encoder", "openai/embedding")
DEAR = ("--price-for", "openai/embedding=5")


def test_a_hosted_encoder_counts_in_an_evaluation(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes.parent)
    people = write_dataset(notes.parent / "people")
    with Loopback(honest) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
        asked = ("eval", people, "--index", "p.usearch", "--model", "offline", *HOSTED, "--strategy", "naive")
        unpriced = run(*asked)
        assert (unpriced.exit_code, server.requests) == (1, [])  # nobody answers the question
        assert "indexing 4 documents of people: at most 1 calls, some" in unpriced.stderr
        assert "8 questions by naive: at most 8 calls, some 320 tokens, price unknown" in unpriced.stderr
        assert "The price is unknown. Go on?" in unpriced.stderr
        refused = run(*asked, "--max-cost", "1")
        assert refused.stderr.startswith("Error: openai/embedding: its price is unknown, so max_cost cannot be kept")
        assert server.requests == []

        none = run(*asked, *DEAR, "--max-cost", "0.000001")
        assert none.exit_code == 1
        assert "8 questions by naive: at most 8 calls, some 320 tokens, $0.0016" in none.stderr
        assert "of max_cost=$0.000001" in none.stderr
        whole = run(*asked, *DEAR, "--max-cost", "1")
    assert whole.exit_code == 0, whole.stderr
    (measured,) = read_runs(next(Path("minirag-runs").glob("*.json")))
    embedding = measured.usage.tasks["embed"]
    assert embedding.calls == 8
    assert measured.usage.cost == pytest.approx(embedding.prompt_tokens * 5e-6)
    texts = [text for request in server.requests for text in request.body["input"]]
    assert sum("born?" in text for text in texts) == 8  # none is paid for twice


def test_a_hosted_encoder_counts_in_every_command(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (notes.parent / "a.txt").write_text("Ada Holm was born in Bergen.", encoding="utf-8")
    other = notes.parent / "other.usearch"
    with Loopback(honest) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
        indexing = ("index", notes.parent / "a.txt", "--index", other, "--model", "offline", *HOSTED)
        estimate = run(*indexing, "--estimate", *DEAR)
        assert (estimate.exit_code, server.requests, other.exists()) == (0, [], False)
        assert re.search(r"about 0 tokens sent, 0 received, \d+ to the encoder\nabout \$0\.00\d", estimate.stdout)
        assert "price unknown" in run(*indexing, "--estimate").stdout
        assert "openai/embedding: its price is unknown" in run(*indexing, "--max-cost", "1").stderr

        built = run(*indexing, *DEAR, "--max-cost", "1")
        assert built.exit_code == 0, built.stderr
        assert re.search(r"offline, openai/embedding: 1 call, \$0\.000\d+", built.stdout)
        asking = ("ask", "Where was Ada Holm born?", "--index", other, "--model", "offline", "--max-cost", "1")
        assert "openai/embedding: its price is unknown" in run(*asking).stderr
        assert "Bergen" in run(*asking, *DEAR).stdout

        again = ("reembed", notes, *HOSTED, "--max-cost", "1")
        assert "openai/embedding: its price is unknown" in run(*again).stderr
        assert re.search(r"embedded anew, 1 call, \$0\.000\d+", run(*again, *DEAR).stdout)


@pytest.mark.parametrize(
    "spelled", ["openai/embedding", "openai/embedding=", "=5", "a=5,x", "a=nan", "a=-1", "a=1,2,3,4,5"]
)
def test_a_price_is_numbers_of_a_name(notes: Path, spelled: str) -> None:
    result = run("ask", QUESTION, "--index", notes, "--price-for", spelled)
    assert result.exit_code == 2
    assert "as in --price-for openai/mine=0.15,0.60" in " ".join(result.stderr.split()).lower()


def test_models_for_tasks_have_their_own_prices(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A Holm was born in Bergen.", encoding="utf-8")
    models = ("--model-for", "extract=openai/cheap", "--model-for", "read=openai/dear", "--price", "1", "1")
    with Loopback(honest) as server:
        named = (*models, "--price-for", "openai/dear=1000,1000", "--api-base", server.api_base, "--max-cost", "1")
        assert run("index", tmp_path / "a.txt", "--index", notes, *named).exit_code == 0
        stopped = run("ask", "Where was A Holm born?", "--index", notes, *named)
    assert (stopped.exit_code, server.tasks()) == (1, ["extract"])
    assert re.search(r"of max_cost=\$1\.00: the next call may cost up to \$[12]\.", stopped.stderr)
