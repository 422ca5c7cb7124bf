"""Pages are one file, whole, and safe whatever stands in the texts that they show."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirag.errors import OutputError
from minirag.output import write_whole
from minirag.pages import Markup, build_page, element, join, write_page
from minirag.pages.building import read_part

KINDS = ("document", "entity", "bridge", "good")
EVIL = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\" ' {{style}}"


class Parsed(HTMLParser):
    """What a parser makes of a page: the elements, and the text in each kind of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._open: list[str] = []
        self.attributes: dict[str, list[tuple[str, str | None]]] = {}
        self.text: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("br", "img", "input", "link", "meta"):
            self._open.append(tag)
        self.attributes.setdefault(tag, []).extend(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        last = self._open[-1] if self._open else ""
        self.text[last] = self.text.get(last, "") + data


def test_element_escapes_what_is_no_markup() -> None:
    assert element("p", "a < b & c", element("em", "d"), class_="x", aria_label='"', hidden=True, open=False) == (
        '<p class="x" aria-label="&quot;" hidden>a &lt; b &amp; c<em>d</em></p>'
    )
    assert element("br") == "<br>"
    assert join(["<", Markup("<hr>")]) == "&lt;<hr>"
    assert element("p", "a\x00\x1bb\n\tc") == "<p>ab\n\tc</p>"


@given(st.text(), st.text())
def test_any_text_comes_out_as_it_was(text: str, other: str) -> None:
    page = Parsed(element("p", text, title=other))

    def clean(raw: str) -> str:
        return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", raw)

    assert page.tags == ["p"]
    assert page.text.get("p", "") == clean(text)
    assert page.attributes["p"] == [("title", clean(other))]


def test_a_page_holds_its_style_its_data_and_nothing_else(tmp_path: Path) -> None:
    page = build_page(title=EVIL, body=element("main", EVIL), data={"text": EVIL + "\u2028"})

    parsed = Parsed(page)
    assert parsed.tags == ["html", "head", *["meta"] * 5, "link", "title", "style", "body", "main", "script"]
    assert json.loads(parsed.text["script"]) == {"text": EVIL + "\u2028"}
    assert parsed.text["style"].strip() == read_part("style.css").strip()
    assert parsed.text["title"].strip() == EVIL
    write_page(tmp_path / "page.html", page)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_the_policy_allows_this_style_and_no_script() -> None:
    page = build_page(title="t", body=element("main"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)

    assert style is not None
    assert policy is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert policy[1] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_pages_name_no_other_host() -> None:
    parts = [
        path
        for path in Path(build_page.__code__.co_filename).parent.iterdir()
        if path.suffix in (".css", ".js", ".html")
    ]
    found = [
        (path.name, url)
        for path in parts
        for url in re.findall(r"https?://[^\s\"']+|//[a-z]+\.[a-z]+", path.read_text())
    ]

    assert [each for each in found if each[1] != "http://www.w3.org/2000/svg"] == []
    assert all("url(" not in path.read_text() for path in parts)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of "#rrggbb"."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme: int) -> None:
    block = re.findall(r":root \{(.*?)\}", read_part("style.css"), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    pairs = [(text, ground) for text in ("ink", "quiet") for ground in ("ground", "surface")]
    pairs += [("ink", "mark"), *((kind, ground) for kind in KINDS for ground in ("ground", "surface", f"{kind}-soft"))]

    def contrast(text: str, ground: str) -> float:
        low, high = sorted(luminance(colours[name]) for name in (text, ground))
        return (high + 0.05) / (low + 0.05)

    assert [(*pair, round(contrast(*pair), 2)) for pair in pairs if contrast(*pair) < 4.5] == []


# --- writing -------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o640)

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fail)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"

    write_page(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text("old")
    (tmp_path / "link.html").symlink_to("there.html")

    write_page(tmp_path / "link.html", "new")

    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "there.html").read_text() == "new"


def test_open_files_and_devices_get_the_bytes() -> None:
    file = BytesIO()
    write_page(file, "å\udce9")
    write_page(os.devnull, "gone")

    assert file.getvalue() == "å\\udce9".encode()
    assert Path(os.devnull).is_char_device()


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"no/page\.html: could not be written: No such file or directory"):
        write_page(tmp_path / "no" / "page.html", "text")
