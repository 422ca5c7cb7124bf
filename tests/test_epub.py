from __future__ import annotations

from pathlib import Path

import pytest

from tests.converted import make_epub, only, reason
from tests.extras import need

pytestmark = pytest.mark.extra
need("lxml")

CHAPTERS = {
    "two.xhtml": "<h1>The Lamp</h1><h2>One</h2><p>The <b>lamp</b> was lit — by Ada.</p><h3>Night</h3><p>Dark.</p>",
    "one.xhtml": "<h2>Two</h2><p>It went<br/>out.</p><ul><li>First</li><li>Second</li></ul>",
}


def test_chapters_in_the_order_of_the_book(tmp_path: Path) -> None:
    found = only(make_epub(tmp_path / "a.epub", CHAPTERS))
    assert found.text == (
        "The Lamp\n\nOne\n\nThe lamp was lit — by Ada.\n\nNight\n\nDark.\n\nTwo\n\nIt went\n\nout.\n- First\n- Second"
    )
    assert [place.headings for place in found.places] == [("One",), ("One", "Night"), ("Two",)]
    path = (tmp_path / "a.epub").as_posix()
    assert (found.title, found.metadata) == (
        "The Lamp",
        {"author": "Ada Brell", "created": "1901-02-03", "language": "en", "path": path},
    )


def test_nothing_outside_the_book_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("<p>secret</p>")
    package = (
        '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/hostname">]><package><metadata><title>&x;</title></metadata>'
        '<manifest><item id="a" href="../../secret.html"/><item id="b" href="/etc/hostname"/>'
        '<item id="c" href="two.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/>'
        '<itemref idref="c"/><itemref idref="none"/></spine></package>'
    )
    found = only(make_epub(tmp_path / "a.epub", {"two.xhtml": "<p>Inside.</p>"}, package=package))
    assert (found.text, found.title) == ("Inside.", "a")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    rights = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'
    aes = rights.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    assert reason(make_epub(path, CHAPTERS, **{"META-INF/encryption.xml": aes})) == "is encrypted (copy protection)"
    fonts = rights.format("http://www.idpf.org/2008/embedding")
    assert only(make_epub(path, CHAPTERS, **{"META-INF/encryption.xml": fonts})).title == "The Lamp"
    assert reason(make_epub(path, {}, package="<package/>")) == "has no text"
    assert reason(make_epub(path, {}, package=" ")) == "is broken: OEBPS/book.opf in it is no XML"
