"""How answers look: on a terminal, and in a notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from minirag.records import Answer, Citation, Hit, Step, Usage
from minirag.showing import as_html, as_text, find_path

QUESTION = "Where was the director of the film Aylwin born?"
DIRECTED = Hit(
    "triple", "t1", "Aylwin directed by Henry Edwards", 0.9, ("aylwin",), ("aylwin#0-a1",), ("Aylwin (film)",)
)
BORN = Hit("triple", "t2", "Henry Edwards born in Weston-super-Mare", 0.8, ("henry",), ("henry#0-b2",), ("",))
FACT = Hit("fact", "f1", "Henry Edwards was born in Weston-super-Mare.", 0.8, ("henry",), ("henry#0-b2",), ("",))
BRIDGE = Hit(
    "bridge",
    "b1",
    "The director of Aylwin was born in Weston-super-Mare.",
    0.7,
    ("aylwin", "henry"),
    ("aylwin#0-a1", "henry#0-b2"),
    ("Aylwin (film)", ""),
)
PASSAGE = Hit("passage", "henry#0-b2", "He was born in Weston-super-Mare.", 0.7, ("henry",), ("henry#0-b2",), ("",))
CITED = Citation(1, "henry", "henry#0-b2", "", "Henry Edwards was an actor. He was born in Weston-super-Mare.")
ANSWER = Answer(
    text="Weston-super-Mare",
    found=True,
    citations=(CITED,),
    evidence=(PASSAGE,),
    used=(0,),
    chain=(DIRECTED, BORN),
    steps=(Step(QUESTION, (PASSAGE,), DIRECTED), Step("x", (PASSAGE,), BORN)),
    usage=Usage(calls=3, cost=0.0021, seconds=1.5),
    model="openai/gpt-4o-mini",
    strategy="kirag",
    question=QUESTION,
)
NOT_FOUND = replace(ANSWER, text="It is not said.", found=False, citations=(), used=(), chain=(), steps=())


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


class Elements(HTMLParser):
    """Checks that elements are closed in order, and keeps them and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1] != "style":
            self.text += data + "\n"


def test_text_leads_from_the_question_to_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    ANSWER.show()

    assert capsys.readouterr().out == (
        "Where was the director of the film Aylwin born?\n"
        "  1. Aylwin directed by Henry Edwards\n"
        "     Aylwin (film) — aylwin#0-a1\n"
        "  2. Henry Edwards born in Weston-super-Mare\n"
        "     henry [1]\n"
        "  = Weston-super-Mare\n"
        "\n"
        "[1] henry\n"
        "    Henry Edwards was an actor. He was born in Weston-super-Mare.\n"
        "\n"
        "openai/gpt-4o-mini, kirag: 3 calls, $0.0021, 1.50 s\n"
    )


def test_text_of_what_was_not_found() -> None:
    assert as_text(NOT_FOUND) == (
        "Where was the director of the film Aylwin born?\n"
        "  = It is not said.\n"
        "    (not found)\n"
        "\n"
        "openai/gpt-4o-mini, kirag: 3 calls, $0.0021, 1.50 s"
    )


def test_text_fits_and_commands_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    evil = replace(DIRECTED, text="word \x1b[2J" * 100, titles=("long title " * 9,))
    shown = as_text(replace(ANSWER, question="why " * 50, chain=(evil,)))

    assert max(len(line) for line in shown.splitlines()) <= 40
    assert "\x1b" not in shown


def test_the_path_is_the_chain_else_thoughts_and_used_facts() -> None:
    def path(answer: Answer) -> list[tuple[str, str, tuple[str, ...]]]:
        return [(link.kind, link.text, link.sources) for link in find_path(answer)]

    cited, other = "henry [1]", "Aylwin (film) — aylwin#0-a1"
    assert path(ANSWER) == [("triple", DIRECTED.text, (other,)), ("triple", BORN.text, (cited,))]
    one_shot = replace(ANSWER, chain=(), steps=(), evidence=(FACT, PASSAGE, BRIDGE), used=(2, 1, 0))
    assert path(one_shot) == [("bridging fact", BRIDGE.text, (other, cited)), ("fact", FACT.text, (cited,))]
    thinking = replace(one_shot, used=(0,), steps=(Step(QUESTION, ()), Step("It was Henry.", ()), Step(FACT.text, ())))
    assert path(thinking) == [("thought", "It was Henry.", ()), ("fact", FACT.text, (cited,))]
    assert "  1. It was Henry.\n     (thought)\n" in as_text(thinking)


def test_html_holds_all_of_it_and_no_script() -> None:
    shown = Elements(as_html(ANSWER))

    assert shown.names.count("li") == 2
    assert shown.attributes == {"class", "dir"}
    assert set(shown.names) <= {"div", "style", "p", "ol", "li", "span", "strong", "small", "details", "summary"}
    wanted = [QUESTION, DIRECTED.text, "Aylwin (film) — aylwin#0-a1", BORN.text, "henry [1]", ANSWER.text, "[1] henry"]
    lines = shown.text.splitlines()
    places = [lines.index(text) for text in (*wanted, CITED.text)]
    assert places == sorted(places)
    assert shown.text.endswith("\nopenai/gpt-4o-mini, kirag: 3 calls, $0.0021, 1.50 s\n")
    assert "not found" not in shown.text
    assert "\n(not found)\n" in Elements(as_html(NOT_FOUND)).text


def test_html_escapes_what_documents_and_models_wrote() -> None:
    evil = "</p><script>alert('&')</script><img src=x onerror=\"y\">\x00"
    hit = replace(DIRECTED, text=evil, titles=(evil,), document_ids=(evil,), passage_ids=(evil + "#0-a",))
    citation = replace(CITED, title=evil, document_id=evil, text=evil)
    answer = replace(ANSWER, text=evil, question=evil, chain=(hit,), citations=(citation,), model=evil, strategy=evil)
    shown = Elements(as_html(answer))

    assert set(shown.names).isdisjoint({"script", "img"})
    assert shown.text.count(evil.rstrip("\x00")) >= 8
    assert "\x00" not in shown.text


def test_html_has_the_colours_of_its_page_and_fetches_nothing() -> None:
    html = as_html(ANSWER)

    assert re.findall(r"#[0-9a-f]{3,6}\b(?![^<]*</(?:span|li|p|summary)>)|rgb\(|url\(|@import|https?:", html) == []
    assert "currentColor" in html
    assert ANSWER._repr_html_() == html


def test_doubts_stand_below_the_answer_everywhere() -> None:
    doubted = replace(ANSWER, doubts=("The answer has 1899, which stands in nothing <it> cites.",))
    assert "  = Weston-super-Mare\n    (!) The answer has 1899, which stands in nothing <it> cites.\n" in as_text(
        doubted
    )
    for html in (as_html(doubted), doubted.to_html()):
        assert "(!) The answer has 1899, which stands in nothing &lt;it&gt; cites." in html
