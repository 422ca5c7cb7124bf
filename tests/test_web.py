from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.converted import only, reason
from tests.extras import need

pytestmark = pytest.mark.extra
need("trafilatura")

PAGE = """<html><head><title>Aylwin - Film Site</title><meta name="author" content="Ann Bell">
<meta property="article:published_time" content="2021-03-04T05:06:07Z"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/blog">Our blog</a></li></ul></nav>
<article><h1>Aylwin</h1><p>Aylwin is a 1920 British silent film directed by Henry Edwards and starring himself,
<b>Chrissie White</b> and Gerald Ames. It was based on a novel.</p><h2>Cast</h2><p>The cast had many well known
persons, among them Mary Dibley in a role that nobody had expected of her.</p><ul><li>One of them</li></ul>
<table><tr><th>Actor</th><th>Role</th></tr><tr><td>Henry Edwards</td><td>Hal Aylwin</td></tr></table></article>
<aside>Subscribe to our newsletter!</aside><script>alert(1)</script><footer>Copyright 2024. Cookies.</footer>
</body></html>"""


def written(folder: Path, content: str | bytes, name: str = "a.html") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_main_text_without_navigation(tmp_path: Path) -> None:
    path = written(tmp_path, PAGE)
    found = only(path)
    assert found.text == (
        "Aylwin\n\n"
        "Aylwin is a 1920 British silent film directed by Henry Edwards and starring himself, Chrissie White and "
        "Gerald Ames. It was based on a novel.\n\n"
        "Cast\n\n"
        "The cast had many well known persons, among them Mary Dibley in a role that nobody had expected of her.\n"
        "- One of them\n\n"
        "Actor: Henry Edwards; Role: Hal Aylwin"
    )
    assert found.title == "Aylwin"
    assert [(found.text[place.start :][:4], place.headings) for place in found.places] == [("Cast", ("Cast",))]
    assert found.metadata == {"author": "Ann Bell", "created": "2021-03-04", "path": path.as_posix()}


def test_a_page_that_is_no_article_is_read_whole(tmp_path: Path) -> None:
    cells = "".join(f"<div><span>Part {number}</span> <span>{number * 7} euros</span></div>" for number in range(40))
    found = only(written(tmp_path, f"<html><head><title>Prices</title></head><body>{cells}</body></html>"))
    assert found.title == "Prices"
    assert "Part 39 273 euros" in found.text


def test_other_codings_are_understood(tmp_path: Path) -> None:
    text = "Der Käfer flog über die Wiese, und alle Leute sahen ihm nach, bis er verschwunden war."
    page = f'<html><head><meta charset="iso-8859-1"></head><body><p>{text}</p></body></html>'
    assert only(written(tmp_path, page.encode("latin-1"))).text == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>Der Käfer — 東京</p>", "Der Käfer — 東京"),
        ("<div><div><span class='a'>One</span></div></div>", "One"),
        ("<P>One<BR>Two</P>", "One\n\nTwo"),
        (f"<!-- {'-' * 60} --><html><body><p>One</p></body></html>", "One"),
    ],
)
def test_a_part_of_a_page_is_read_too(content: str, text: str, tmp_path: Path) -> None:
    assert only(written(tmp_path, content)).text == text


@pytest.mark.parametrize("content", ["Only words.", "a < b and c > d", b"%PDF-1.4 <</Type /Page>>", b"PK\x03<b>\x00"])
def test_what_has_no_element_is_no_page(content: str | bytes, tmp_path: Path) -> None:
    assert reason(written(tmp_path, content)) == "is no HTML, or empty"


def test_a_page_that_is_no_article_keeps_its_characters_without_saying_its_coding(tmp_path: Path) -> None:
    cells = "".join(f"<div><span>Zürich {number}</span> <span>{number * 7} €</span></div>" for number in range(40))
    assert "Zürich 39 273 €" in only(written(tmp_path, f"<html><body><p>Prices.</p>{cells}</body></html>")).text


@pytest.mark.parametrize("content", ["", " ", "<html><body><script>render()</script></body></html>", b"\x00\x01\x02"])
def test_a_page_without_text_is_named(content: str | bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        assert reason(written(tmp_path, content))
