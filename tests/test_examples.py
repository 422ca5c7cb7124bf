"""The examples run as they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from zipfile import ZipFile

import pytest

import minirag
from minirag import Document, Index
from minirag.records import Hit, Hits
from tests.extras import need

EXAMPLES = Path(minirag.__file__).parent / "examples"
DOCUMENTS = [
    Document("aylwin", "Aylwin is a 1920 British silent film. It was directed by Henry Edwards.", "Aylwin (film)"),
    Document("henry", "Henry Edwards was an English actor. He was born in Weston-super-Mare.", "Henry Edwards"),
]
QUESTION = "Where was the director of the film Aylwin born?"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "notes.usearch"
    with Index(path, model="offline") as index:
        index.add(DOCUMENTS, progress=False)
    return path


def get(port: int, path: str, **query: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}", timeout=30) as reply:
        return str(reply.read().decode())


@pytest.mark.extra
def test_the_web_app_streams_its_answer(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = need("uvicorn")
    need("fastapi")
    from minirag.examples.web_app import app

    monkeypatch.setenv("MINIRAG_INDEX", str(notes))
    monkeypatch.setenv("MINIRAG_MODEL", "offline")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 60
        while not server.started and time.monotonic() < until:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        events = [block.split("\n") for block in get(port, "/ask", question=QUESTION).strip().split("\n\n")]
        found = json.loads(get(port, "/search", question="Henry Edwards", k="2"))
        with pytest.raises(urllib.error.HTTPError, match="422"):
            get(port, "/ask", question=" ")
    finally:
        server.should_exit = True
        thread.join()
    pieces = [json.loads(data.removeprefix("data: ")) for name, data in events if name == "event: text"]
    assert "".join(pieces) == "Weston-super-Mare"
    assert events[-1][0] == "event: answer"
    whole = json.loads(events[-1][1].removeprefix("data: "))
    assert (whole["text"], whole["found"]) == ("Weston-super-Mare", True)
    assert "henry" in {source["document"] for source in whole["sources"]}
    assert [len(hit["documents"]) >= 1 for hit in found] == [True, True]


def test_the_lambda_function(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minirag.examples import lambda_function

    monkeypatch.setenv("MINIRAG_INDEX", str(notes))
    lambda_function.opened.cache_clear()
    reply = lambda_function.handler({"question": QUESTION}, None)
    assert (reply["statusCode"], json.loads(reply["body"])["answer"]) == (200, "Weston-super-Mare")
    assert lambda_function.handler({"body": json.dumps({"question": QUESTION})}, None) == reply
    for event in ({}, {"body": "{"}, {"body": None}, {"body": "[]"}, {"question": " "}):
        assert lambda_function.handler(event, None)["statusCode"] == 400, event
    lambda_function.opened().close()
    assert lambda_function.handler({"question": QUESTION}, None)["statusCode"] == 502
    lambda_function.opened.cache_clear()


LAMBDA = "import lambda_function, json; print(lambda_function.handler({'question': %r}, None)['body'])"


@pytest.mark.extra
@pytest.mark.slow
def test_the_lambda_package_is_small_enough_and_answers(notes: Path, tmp_path: Path) -> None:
    try:
        requires("minirag")
    except PackageNotFoundError:
        pytest.skip("asks the installed package what it needs")
    package, folder = tmp_path / "function.zip", tmp_path / "function"
    command = [sys.executable, "-m", "minirag.examples.build_lambda", str(notes), str(package)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert built.returncode == 0, built.stdout + built.stderr
    with ZipFile(package) as archive:
        assert sum(member.file_size for member in archive.infolist()) <= 262_144_000
        archive.extractall(folder)
    # Without site-packages: nothing but what is in the package.
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAMBDA % QUESTION], cwd=folder, env={}, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout or "{}").get("answer") == "Weston-super-Mare", done.stderr


@pytest.mark.extra
def test_the_notebook_runs_and_shows_its_results(tmp_path: Path) -> None:
    nbformat, nbclient = need("nbformat"), need("nbclient")
    need("ipykernel")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output for output in shown if output["output_type"] in ("error", "stream")] == []
    pages = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert [page.partition(">")[0] for page in pages] == ['<table class="minirag-hits"', '<div class="minirag-answer"']
    assert sum(map(len, pages)) < 20_000


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_folder_is_indexed_anew_by_cron(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a", "b", "c"):
        (docs / f"{name}.txt").write_text(f"A text named {name}.")
    root = str(Path(minirag.__file__).parents[1])
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "PYTHONPATH": root}

    def run(*arguments: str) -> tuple[int, str]:
        command = ["sh", str(EXAMPLES / "reindex.sh"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert run("docs", "notes.usearch") == (0, "")
    (docs / "a.txt").unlink()
    (docs / "d.txt").write_text("A new one.")
    assert run(str(docs), "notes.usearch") == (0, "")
    with Index(tmp_path / "notes.usearch", mode="r") as index:
        assert sorted(index.document_ids()) == [(docs / f"{name}.txt").as_posix() for name in ("b", "c", "d")]
    (docs / "e.txt").write_bytes(b"\xe9")
    code, told = run(str(docs), "notes.usearch")
    assert (code, told.count("\n")) == (1, 1)
    assert run("gone", "notes.usearch")[0] != 0
    assert run("docs")[0] == 2


def test_hits_show_themselves_as_a_table_with_everything_escaped() -> None:
    evil = '<img src=x onerror="alert(1)">'
    shown = Hits([Hit("bridge", "b", f"{evil} {'long ' * 200}", 0.5, (evil,), ("p",))])._repr_html_()
    assert "<img" not in shown
    assert "bridging fact" in shown
    assert len(shown) < 1_500
    assert Hits()._repr_html_() == "<p>Nothing found.</p>"
