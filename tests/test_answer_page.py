"""An answer as a page of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from minirag import Answer, Citation, Hit, Usage, ask
from minirag.cli import program
from tests.chained import QUESTION, build
from tests.stored import open_offline
from tests.test_pages import EVIL, Parsed

FACT = Hit("fact", "b#0-1/f0", "Otto was born in Karsund.", 0.5, ("b",), ("b#0-1",), ("Otto",))
BRIDGE = Hit(
    "bridge", "bridge-1", "Ada's brother Otto was born there.", 0.4, ("a", "b"), ("a#0-1", "b#0-1"), ("", "Otto")
)
ANSWER = Answer(
    text="Karsund",
    found=True,
    citations=(Citation(1, "b", "b#0-1", "Otto", "Otto lived. Otto was born in Karsund.\n\nKARSUND is small."),),
    evidence=(FACT, BRIDGE),
    used=(0,),
    chain=(BRIDGE, FACT),
    steps=(),
    usage=Usage(calls=2, cost=0.01, seconds=1.5),
    model="openai/any",
    strategy="kirag",
    question="Where was Ada's brother born?",
)


def test_it_tells_all_of_an_answer() -> None:
    page = ANSWER.to_html()
    text = Parsed(page).text

    assert '<h1 dir="auto">Where was Ada&#x27;s brother born?</h1>' in page
    assert text["strong"] == "Karsund"
    assert '<a class="chip" href="#source-1">[1] Otto</a>' in page
    assert '<span class="chip">a#0-1</span>' in page
    assert '<li id="source-1" class="card">' in page
    assert "<mark>Otto was born in Karsund.</mark>\n\n<mark>KARSUND</mark> is small." in page
    assert "All 2 pieces of evidence that were read" in page
    assert page.count(">used</span>") == 1
    assert "openai/any, kirag: 2 calls, $0.0100, 1.50 s" in page


def test_no_answer_and_no_evidence() -> None:
    page = replace(ANSWER, found=False, citations=(), evidence=(), used=(), chain=()).to_html()

    assert "The index does not hold the answer." in page
    assert "Sources" not in page
    assert "<details" not in page


def test_no_text_breaks_out() -> None:
    hit = Hit("fact", EVIL, EVIL, 0.5, (EVIL,), (f"{EVIL}#0-1",), (EVIL,))
    evil = replace(
        ANSWER,
        text=EVIL,
        question=EVIL,
        evidence=(hit,),
        chain=(hit,),
        model=EVIL,
        strategy=EVIL,
        citations=(Citation(1, EVIL, f"{EVIL}#0-1", EVIL, f"before {EVIL} after"),),
    )
    parsed = Parsed(evil.to_html())

    assert {"script", "img"} & set(parsed.tags) == set()
    assert [value for name, value in parsed.attributes["a"] if name == "href"] == ["#source-1", "#source-1"]
    assert parsed.text["mark"].strip() == EVIL


def test_ask_writes_it(tmp_path: Path) -> None:
    path = build(tmp_path / "notes.usearch")
    page = tmp_path / "page.html"

    done = CliRunner().invoke(
        program, ["ask", QUESTION, "--index", str(path), "--model", "offline", "--html", str(page)]
    )

    assert done.exit_code == 0
    with open_offline(path, mode="r") as index:
        answer = ask(QUESTION, index, model="offline")
    written = page.read_text(encoding="utf-8")
    assert Parsed(written).text["strong"] == str(answer)
    assert written.count('class="card"') == len(answer.citations)


def test_a_citation_says_where_it_stands() -> None:
    cited = replace(ANSWER, citations=(replace(ANSWER.citations[0], location="page 3"),))
    assert f"{ANSWER.citations[0].document_id}, page 3<" in cited.to_html()
